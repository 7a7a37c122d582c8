// A set of tokens as one bit for each token of the vocabulary.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rill/token.h"

namespace rill {

// Starts with every token allowed. Ids outside the vocabulary are never contained, and allowing or removing them does
// nothing. One thread at a time.
class TokenSet {
 public:
  static constexpr std::size_t kWordBits = 64;

  explicit TokenSet(std::size_t vocabulary_size = 0) { reset(vocabulary_size); }

  // Every one of `vocabulary_size` tokens allowed.
  void reset(std::size_t vocabulary_size) {
    vocabulary_size_ = vocabulary_size;
    words_.assign((vocabulary_size + kWordBits - 1) / kWordBits, ~std::uint64_t{0});
    trim();
  }
  void clear() { std::fill(words_.begin(), words_.end(), std::uint64_t{0}); }  // nothing allowed

  std::size_t vocabulary_size() const { return vocabulary_size_; }
  bool contains(Token token) const { return in_range(token) && (word(token) & bit(token)) != 0; }
  void allow(Token token) {
    if (in_range(token)) word(token) |= bit(token);
  }
  void remove(Token token) {
    if (in_range(token)) word(token) &= ~bit(token);
  }

  // Keeps what both sets allow; tokens past the end of `other` are removed.
  void intersect(const TokenSet& other) { intersect(other.words()); }

  // The same with a raw mask: token t is bit t % 64 of word t / 64.
  void intersect(std::span<const std::uint64_t> mask) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= i < mask.size() ? mask[i] : 0;
  }

  std::size_t count() const {
    std::size_t total = 0;
    for (const std::uint64_t w : words_) total += static_cast<std::size_t>(std::popcount(w));
    return total;
  }
  bool empty() const {
    return std::all_of(words_.begin(), words_.end(), [](std::uint64_t w) { return w == 0; });
  }

  // Calls visit(Token) for each allowed token in ascending order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t rest = words_[i]; rest != 0; rest &= rest - 1) {
        visit(static_cast<Token>(i * kWordBits + static_cast<std::size_t>(std::countr_zero(rest))));
      }
    }
  }

  std::span<const std::uint64_t> words() const { return words_; }

  friend bool operator==(const TokenSet&, const TokenSet&) = default;

 private:
  bool in_range(Token token) const { return token >= 0 && static_cast<std::size_t>(token) < vocabulary_size_; }
  std::uint64_t& word(Token token) { return words_[static_cast<std::size_t>(token) / kWordBits]; }
  std::uint64_t word(Token token) const { return words_[static_cast<std::size_t>(token) / kWordBits]; }
  static std::uint64_t bit(Token token) { return std::uint64_t{1} << (static_cast<std::size_t>(token) % kWordBits); }
  void trim() {  // bits past the vocabulary stay 0
    if (vocabulary_size_ % kWordBits != 0) words_.back() &= (std::uint64_t{1} << (vocabulary_size_ % kWordBits)) - 1;
  }

  std::size_t vocabulary_size_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace rill
