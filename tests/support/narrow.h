// Floats into the 16-bit formats, as whoever writes a model file rounds them. NaN keeps its sign and becomes quiet.
#pragma once

#include <bit>
#include <cstdint>

namespace rill::test {

// Rounds to nearest, ties to even; overflow gives infinity.
constexpr std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);  // 65520 and above round to infinity
  std::uint32_t kept, shift;
  if (magnitude >= 0x38800000) {  // 2^-14, the lowest normal half
    kept = magnitude - (112u << 23);
    shift = 13;
  } else {
    if (magnitude < 0x33000000) return static_cast<std::uint16_t>(sign);  // below 2^-25, half of the lowest subnormal
    kept = (magnitude & 0x7fffff) | 0x800000;
    shift = 126 - (magnitude >> 23);
  }
  const std::uint32_t odd = kept >> shift & 1;
  return static_cast<std::uint16_t>(sign | (kept + (1u << (shift - 1)) - 1 + odd) >> shift);
}

// Rounds to nearest, ties to even.
constexpr std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace rill::test
