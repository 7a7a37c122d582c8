// Conversions between float and the 16-bit formats. Integer operations only, so that no rounding or flush-to-zero mode of
// the host can change a bit. NaN keeps its sign and becomes quiet when it is narrowed.
#pragma once

#include <bit>
#include <cstdint>

namespace rill {

constexpr float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1f;
  const std::uint32_t mantissa = half & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  if (mantissa == 0) return std::bit_cast<float>(sign);
  // Subnormal: shift the leading one up to bit 10, where it becomes the implicit one.
  const std::uint32_t shift = static_cast<std::uint32_t>(std::countl_zero(mantissa)) - 21;
  return std::bit_cast<float>(sign | (113 - shift) << 23 | (mantissa << shift & 0x3ff) << 13);
}

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

constexpr float bf16_to_f32(std::uint16_t value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16); }

// Rounds to nearest, ties to even.
constexpr std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace rill
