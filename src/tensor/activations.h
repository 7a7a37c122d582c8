// Activations as the matmul kernels read them: floats, or 8- or 16-bit integers in blocks of 32 with a float scale.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/element_type.h"

namespace rill {

// q8: d = amax / 127, q = round-to-nearest-even(x / d) held inside [-127, 127] (only a subnormal d needs holding), a
// zero block has d = 0.
// q16: the same with 32512 for 127; q = high * 256 + low, low in [-128, 127], high in [-127, 127].
enum class ActivationFormat : std::uint8_t { f32, q8, q16 };

// Rows of activations [rows, cols], activation_row_bytes() apart, 64-byte aligned.
// Row: floats [cols], or blocks [cols / 32].
struct ActivationView {
  ActivationFormat format = ActivationFormat::f32;
  std::size_t rows = 0;
  std::size_t cols = 0;  // a multiple of 32 unless the format is f32
  const std::byte* data = nullptr;
};

inline constexpr std::size_t kActivationBlock = 32;

// What stands behind the integers of a block, in both formats.
struct ActivationScale {
  float scale;            // d
  float scaled_sum;       // d * float(sum)
  // Minus the sum of the 32 integers, and of the first 16 (Q6_K's blocks are that short): times the offset of weights
  // that are stored with one, they are where a dot product begins.
  std::int32_t negative_sum;
  std::int32_t negative_half_sum;
};

struct ActivationBlockQ8 {
  std::int8_t values[kActivationBlock];
  ActivationScale scale;
};

struct ActivationBlockQ16 {
  std::int8_t high[kActivationBlock];
  std::int8_t low[kActivationBlock];
  ActivationScale scale;
};

std::size_t activation_row_bytes(ActivationFormat format, std::size_t cols);

}  // namespace rill
