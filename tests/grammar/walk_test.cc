// Masks are what trying each token gives, along 300 random walks through grammars of every kind.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "grammar/token_table.h"
#include "grammar/toy_tokenizer.h"
#include "grammar/walk.h"
#include "rill/grammar.h"
#include "support/real_models.h"

namespace rill::grammar {
namespace {

constexpr std::string_view kSample = R"({"name": "Ada", "id":-12.50e+3,"tags":[true,false,null,"\u00e9\n"],"a":{"b":[[]],"c":{}}}
int main(char x){if (x <= 10){return y*(2+1);}/* no */} // 2024-02-29T23:59:60Z a@b.example é 中文)";

// All ASCII bytes, and pieces of up to eight bytes of a text that has the marks of JSON, of C and of other tongues; whole
// characters only.
Tokenizer vocabulary() {
  std::set<std::string> texts;
  for (char c = 1; c > 0 && c < 127; ++c) texts.insert(std::string(1, c));
  const auto begins = [](std::size_t at) {
    return at == kSample.size() || (static_cast<unsigned char>(kSample[at]) & 0xC0) != 0x80;
  };
  for (std::size_t at = 0; at < kSample.size(); ++at) {
    for (std::size_t size = 2; size <= 8 && at + size <= kSample.size(); size += 1 + at % 2) {
      if (begins(at) && begins(at + size)) texts.emplace(kSample.substr(at, size));
    }
  }
  return toy_tokenizer({texts.begin(), texts.end()});
}

void walk_all(const std::vector<Grammar>& grammars, unsigned seeds) {
  const Tokenizer tokenizer = vocabulary();
  int masks = 0;
  for (std::size_t i = 0; i < grammars.size(); ++i) {
    SCOPED_TRACE("grammar " + std::to_string(i));
    for (unsigned seed = 0; seed < seeds; ++seed) masks += walk(grammars[i], tokenizer, seed, 24);
  }
  EXPECT_GT(masks, static_cast<int>(grammars.size() * seeds * 2));  // walks that end at once would prove little
}

TEST(Walks, JsonAndRegularExpressions) {
  std::vector<Grammar> grammars = {Grammar::json().value()};
  for (const char* pattern :
       {R"("[^"\n]{0,40}")", R"(([a-z]+ ?)*|[\p{L}\p{N} ]{3,90}!)", R"((a|ab)(c|bcd)*[^x]{2,5}|-?(0|[1-9]\d*)(\.\d+)?)"}) {
    grammars.push_back(Grammar::regex(pattern).value());
  }
  grammars.push_back(Grammar::gbnf("root ::= e\ne ::= e [-+*/] e | \"(\" e \")\" | [0-9]+ | \"f\" ws \"(\" e (\",\" ws e)* "
                                   "\")\"\nws ::= [ \\n]*")
                         .value());
  walk_all(grammars, 12);  // 60
}

TEST(Walks, JsonSchemas) {
  constexpr std::string_view kSchemas[] = {
      R"({"type":"object","properties":{"name":{"type":"string","maxLength":6},"id":{"type":"number","minimum":-12.5},
          "tags":{"type":"array","items":{"enum":[true,null,"a",[1],{"b":2}]},"minItems":1,"uniqueItems":true}},
          "required":["id"]})",
      R"({"type":"object","properties":{"a":{"type":"integer","minimum":7,"maximum":123},"b":{"const":"é\n"}},
          "required":["a","x"],"additionalProperties":{"type":"boolean"}})",
      R"({"type":["string","integer"],"format":"date-time","multipleOf":3})",
      R"({"anyOf":[{"format":"email","type":"string"},{"format":"ipv4","type":"string"},{"pattern":"^a.*b$","type":"string"}]})",
      R"({"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"a":{"$ref":"#/$defs/tree"},
          "b":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"additionalProperties":false}}})",
      R"({"oneOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]},{"type":"null"}]})",
      R"({"not":{"type":["object","array"]},"if":{"type":"string"},"then":{"minLength":3},"else":{"enum":[1,2,true]}})",
      R"({"patternProperties":{"^x":{"type":"integer"}},"propertyNames":{"maxLength":3},"minProperties":1,"maxProperties":2,
          "type":"object"})",
      R"({"type":"array","prefixItems":[{"type":"boolean"},{"type":"string"}],"contains":{"const":1},"maxItems":4})",
  };
  std::vector<Grammar> grammars;
  for (const std::string_view schema : kSchemas) {
    for (const auto order : {PropertyOrder::declared, PropertyOrder::any}) {
      grammars.push_back(Grammar::json_schema(schema, {.property_order = order}).value());
    }
  }
  walk_all(grammars, 10);  // 180
}

