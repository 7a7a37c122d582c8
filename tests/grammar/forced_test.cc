// Forced bytes against trying each byte; their tokens against the tokenizer with whatever may follow.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "grammar/forced_tokens.h"
#include "grammar/toy_tokenizer.h"
#include "rill/grammar.h"
#include "tokenizer/create.h"

namespace rill::grammar {
namespace {

std::string spelled(const Tokenizer& tokenizer, std::span<const Token> tokens) {
  std::string text;
  for (const Token token : tokens) text += tokenizer.token_bytes(token);
  return text;
}

bool begins_with(std::span<const Token> tokens, std::span<const Token> begin) {
  return begin.size() <= tokens.size() && std::equal(begin.begin(), begin.end(), tokens.begin());
}

constexpr std::string_view kAlphabet = "aabbs12  \n'\":.";

std::string random_text(std::mt19937& random, std::size_t most) {
  std::string text(random() % (most + 1), ' ');
  for (char& c : text) c = kAlphabet[random() % kAlphabet.size()];
  return text;
}

std::string in_byte_alphabet(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == ' ' ? "\u0120" : c == '\n' ? "\u010A" : std::string(1, c);
  return result;
}

// Of the alphabet and random merges, which care for no pre-tokenizer's pieces. `name` empty: SentencePiece.
Tokenizer random_tokenizer(std::mt19937& random, const std::string& name) {
  tokenizer::VocabularyData data;
  std::vector<std::string> tokens;
  const auto known = [&](const std::string& token) { return std::find(tokens.begin(), tokens.end(), token) != tokens.end(); };
  for (const char c : kAlphabet) {
    if (!known(std::string(1, c))) tokens.emplace_back(1, c);
  }
  const std::size_t size = tokens.size() + 5 + random() % 40;
  while (tokens.size() < size) {
    const std::string left = tokens[random() % tokens.size()], right = tokens[random() % tokens.size()];
    if (left.size() + right.size() > 6 || known(left + right)) continue;
    tokens.push_back(left + right);
    if (!name.empty()) data.merges.push_back(in_byte_alphabet(left) + " " + in_byte_alphabet(right));
  }
  const bool spm = name.empty();
  data.algorithm = spm ? tokenizer::Algorithm::sentencepiece : tokenizer::Algorithm::byte_level_bpe;
  data.pre_tokenizer = name;
  for (const std::string& token : tokens) data.tokens.push_back(spm ? token : in_byte_alphabet(token));
  if (spm) {
    for (std::size_t i = 0; i < tokens.size(); ++i) data.scores.push_back(static_cast<float>(random() % 20));
    data.add_space_prefix = random() % 2 == 0;
  }
  return tokenizer::create(data).value();
}

// Tokens that spell `text`, as the tokenizer would cut it or not.
std::vector<Token> random_tokens(std::mt19937& random, const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> tokens;
  while (!text.empty()) {
    std::vector<Token> fitting;
    for (std::size_t i = 0; i < tokenizer.size(); ++i) {
      if (text.starts_with(tokenizer.token_bytes(static_cast<Token>(i)))) fitting.push_back(static_cast<Token>(i));
    }
    tokens.push_back(fitting[random() % fitting.size()]);
    text.remove_prefix(tokenizer.token_bytes(tokens.back()).size());
  }
  return tokens;
}

TEST(Forced, TokensAreThoseOfTheWholeTextWhateverFollows) {
  std::mt19937 random(1);
  for (const std::string name : {"gpt-2", "smollm", "llama-bpe", "qwen2", ""}) {
    std::size_t forced_count = 0, canonical = 0;
    for (int vocabulary = 0; vocabulary < 60; ++vocabulary) {
      const Tokenizer tokenizer = random_tokenizer(random, name);
      const TokenTable table(tokenizer);
      const auto encode = [&](std::string_view text) {
        return tokenizer.encode(text, {.continues_text = true}).value();
      };
      for (int i = 0; i < 60; ++i) {
        const std::string text = random_text(random, 14), forced = random_text(random, 10);
        const auto before = random() % 3 == 0 ? random_tokens(random, tokenizer, text) : encode(text);
        const auto tokens = forced_tokens(tokenizer, table, before, forced);
        ASSERT_TRUE(forced.starts_with(spelled(tokenizer, tokens)));
        forced_count += tokens.size();
        auto expected = before;
        expected.insert(expected.end(), tokens.begin(), tokens.end());
        for (int j = 0; j < 8; ++j) {
          const std::string whole = forced + random_text(random, 6);
          if (const auto all = encode(text + whole); begins_with(all, before)) {
            ++canonical;
            ASSERT_TRUE(begins_with(all, expected)) << name << ": " << text << '|' << forced << '|' << whole;
          }
          // In any case they are those of what comes behind some token.
          bool found = tokens.empty();
          for (std::size_t first = 0; first <= before.size() && !found; ++first) {
            const auto own = std::span(expected).subspan(first);
            found = begins_with(encode(spelled(tokenizer, std::span(before).subspan(first)) + whole), own);
          }
          ASSERT_TRUE(found) << name << ": " << text << '|' << forced << '|' << whole;
        }
      }
    }
    EXPECT_GT(forced_count, 1000u) << name;
    EXPECT_GT(canonical, 1000u) << name;
  }
}

TEST(Forced, MayJoinIsWhatLookingAtEachTokenGives) {
  std::mt19937 random(2);
  for (int i = 0; i < 1000; ++i) {
    const Tokenizer tokenizer = random_tokenizer(random, "gpt-2");
    const TokenTable table(tokenizer);
    const std::string text = random_text(random, 12);
    const std::size_t cut = random() % (text.size() + 1);
    bool expected = false;
    for (std::size_t token = 0; token < tokenizer.size(); ++token) {
      const std::string_view bytes = tokenizer.token_bytes(static_cast<Token>(token));
      for (std::size_t begin = 0; begin < cut; ++begin) {
        const std::string_view there = std::string_view(text).substr(begin);
        const bool fits = there.starts_with(bytes) || (bytes.starts_with(there) && bytes.size() > there.size());
        expected |= fits && begin + bytes.size() > cut;
      }
    }
    ASSERT_EQ(may_join(table, text, cut), expected) << text << " at " << cut;
  }
}

TEST(Forced, BytesAreWhatTryingEachByteGives) {
  const Grammar grammars[] = {
      Grammar::regex(R"re(\{"name": "[ab]{1,3}", "kind": "(cat|car|dog)"\}|x(yz){3}|)re").value(),
      Grammar::gbnf("root ::= \"begin\" (\" \" word)* \" end\"\nword ::= \"one\" | \"on\" | \"\u00E4\" | \"\u00F6\"").value(),
      Grammar::choice(std::vector<std::string>{"abcdef", "abcxyz", "abc"}).value(),
      Grammar::json_schema(R"({"type":"array","items":{"enum":["long","longer"]},"uniqueItems":true,"minItems":2})",
                           {.whitespace = JsonWhitespace::compact}).value(),
  };
  std::mt19937 random(3);
  const Tokenizer tokenizer = random_tokenizer(random, "gpt-2");
  const auto choices = [](GrammarMatcher& at) {
    std::vector<char> bytes;
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      if (!at.accept_bytes({&c, 1})) continue;
      at.rollback(1).value();
      bytes.push_back(c);
    }
    return bytes;
  };
  std::size_t forced_bytes = 0;
  for (const Grammar& grammar : grammars) {
    for (int i = 0; i < 20; ++i) {
      GrammarMatcher matcher = GrammarMatcher::create(grammar, tokenizer).value();
      for (int step = 0; step < 60; ++step) {
        std::string expected;
        GrammarMatcher ahead = matcher;
        for (auto only = choices(ahead); only.size() == 1 && !ahead.can_end() && expected.size() < 9; only = choices(ahead)) {
          expected += only[0];
          ahead.accept_bytes({only.data(), 1}).value();
        }
        const std::string forced = matcher.forced_bytes(9).value();
        ASSERT_TRUE(expected.starts_with(forced)) << forced << ", not " << expected;
        // What checks of values alone rule out counts as a choice.
        ASSERT_TRUE(forced == expected || &grammar == std::end(grammars) - 1);
        forced_bytes += forced.size();
        const auto bytes = choices(matcher);
        if (bytes.empty()) break;
        matcher.accept_bytes({&bytes[random() % bytes.size()], 1}).value();
      }
    }
  }
  EXPECT_GT(forced_bytes, 500u);
}

TEST(Forced, TokensThatTheGrammarNamesAreAChoice) {
  const Tokenizer tokenizer = toy_tokenizer({"a", "<b>", "1", "2"});
  const Grammar grammar = Grammar::gbnf("root ::= \"a\" (<b> | \"1\") \"2\"", {.tokenizer = tokenizer}).value();
  GrammarMatcher matcher = GrammarMatcher::create(grammar, tokenizer).value();
  EXPECT_EQ(matcher.forced_bytes().value(), "a");
  matcher.accept_bytes("a1").value();
  EXPECT_EQ(matcher.forced_bytes().value(), "2");
  matcher.accept_bytes("2").value();
  EXPECT_EQ(matcher.forced_bytes().value(), "");
}

}  // namespace
}  // namespace rill::grammar
