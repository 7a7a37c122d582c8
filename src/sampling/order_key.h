// Floats as integers of the same order, so that comparing and searching them is vectorised and independent of any flag.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rill::sampling {

inline constexpr std::int32_t kInfinityKey = 0x7f800000;
inline constexpr std::size_t kBlock = 256;  // floats that are looked at together; a loop of fixed length is vectorised

// -0 equals +0. NaN is above +inf or below -inf, by its sign.
inline std::int32_t order_key(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  const std::int32_t sign = bits >> 31;  // 0 or -1
  return ((bits & 0x7fffffff) ^ sign) - sign;
}

struct KeyRange {
  std::int32_t lowest = INT32_MAX;
  std::int32_t highest = INT32_MIN;
  bool has_nan() const { return highest > kInfinityKey || lowest < -kInfinityKey; }
};

// Of a block of kBlock floats, or of what is left of the last one.
inline KeyRange key_range(std::span<const float> block) {
  KeyRange range;
  if (block.size() == kBlock) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      const std::int32_t key = order_key(block[i]);
      range.lowest = key < range.lowest ? key : range.lowest;
      range.highest = key > range.highest ? key : range.highest;
    }
  } else {
    for (const float value : block) {
      range.lowest = std::min(range.lowest, order_key(value));
      range.highest = std::max(range.highest, order_key(value));
    }
  }
  return range;
}

}  // namespace rill::sampling
