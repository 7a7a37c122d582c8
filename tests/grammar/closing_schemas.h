// Schemas that answers are to be finished for, whatever is chosen before, and how that is tried.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "rill/grammar.h"
#include "schema/validator.h"

namespace rill::grammar {

// One and more of each kind of keyword, those that are checked when a value ends among them.
inline constexpr std::string_view kClosingSchemas[] = {
    "{}",
    R"({"type":"string","minLength":12,"maxLength":14})",
    R"({"type":"string","pattern":"^[0-9]{4}-[A-Z]+$"})",
    R"({"type":"string","format":"date-time"})",
    R"({"type":"string","format":"uuid"})",
    R"({"type":"string","format":"ipv6"})",
    R"({"type":"string","format":"regex","minLength":3})",
    R"({"type":"string","pattern":"é{3}"})",
    R"({"type":"integer","minimum":123456,"maximum":123999})",
    R"({"type":"number","exclusiveMinimum":-0.25,"exclusiveMaximum":-0.125})",
    R"({"type":"integer","multipleOf":7,"minimum":15})",
    R"({"type":"integer","multipleOf":1013,"exclusiveMinimum":0})",
    R"({"enum":["a rather long text to write out",[1,2,{"a":null}],123456789012]})",
    R"({"const":{"a":[true,false,null,"\u00e9\n"]}})",
    R"({"type":"array","minItems":4,"items":{"type":"array","minItems":2,"items":{"type":"boolean"}}})",
    R"({"type":"array","prefixItems":[{"type":"string"},{"const":7},{"type":"object","required":["x"]}],"minItems":3,"items":false})",
    R"({"type":"array","contains":{"type":"string","minLength":3},"minContains":2,"maxContains":3})",
    R"({"type":"array","contains":{"const":5},"items":{"type":"integer"},"minItems":3})",
    R"({"type":"object","required":["name","age"],"properties":{"name":{"type":"string","minLength":3},"age":{"type":"integer",
        "minimum":18},"mail":{"type":"string","format":"email"}},"additionalProperties":false})",
    R"({"type":"object","required":["undeclared"],"properties":{"a":{"type":"null"}}})",
    R"({"type":"object","minProperties":3})",
    R"({"type":"object","minProperties":2,"maxProperties":2,"additionalProperties":{"type":"integer"}})",
    R"({"type":"object","properties":{"in":{"type":"object","minProperties":1,"additionalProperties":{"type":"string"}}},"required":["in"]})",
    R"({"type":"object","propertyNames":{"pattern":"^k_"},"minProperties":1,"additionalProperties":{"type":"boolean"}})",
    R"({"type":"object","patternProperties":{"^a":{"type":"integer"},"z$":{"minimum":3}},"additionalProperties":false,"required":["az"]})",
    R"({"type":"object","dependentRequired":{"a":["b"],"b":["c"]},"required":["a"]})",
    R"({"type":"object","dependentSchemas":{"a":{"properties":{"b":{"const":1}},"required":["b"]}},"required":["a"]})",
    R"({"$defs":{"n":{"type":"object","required":["v"],"properties":{"v":{"type":"boolean"},"k":{"type":"array",
        "items":{"$ref":"#/$defs/n"}}},"additionalProperties":false}},"$ref":"#/$defs/n"})",
    R"({"$defs":{"t":{"anyOf":[{"type":"null"},{"type":"object","required":["l","r"],"properties":{"l":{"$ref":"#/$defs/t"},
        "r":{"$ref":"#/$defs/t"}}}]}},"type":"object","required":["t"],"properties":{"t":{"$ref":"#/$defs/t"}}})",
    R"({"allOf":[{"properties":{"a":{"type":"integer"}}},{"required":["a"]}],"unevaluatedProperties":false,"type":"object"})",
    R"({"anyOf":[{"type":"object","required":["a"]},{"type":"array","minItems":2}],"not":{"type":"array"}})",
    R"({"oneOf":[{"properties":{"bar":{"type":"integer"}},"required":["bar"]},{"properties":{"foo":{"type":"string"}},"required":["foo"]}]})",
    R"({"oneOf":[{"type":"integer","multipleOf":2},{"type":"integer","multipleOf":3}]})",
    R"({"type":"object","oneOf":[{"required":["a"]},{"required":["b"]},{"required":["c"]}]})",
    R"({"type":"array","minItems":2,"items":{"oneOf":[{"type":"object","required":["kind"],"properties":{"kind":{"const":"x"}}},
        {"type":"object","required":["kind","n"],"properties":{"kind":{"enum":["x","y"]},"n":{"type":"integer"}}}]}})",
    R"({"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]},"type":"object"})",
    R"({"type":"object","not":{"maxProperties":1},"properties":{"x":{"not":{"type":["string","null","array","object","number"]}}},"required":["x"]})",
    R"({"type":"object","unevaluatedProperties":false,"anyOf":[{"properties":{"p":{"type":"integer"}},"required":["p"]},
        {"properties":{"q":{"type":"string"}},"required":["q"]}]})",
};

