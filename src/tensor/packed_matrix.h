// A weight matrix packed for SIMD: 16 output rows interleaved, so that one vector load feeds 16 outputs.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/element_type.h"

namespace rill {

inline constexpr std::size_t kRowsPerGroup = 16;

// View of a packed matrix [rows, cols]. Group g holds rows [16g, 16g + 16), group_bytes apart; rows past `rows` are
// zero. Owner of the bytes: the model. 64-byte aligned.
struct PackedMatrix {
  ElementType type = ElementType::f32;
  std::size_t rows = 0;
  std::size_t cols = 0;         // a multiple of the type's block size
  std::size_t group_bytes = 0;  // packed_group_bytes(type, cols)
  const std::byte* data = nullptr;

  std::size_t groups() const { return (rows + kRowsPerGroup - 1) / kRowsPerGroup; }
};

// Bytes of one packed group of 16 rows, a multiple of 64. Keeps the type's own bits per weight.
std::size_t packed_group_bytes(ElementType type, std::size_t cols);

// Packs `rows` (1 to 16) consecutive rows as they lie in the model file (each row_bytes(type, cols) long) into one
// group. Missing rows become zeros.
void pack_group(ElementType type, std::size_t rows, std::size_t cols, std::span<const std::byte> source,
                std::span<std::byte> group);

// Row `row` of the matrix as floats, out[cols]; the same bits as dequantize() of the file's row.
void unpack_row(const PackedMatrix& matrix, std::size_t row, std::span<float> out);

}  // namespace rill
