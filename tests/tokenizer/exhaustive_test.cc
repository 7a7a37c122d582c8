// All short strings over small random vocabularies, against the definitions carried out word for word.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tokenizer/toy_vocabulary.h"

namespace rill::tokenizer {
namespace {

constexpr std::string_view kLetters = "abc";
constexpr std::size_t kLength = 7;

template <typename Visit>
void for_each_string(Visit&& visit) {
  std::vector<std::string> strings = {""};
  for (std::size_t length = 0; length < kLength; ++length) {
    std::vector<std::string> longer;
    for (const std::string& string : strings) {
      for (const char letter : kLetters) longer.push_back(string + letter);
    }
    strings = std::move(longer);
    for (const std::string& string : strings) visit(string);
  }
}

Pieces letters_of(std::string_view text) {
  Pieces pieces;
  for (const char letter : text) pieces.emplace_back(1, letter);
  return pieces;
}

// While any adjacent pair has a priority, joins the first pair of the best one. Lower is better.
template <typename Priority>
Pieces merge_naively(Pieces pieces, Priority&& priority) {
  while (true) {
    std::optional<double> best;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
      const std::optional<double> here = priority(pieces[i], pieces[i + 1]);
      if (here && (!best || *here < *best)) best = here, at = i;
    }
    if (!best) return pieces;
    pieces[at] += pieces[at + 1];
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(ExhaustiveTokens, ByteLevelBpe) {
  std::mt19937 random(1);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<std::string> known = {"a", "b", "c"};
    std::vector<std::pair<std::string, std::string>> merges;
    for (int i = 0; i < 8; ++i) {
      const std::string left = known[random() % known.size()], right = known[random() % known.size()];
      if (left.size() + right.size() > 5) continue;
      if (std::find(merges.begin(), merges.end(), std::pair(left, right)) == merges.end())
        merges.emplace_back(left, right);
      if (std::find(known.begin(), known.end(), left + right) == known.end()) known.push_back(left + right);
    }
    std::shuffle(merges.begin(), merges.end(), random);
    std::vector<ToyToken> tokens;
    for (const std::string& piece : known) tokens.push_back({piece});
    std::vector<std::string> lines;
    for (const auto& [left, right] : merges) lines.push_back(left + ' ' + right);
    const auto tokenizer = create(toy_bpe(tokens, lines)).value();
    for_each_string([&](const std::string& text) {
      const auto expected = merge_naively(letters_of(text), [&](const auto& left, const auto& right) {
        const auto found = std::find(merges.begin(), merges.end(), std::pair(left, right));
        return found == merges.end() ? std::nullopt : std::optional<double>(found - merges.begin());
      });
      ASSERT_EQ(encode_pieces(tokenizer, text), expected);
    });
  }
}

TEST(ExhaustiveTokens, SentencePiece) {
  std::mt19937 random(2);
  for (int repeat = 0; repeat < 20; ++repeat) {
    // Pieces need not be reachable, and scores repeat.
    std::vector<ToyToken> tokens = {{"a"}, {"b"}, {"c"}};
    for (int i = 0; i < 10; ++i) {
      std::string piece(2 + random() % 3, ' ');
      for (char& letter : piece) letter = kLetters[random() % kLetters.size()];
      const bool known =
          std::any_of(tokens.begin(), tokens.end(), [&](const ToyToken& token) { return token.text == piece; });
      if (!known) tokens.push_back({piece, TokenKind::normal, static_cast<float>(random() % 7) - 3});
    }
    const auto tokenizer = create(toy_sentencepiece(tokens)).value();
    for_each_string([&](const std::string& text) {
      const auto expected = merge_naively(letters_of(text), [&](const auto& left, const auto& right) {
        const auto found = std::find_if(tokens.begin(), tokens.end(),
                                        [&](const ToyToken& token) { return token.text == left + right; });
        return found == tokens.end() ? std::nullopt : std::optional<double>(-found->score);
      });
      ASSERT_EQ(encode_pieces(tokenizer, text), expected);
    });
  }
}

// Leftmost, then longest, then outside of what is not trusted: all texts, all untrusted ranges.
TEST(ExhaustiveTokens, SpecialTokens) {
  using enum TokenKind;
  const std::vector<ToyToken> specials = {
      {"ab", control}, {"abc", control}, {"b", user_defined}, {"bca", control}, {"bc", user_defined}};
  std::vector<ToyToken> tokens = {{"a"}, {"b"}, {"c"}};
  tokens.insert(tokens.end(), specials.begin(), specials.end());
  const auto tokenizer = create(toy_bpe(tokens)).value();
  for_each_string([&](const std::string& text) {
    for (std::size_t from = 0; from < text.size(); ++from) {
      const std::size_t to = std::min(text.size(), from + text.size() % 3 + 1);
      std::vector<Token> expected;
      for (std::size_t at = 0; at < text.size();) {
        std::size_t length = 0;
        for (std::size_t i = 0; i < specials.size(); ++i) {
          const std::string& special = specials[i].text;
          const bool safe = specials[i].kind == user_defined || at + special.size() <= from || at >= to;
          if (text.compare(at, special.size(), special) != 0 || !safe || special.size() <= length) continue;
          if (length == 0) expected.emplace_back();
          expected.back() = static_cast<Token>(3 + i);
          length = special.size();
        }
        if (length == 0) expected.push_back(text[at] - 'a');
        at += std::max<std::size_t>(length, 1);
      }
      const ByteRange untrusted = {from, to};
      ASSERT_EQ(tokenizer.encode_rendered(text, {&untrusted, 1}).value(), expected) << text << ' ' << from << ' ' << to;
    }
  });
}

}  // namespace
}  // namespace rill::tokenizer
