// Finds special tokens in raw text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rill/result.h"
#include "rill/token.h"
#include "tokenizer/vocabulary.h"

namespace rill::tokenizer {

// Where control tokens may be matched. User-defined tokens are matched everywhere.
struct ControlPolicy {
  bool allowed = false;
  std::span<const ByteRange> untrusted;  // no match overlaps one of these; ascending and disjoint
};

// The vocabulary's control, unknown and user-defined tokens in byte order: a trie whose nodes are ranges of the order,
// which takes no memory of its own. Immutable, thread-safe.
class SpecialMatcher {
 public:
  static constexpr std::size_t kMaxTokenBytes = 1024;  // bounds the cost at each byte of a text

  static Result<SpecialMatcher> build(const Vocabulary& vocabulary);

  struct Match {
    std::size_t begin;
    std::size_t end;
    Token token;
  };
  // The leftmost match that begins at or after `from`, the longest of those there. `policy.untrusted` loses the ranges
  // that lie before the match, so that a scan of the whole text passes each once.
  std::optional<Match> next(const Vocabulary& vocabulary, std::string_view text, std::size_t from,
                            ControlPolicy& policy) const;

  // The token whose text is `text`, or kNoToken.
  Token find(const Vocabulary& vocabulary, std::string_view text) const noexcept;

  std::size_t memory_bytes() const noexcept { return order_.capacity() * sizeof(Token); }

 private:
  std::optional<Match> match_at(const Vocabulary& vocabulary, std::string_view text, std::size_t begin,
                                const ControlPolicy& policy) const;

  std::vector<Token> order_;                   // by bytes, then id
  std::array<std::uint32_t, 257> first_byte_;  // order_[first_byte_[b], first_byte_[b + 1]) begin with byte b
};

}  // namespace rill::tokenizer
