// Activations as the matmul kernels read them: floats, or 8- or 16-bit integers in blocks of 32 with a float scale.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/element_type.h"

namespace rill {

// q8: d = amax / 127, q = round-to-nearest-even(x / d), a zero block has d = 0.
// q16: d = amax / 32512, q = hi * 256 + lo with lo in [-128, 127] and hi in [-127, 127], as two exact 8-bit planes.
enum class ActivationFormat : std::uint8_t { f32, q8, q16 };

// Rows of activations [rows, cols], activation_row_bytes() apart, 64-byte aligned.
struct ActivationView {
  ActivationFormat format = ActivationFormat::f32;
  std::size_t rows = 0;
  std::size_t cols = 0;
  const std::byte* data = nullptr;
};

std::size_t activation_row_bytes(ActivationFormat format, std::size_t cols);

}  // namespace rill
