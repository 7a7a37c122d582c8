// The hash chains against a plain search.
#include "session/prompt_lookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace rill::session {
namespace {

std::vector<Token> draft(const PromptLookup& lookup, std::size_t most) {
  std::vector<Token> drafts;
  lookup.draft(most, drafts);
  return drafts;
}

PromptLookup of(const std::vector<Token>& text, std::size_t window = 1024) {
  PromptLookup lookup(window);
  for (const Token token : text) lookup.append(token);
  return lookup;
}

// What followed the longest earlier occurrence of the end of text[begin..], the last of several.
std::vector<Token> search(const std::vector<Token>& text, std::size_t begin, std::size_t most) {
  std::size_t longest = 1, found = 0;
  for (std::size_t end = begin; end + 1 < text.size(); ++end) {
    std::size_t length = 0;
    while (length < 32 && begin + length <= end && text[end - length] == text[text.size() - 1 - length]) ++length;
    if (length >= 2 && length >= longest) {
      longest = length;
      found = end;
    }
  }
  std::vector<Token> drafts;
  if (found == 0) return drafts;
  std::vector<Token> longer = text;
  for (std::size_t i = 0; i < most; ++i) {
    drafts.push_back(longer[found + 1 + i]);
    longer.push_back(drafts.back());
  }
  return drafts;
}

TEST(PromptLookup, PrefersTheLongestAndThenTheLast) {
  EXPECT_EQ(draft(of({1, 2, 3, 4, 9, 2, 3, 5, 8, 1, 2, 3}), 2), (std::vector<Token>{4, 9}));
  EXPECT_EQ(draft(of({2, 3, 4, 9, 2, 3, 5, 8, 2, 3}), 2), (std::vector<Token>{5, 8}));
  EXPECT_EQ(draft(of({3, 4, 9, 3}), 2), std::vector<Token>());  // one token is too little
  EXPECT_EQ(draft(of({}), 2), std::vector<Token>());
  EXPECT_EQ(draft(of({7}), 2), std::vector<Token>());
  EXPECT_EQ(draft(of({7, 7}), 2), std::vector<Token>());
  EXPECT_EQ(draft(of({1, 2, 1, 2}), 0), std::vector<Token>());
}

TEST(PromptLookup, WhatReachesIntoTheEndRepeatsItself) {
  EXPECT_EQ(draft(of({7, 7, 7}), 4), (std::vector<Token>{7, 7, 7, 7}));
  EXPECT_EQ(draft(of({5, 1, 2, 3, 1, 2, 3, 1, 2}), 7), (std::vector<Token>{3, 1, 2, 3, 1, 2, 3}));
}

TEST(PromptLookup, AgreesWithASearch) {
  std::mt19937 random(1);
  std::size_t found = 0;
  for (const Token alphabet : {3, 5, 30, 200}) {
    for (int round = 0; round < 20; ++round) {
      constexpr std::size_t kWindow = 64;
      PromptLookup lookup(kWindow - 3);  // rounded up
      std::vector<Token> text;
      while (text.size() < 300) {
        // New tokens, and now and then a piece from before.
        std::vector<Token> piece(1 + random() % 3);
        for (Token& token : piece) token = static_cast<Token>(random() % static_cast<unsigned>(alphabet)) * 77'777 % 200'000;
        if (text.size() > 20 && random() % 4 == 0) {
          const std::size_t from = random() % (text.size() - 12);
          piece.assign(text.begin() + static_cast<std::ptrdiff_t>(from),
                       text.begin() + static_cast<std::ptrdiff_t>(from + 1 + random() % 12));
        }
        for (const Token token : piece) {
          lookup.append(token);
          text.push_back(token);
          const std::vector<Token> expected = search(text, text.size() - std::min(text.size(), kWindow), 6);
          ASSERT_EQ(draft(lookup, 6), expected) << "alphabet " << alphabet << ", length " << text.size();
          found += expected.empty() ? 0 : 1;
        }
      }
    }
  }
  EXPECT_GT(found, 5'000u);
}

TEST(PromptLookup, ForgetsWhatLeavesItsWindow) {
  std::vector<Token> text = {1, 2, 3};
  for (Token token = 100; token < 100 + 60; ++token) text.push_back(token);
  text.insert(text.end(), {1, 2});
  EXPECT_EQ(draft(of(text, 128), 1), std::vector<Token>{3});
  EXPECT_EQ(draft(of(text, 32), 1), std::vector<Token>());
}

}  // namespace
}  // namespace rill::session
