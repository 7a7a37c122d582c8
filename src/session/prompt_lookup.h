// Finds where the last tokens of a growing text stood before: hash chains, as compressors of the LZ77 family have them
// (RFC 1951, section 4), over tokens. A token costs constant time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rill/token.h"

namespace rill::session {

class PromptLookup {
 public:
  // Remembers the last `window` tokens, rounded up to a power of two; its memory grows with the text up to that.
  explicit PromptLookup(std::size_t window);

  void append(Token token);

  // Appends to `drafts` up to `most` tokens: those that followed the longest earlier occurrence of the text's last
  // tokens, two at least, and of several the last. Nothing if there is none. Where it reaches into the end of the text,
  // it repeats itself.
  void draft(std::size_t most, std::vector<Token>& drafts) const;

 private:
  Token at(std::uint64_t position) const { return tokens_[position & mask_]; }
  bool remembers(std::uint64_t position) const { return length_ - position <= mask_ + 1; }
  std::size_t hash_of_pair(std::uint64_t end) const;
  std::uint64_t match_length(std::uint64_t end) const;

  std::uint64_t mask_;
  std::uint64_t length_ = 0;             // of the text
  std::vector<Token> tokens_;            // [position & mask_]
  std::vector<std::uint64_t> heads_;     // [hash of a pair of tokens]: where one with that hash last ended; 0: nowhere
  std::vector<std::uint64_t> previous_;  // [position & mask_]: where one with the hash of that which ends there ended before
};

}  // namespace rill::session
