#include "session/prompt_lookup.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace rill::session {
namespace {

constexpr std::uint64_t kMostHeads = 1 << 16;
constexpr int kCandidates = 64;           // places to look at
constexpr std::uint64_t kPair = 2;        // tokens that must agree
constexpr std::uint64_t kLongMatch = 32;  // tokens: a longer one is no better

}  // namespace

PromptLookup::PromptLookup(std::size_t window)
    : mask_(std::bit_ceil(std::max<std::uint64_t>(window, kPair)) - 1), heads_(std::min(mask_ + 1, kMostHeads)) {}

// Fibonacci hashing: Knuth, The Art of Computer Programming, volume 3, section 6.4.
std::size_t PromptLookup::hash_of_pair(std::uint64_t end) const {
  const std::uint64_t pair =
      std::uint64_t{static_cast<std::uint32_t>(at(end - 1))} << 32 | static_cast<std::uint32_t>(at(end));
  return (pair * 0x9E3779B97F4A7C15 >> 32) & (heads_.size() - 1);
}

void PromptLookup::append(Token token) {
  // A pair is entered only when it has a successor, so that the end of the text does not find itself.
  if (length_ >= kPair) {
    const std::uint64_t end = length_ - 1;
    previous_[end & mask_] = std::exchange(heads_[hash_of_pair(end)], end);
  }
  if (tokens_.size() <= mask_) {
    tokens_.push_back(token);
    previous_.push_back(0);
  } else {
    tokens_[length_ & mask_] = token;
  }
  ++length_;
}

std::uint64_t PromptLookup::match_length(std::uint64_t end) const {
  std::uint64_t length = 0;
  while (length < kLongMatch && length <= end && remembers(end - length) &&
         at(end - length) == at(length_ - 1 - length))
    ++length;
  return length;
}

void PromptLookup::draft(std::size_t most, std::vector<Token>& drafts) const {
  if (length_ < kPair) return;
  std::uint64_t longest = kPair - 1;
  std::uint64_t found = 0;
  std::uint64_t end = heads_[hash_of_pair(length_ - 1)];
  for (int i = 0; i < kCandidates && end != 0 && remembers(end) && longest < kLongMatch; ++i) {
    if (const std::uint64_t length = match_length(end); length > longest) {
      longest = length;
      found = end;
    }
    end = previous_[end & mask_];
  }
  if (found == 0) return;
  const std::size_t before = drafts.size();
  for (std::size_t i = 0; i < most; ++i) {
    const std::uint64_t position = found + 1 + i;
    drafts.push_back(position < length_ ? at(position) : drafts[before + static_cast<std::size_t>(position - length_)]);
  }
}

}  // namespace rill::session