// A vocabulary is a file's word: one long token may not cost as much as the whole vocabulary for each of its characters.
TEST(Walks, TokensOfManyCharacters) {
  std::vector<std::string> texts = {"\"", "a", "aa", "é", std::string(60'000, 'a'), std::string(64, 'a') + "\xC3"};
  for (const std::size_t size : {63u, 64u, 65u, 66u, 200u}) {
    texts.push_back(std::string(size, 'a'));
    texts.push_back(std::string(size, 'a') + '"');
  }
  const Tokenizer tokenizer = toy_tokenizer(texts);
  EXPECT_LE(TokenTable(tokenizer).by_characters.size(), 65u);
  for (const char* schema : {R"({"type":"string"})", R"({"type":"string","maxLength":63})", R"({"type":"string","maxLength":64})",
                             R"({"type":"string","maxLength":65})", R"({"type":"string","minLength":65,"maxLength":202})",
                             R"({"type":"string","pattern":"^a{64,66}$"})"}) {
    const auto grammar = Grammar::json_schema(schema).value();
    for (unsigned seed = 0; seed < 6; ++seed) walk(grammar, tokenizer, seed, 6);
  }
}

// Tokens that begin or end inside of characters, too.
TEST(Walks, CharactersThatCount) {
  constexpr std::string_view kText = "aé€😀 \\n\",_";
  std::set<std::string> texts;
  for (std::size_t at = 0; at < kText.size(); ++at) {
    for (std::size_t size = 1; size <= 8 && at + size <= kText.size(); ++size) texts.emplace(kText.substr(at, size));
  }
  for (const char* text :
       {"aaaaa", "ééé", "aé\"", "\xC3(", "a\xE2\"", "\":", "\",\"", "{\"", "}", "ab", "a b_c", "id", "http://a", "://"}) {
    texts.emplace(text);
  }
  const Tokenizer tokenizer = toy_tokenizer({texts.begin(), texts.end()});
  constexpr std::string_view kSchemas[] = {
      R"({"type":"string","maxLength":4})",
      R"({"type":"string","minLength":2})",
      R"({"type":"string","minLength":3,"maxLength":11})",
      R"({"type":["string","null"],"maxLength":0})",
      R"({"anyOf":[{"type":"string","maxLength":3},{"type":"string","pattern":"^a*$"}]})",
      R"({"type":"string","pattern":"^[a-zA-Z]{2,5}$"})",
      R"({"type":"string","format":"uri"})",
      R"({"properties":{"a":{"const":"a"},"aé":{"const":1},"a b_c":{}},
          "additionalProperties":{"type":"string","maxLength":2}})",
  };
  int masks = 0;
  for (const std::string_view schema : kSchemas) {
    const auto grammar = Grammar::json_schema(schema).value();
    for (unsigned seed = 0; seed < 12; ++seed) masks += walk(grammar, tokenizer, seed, 16);
  }
  EXPECT_GT(masks, 500);
}

TEST(Walks, SampleGrammars) {
  RILL_REQUIRE_MODEL(folder, "grammars");
  std::vector<Grammar> grammars;
  for (const char* name : {"arithmetic", "c", "chess", "json", "list"}) {
    std::ifstream file(folder / (std::string(name) + ".gbnf"));
    grammars.push_back(Grammar::gbnf(std::string(std::istreambuf_iterator<char>(file), {})).value());
  }
  walk_all(grammars, 12);  // 60
}

}  // namespace
}  // namespace rill::grammar
