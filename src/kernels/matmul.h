// Activation quantisation and matrix products: the part of each kernel table that depends on the packed formats.
//
// Order of operations, the same for every target, number of tokens and tile. For each output (weight row r, token t):
//   acc = 0; for every 32 columns, ascending, with d_a, s_a = scale, scaled_sum of the activation block and
//   isum = sum over the block of (value - offset) * activation, an exact integer, converted to float (nearest even):
//     Q8_0, Q4_0, Q5_0   acc = fma(isum, d_w * d_a, acc)
//     Q4_1, Q5_1         acc = fma(isum, d_w * d_a, acc);  acc = fma(m_w, s_a, acc)
//     Q4_K, Q5_K         the same with d_w = d * scale_j and m_w = -(dmin * minimum_j) of sub-block j
//     Q6_K               twice, for columns 0-15 and 16-31: acc = fma(isum, (d * scale_i) * d_a, acc)
//   F32, F16, BF16       for every column, ascending: acc = fma(w, x, acc)
// On class sse4, fma(a, b, c) is a * b + c with two roundings.
// The last step of 16-bit activations, isum = 256 * (sum with the high plane) + (sum with the low plane), fits in 32
// bits.
#pragma once

#include <cstddef>

#include "tensor/activations.h"
#include "tensor/packed_matrix.h"

namespace rill::kernels {

// The two entries of the table; their contracts stand in kernel_table.h.
struct MatmulKernels {
  bool (*prepare_activations)(ActivationFormat format, const float* x, std::size_t row_stride, std::size_t rows,
                              std::size_t cols, std::byte* dst);
  void (*matmul)(const PackedMatrix& w, const ActivationView& x, std::size_t group_begin, std::size_t group_end,
                 float* y, std::size_t y_stride);
};

// prepare_activations of a target, from how it prepares one row [cols] in each format.
using PrepareRow = bool(const float* x, std::size_t cols, std::byte* dst);
template <PrepareRow* f32, PrepareRow* q8, PrepareRow* q16>
bool prepare_rows(ActivationFormat format, const float* x, std::size_t row_stride, std::size_t rows, std::size_t cols,
                  std::byte* dst) {
  PrepareRow* const prepare = format == ActivationFormat::q8 ? q8 : format == ActivationFormat::q16 ? q16 : f32;
  for (std::size_t row = 0; row < rows; ++row) {
    if (!prepare(x + row * row_stride, cols, dst + row * activation_row_bytes(format, cols))) return false;
  }
  return true;
}

// One for each target that the build holds.
extern const MatmulKernels kMatmulScalar;
extern const MatmulKernels kMatmulSse4, kMatmulAvx2, kMatmulAvxVnni, kMatmulAvx512, kMatmulAvx512Vnni;
extern const MatmulKernels kMatmulNeon, kMatmulNeonDotprod, kMatmulNeonI8mm;

}  // namespace rill::kernels