// Here two equal items may be chosen, and nothing closes what has them: a way to the end is known only until a budget leaves the
// choice.
inline constexpr std::string_view kUniqueItems[] = {
    R"({"type":"array","uniqueItems":true,"minItems":3,"items":{"type":"integer","minimum":0}})",
    R"({"type":"array","uniqueItems":true,"minItems":3,"items":{"enum":["aa","ab","ac","ad"]}})",
    R"({"type":"array","uniqueItems":true,"minItems":10,"items":{"type":"integer"}})",
    R"({"type":"array","uniqueItems":true,"minItems":4,"items":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}})",
};

// Answers drawn at random, within budgets from the shortest one up, `most` of them or the least: each ends whole, in time, and
// valid. Half of them like what opens and puts off the end. Returns the fewest tokens. Errors: those of compiling, and where no
// end is known.
inline Result<std::size_t> finishes_within_budgets(std::string_view schema, const JsonGrammarOptions& options,
                                                   const Tokenizer& tokenizer, unsigned walks, bool most = true) {
  RILL_ASSIGN(const Grammar grammar, Grammar::json_schema(schema, options));
  RILL_ASSIGN(GrammarMatcher fresh, GrammarMatcher::create(grammar, tokenizer));
  RILL_ASSIGN(const std::size_t shortest, fresh.shortest_tokens());
  const auto document = schema::SchemaDocument::parse(schema, {.documents = options.documents}).value();
  const auto validator = schema::Validator::create(document).value();
  std::mt19937 random(static_cast<unsigned>(schema.size()));
  std::vector<std::size_t> budgets{shortest, shortest + 1, shortest + 3};
  if (most) budgets.insert(budgets.end(), {shortest * 3 / 2, shortest * 4});
  for (const std::size_t budget : budgets) {
    for (unsigned walk = 0; walk < walks; ++walk) {
      GrammarMatcher matcher = fresh;
      std::size_t used = 0;
      std::string text;
      const auto place = [&] {
        return std::string(schema) + "\nbudget " + std::to_string(budget) + " of at least " + std::to_string(shortest) +
               ", after " + text;
      };
      for (; !matcher.ended(); ++used) {
        TokenSet set(tokenizer.size());
        if (const auto masked = matcher.allowed(set, budget - used); !masked || set.empty()) {
          ADD_FAILURE() << (masked ? "nothing is allowed" : masked.error().message) << ": " << place();
          return shortest;
        }
        std::vector<Token> tokens, openers;
        set.for_each([&](Token token) {
          tokens.push_back(token);
          if (!tokenizer.is_end(token) && tokenizer.token_bytes(token).find_first_of("{[\",:\\") != std::string_view::npos)
            openers.push_back(token);
        });
        const auto& from = !openers.empty() && walk % 2 == budget % 2 && random() % 4 > 0 ? openers : tokens;
        const Token token = from[random() % from.size()];
        matcher.accept(token).value();
        if (!tokenizer.is_end(token)) text += tokenizer.token_bytes(token);
      }
      const auto value = schema::JsonDocument::parse(text);
      EXPECT_LE(used, budget) << place();
      EXPECT_TRUE(value && validator->is_valid(schema::SchemaId{}, value->root())) << "not valid: " << place();
    }
  }
  return shortest;
}

}  // namespace rill::grammar
