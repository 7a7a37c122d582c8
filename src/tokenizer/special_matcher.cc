#include "tokenizer/special_matcher.h"

#include <algorithm>

#include "base/error.h"

namespace rill::tokenizer {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t index) { return static_cast<std::uint8_t>(text[index]); }

bool overlaps_untrusted(const ControlPolicy& policy, std::size_t begin, std::size_t end) {
  for (const ByteRange& range : policy.untrusted) {
    if (range.begin >= end) return false;
    if (range.end > begin && range.end > range.begin) return true;
  }
  return false;
}

}  // namespace

Result<SpecialMatcher> SpecialMatcher::build(const Vocabulary& vocabulary) {
  SpecialMatcher result;
  for (Token token = 0; vocabulary.contains(token); ++token) {
    const TokenKind kind = vocabulary.kind(token);
    const std::size_t size = vocabulary.bytes(token).size();
    if (kind != TokenKind::control && kind != TokenKind::unknown && kind != TokenKind::user_defined) continue;
    if (size > kMaxTokenBytes) {
      return make_error(ErrorCode::limit_exceeded, "special token {} has {} bytes; the limit is {}", token, size,
                        kMaxTokenBytes);
    }
    if (size > 0) result.order_.push_back(token);
  }
  std::stable_sort(result.order_.begin(), result.order_.end(),
                   [&](Token a, Token b) { return vocabulary.bytes(a) < vocabulary.bytes(b); });
  for (std::size_t byte = 0; byte <= 256; ++byte) {
    const auto first = std::partition_point(result.order_.begin(), result.order_.end(),
                                            [&](Token token) { return byte_at(vocabulary.bytes(token), 0) < byte; });
    result.first_byte_[byte] = static_cast<std::uint32_t>(first - result.order_.begin());
  }
  return result;
}

std::optional<SpecialMatcher::Match> SpecialMatcher::next(const Vocabulary& vocabulary, std::string_view text,
                                                          std::size_t from, ControlPolicy& policy) const {
  if (order_.empty()) return std::nullopt;
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    const std::uint8_t byte = byte_at(text, begin);
    if (first_byte_[byte] == first_byte_[byte + 1u]) continue;
    while (!policy.untrusted.empty() && policy.untrusted.front().end <= begin)
      policy.untrusted = policy.untrusted.subspan(1);
    if (const auto match = match_at(vocabulary, text, begin, policy)) return match;
  }
  return std::nullopt;
}

std::optional<SpecialMatcher::Match> SpecialMatcher::match_at(const Vocabulary& vocabulary, std::string_view text,
                                                              std::size_t begin, const ControlPolicy& policy) const {
  std::optional<Match> longest;
  auto low = order_.begin() + first_byte_[byte_at(text, begin)];
  auto high = order_.begin() + first_byte_[byte_at(text, begin) + 1u];
  for (std::size_t depth = 1; low != high; ++depth) {  // [low, high) begin with the `depth` bytes at `begin`
    const std::size_t end = begin + depth;
    for (; low != high && vocabulary.bytes(*low).size() == depth; ++low) {
      if (longest && longest->end == end) continue;  // equal strings: the lowest id has come first
      const bool is_text = vocabulary.kind(*low) == TokenKind::user_defined;
      if (is_text || (policy.allowed && !overlaps_untrusted(policy, begin, end))) longest = Match{begin, end, *low};
    }
    if (end == text.size()) break;
    const std::uint8_t byte = byte_at(text, end);
    low = std::partition_point(low, high, [&](Token token) { return byte_at(vocabulary.bytes(token), depth) < byte; });
    high =
        std::partition_point(low, high, [&](Token token) { return byte_at(vocabulary.bytes(token), depth) == byte; });
  }
  return longest;
}

Token SpecialMatcher::find(const Vocabulary& vocabulary, std::string_view text) const noexcept {
  const auto found =
      std::partition_point(order_.begin(), order_.end(), [&](Token token) { return vocabulary.bytes(token) < text; });
  return found != order_.end() && vocabulary.bytes(*found) == text ? *found : kNoToken;
}

}  // namespace rill::tokenizer
