// Byte-level byte-pair encoding (Sennrich et al. 2016; the byte alphabet of GPT-2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rill/result.h"
#include "rill/token.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace rill::tokenizer {

// Immutable, thread-safe.
class Bpe {
 public:
  static Result<Bpe> build(const Vocabulary& vocabulary, const VocabularyData& data);

  // Appends the tokens of text [begin, end), which has no special tokens. O(n log n) in the longest piece.
  Result<void> encode(const Vocabulary& vocabulary, std::string_view text, std::size_t begin, std::size_t end,
                      Unencodable unencodable, std::vector<Token>& tokens) const;

  std::size_t memory_bytes() const noexcept { return merges_.capacity() * sizeof(Merge) + ranks_.memory_bytes(); }

 private:
  static constexpr std::uint32_t kEnd = 0xFFFFFFFF;
  struct Merge {
    Token left, right, merged;
  };
  struct Symbol {
    Token token;  // kNoToken: merged into an earlier symbol
    std::uint32_t previous, next;
  };
  struct Scratch {
    std::vector<Token> bytes;
    std::vector<Symbol> symbols;
    std::vector<std::uint64_t> heap;  // rank << 32 | index of the left symbol, smallest first
  };

  Bpe(PreTokenizer pre_tokenizer, bool ignore_merges) : pre_tokenizer_(pre_tokenizer), ignore_merges_(ignore_merges) {}

  Result<void> split(const Vocabulary& vocabulary, std::string_view text, std::size_t begin, std::size_t end,
                     Unencodable unencodable, Scratch& scratch) const;
  void merge(Scratch& scratch) const;
  void push_pair(Scratch& scratch, std::uint32_t left) const;

  PreTokenizer pre_tokenizer_;
  bool ignore_merges_;
  std::vector<Merge> merges_;  // by rank
  IndexTable ranks_;           // of the pair (left, right)
};

}  // namespace rill::tokenizer
