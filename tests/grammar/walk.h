// A random walk through a grammar that compares each mask with the brute-force one, every token tried.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <random>
#include <vector>

#include "rill/grammar.h"

namespace rill::grammar {

// Tokens that begin with punctuation are half of the steps where there are any: they open, separate and close.
inline Token next_of(const std::vector<Token>& tokens, const Tokenizer& tokenizer, std::mt19937& random) {
  std::vector<Token> marks;
  for (const Token token : tokens) {
    const auto bytes = tokenizer.token_bytes(token);
    if (!bytes.empty() && std::ispunct(static_cast<unsigned char>(bytes[0])) != 0) marks.push_back(token);
  }
  const auto& from = marks.empty() || random() % 2 == 0 ? tokens : marks;
  return from[random() % from.size()];
}

// Returns the number of masks compared.
inline int walk(const Grammar& grammar, const Tokenizer& tokenizer, unsigned seed, int steps) {
  auto matcher = GrammarMatcher::create(grammar, tokenizer).value();
  std::mt19937 random(seed);
  std::string text;
  TokenSet set(tokenizer.size());
  for (int step = 0; step < steps; ++step) {
    set.reset(tokenizer.size());
    EXPECT_TRUE(matcher.allowed(set)) << text;
    for (std::size_t i = 0; i < tokenizer.size(); ++i) {
      const auto token = static_cast<Token>(i);
      const bool takes = matcher.accept(token).has_value();
      if (takes && !matcher.rollback(1)) ADD_FAILURE() << "no way back after " << text;
      if (takes != set.contains(token)) {
        ADD_FAILURE() << "token " << token << " \"" << tokenizer.token_bytes(token) << "\" after \"" << text << '"';
        return step;
      }
    }
    std::vector<Token> tokens;
    set.for_each([&](Token token) {
      if (!tokenizer.is_end(token)) tokens.push_back(token);
    });
    if (tokens.empty()) return step + 1;
    const Token token = next_of(tokens, tokenizer, random);
    EXPECT_TRUE(matcher.accept(token)) << text;
    text += tokenizer.token_bytes(token);
  }
  return steps;
}

}  // namespace rill::grammar
