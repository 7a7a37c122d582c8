// SentencePiece's BPE model (Kudo and Richardson 2018): merges by score, bytes for what no piece covers.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "rill/result.h"
#include "rill/token.h"
#include "tokenizer/vocabulary.h"

namespace rill::tokenizer {

// Immutable, thread-safe.
class SentencePiece {
 public:
  explicit SentencePiece(const VocabularyData& data);

  // Appends the tokens of text [begin, end), which has no special tokens. O(n log n) time.
  Result<void> encode(const Vocabulary& vocabulary, std::string_view text, std::size_t begin, std::size_t end,
                      bool space_prefix, Unencodable unencodable, std::vector<Token>& tokens) const;

  std::size_t memory_bytes() const noexcept { return order_.capacity() * sizeof(order_[0]); }

 private:
  struct Merger;
  // Appends the tokens of a character that is no piece, or returns the index of its first byte without a token.
  std::optional<std::size_t> append_unknown(const Vocabulary& vocabulary, std::string_view character,
                                            Unencodable unencodable, std::vector<Token>& tokens) const;

  std::vector<std::uint32_t> order_;  // of each token: lower merges first
  Token unknown_;
};

}  // namespace rill::tokenizer
