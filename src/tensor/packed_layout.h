// Where the bits of a packed weight matrix lie. Only the packer and the matmul kernels know.
//
// Float types: for each column the 16 rows' elements.
//
// Quantised types: blocks of 16 rows x 32 columns (legacy types) or 16 rows x 256 columns (K types), in memory in the
// order in which a kernel reads them, without gaps:
//   header      legacy: f16 scale[16], [f16 minimum[16]]
//               Q4_K, Q5_K: f16 scale[16], f16 minimum[16], u8 low[8][16], u8 high[4][16], where the 6-bit scale s and
//                 minimum m of sub-block j and a row are low[j] = (s & 15) | (m & 15) << 4 and the nibble j / 4 of
//                 high[j % 4] = s >> 4 | m >> 4 << 2
//               Q6_K: f16 scale[16], i8 scales[16][16], one for every 16 columns
//   sub-blocks  1 or 8 times 32 columns, as 8 column groups of 4; a line of 64 bytes holds 4 columns of 16 rows,
//               byte 4 * row + column:
//     upper bits  5-bit types: one line, bit g for group g; Q6_K: two lines, group g in bits 2 (g % 4) of line g / 4
//     lower bits  four lines, groups g and g + 4 in the halves of line g; Q8_0: eight lines of value + 128
// Quantised values are unsigned; the true value is value - offset.
#pragma once

#include <cstddef>

#include "tensor/element_type.h"
#include "tensor/packed_matrix.h"

namespace rill {

inline constexpr std::size_t kSubBlockCols = 32;
inline constexpr std::size_t kGroupsPerSubBlock = 8;  // of 4 columns
inline constexpr std::size_t kLineBytes = 4 * kRowsPerGroup;

struct PackedLayout {
  int bits = 0;
  int offset = 0;
  bool has_minimum = false;
  std::size_t sub_blocks = 1;
  std::size_t header_bytes = 0;

  constexpr std::size_t upper_lines() const { return bits == 5 ? 1 : bits == 6 ? 2 : 0; }
  constexpr std::size_t lower_lines() const { return bits == 8 ? 8 : 4; }
  constexpr std::size_t sub_block_bytes() const { return (upper_lines() + lower_lines()) * kLineBytes; }
  constexpr std::size_t block_bytes() const { return header_bytes + sub_blocks * sub_block_bytes(); }
};

constexpr PackedLayout packed_layout(ElementType type) {
  switch (type) {
    case ElementType::q8_0: return {8, 128, false, 1, 32};
    case ElementType::q4_0: return {4, 8, false, 1, 32};
    case ElementType::q4_1: return {4, 0, true, 1, 64};
    case ElementType::q5_0: return {5, 16, false, 1, 32};
    case ElementType::q5_1: return {5, 0, true, 1, 64};
    case ElementType::q4_k: return {4, 0, true, 8, 256};
    case ElementType::q5_k: return {5, 0, true, 8, 256};
    case ElementType::q6_k: return {6, 32, false, 8, 288};
    default: return {};
  }
}

// Parts of the headers of K types, in bytes from the block's begin.
inline constexpr std::size_t kMinimumOffset = 32;
inline constexpr std::size_t kScaleLowOffset = 64;    // Q4_K, Q5_K
inline constexpr std::size_t kScaleHighOffset = 192;  // Q4_K, Q5_K
inline constexpr std::size_t kScales6Offset = 32;     // Q6_K

// One row of one sub-block, decoded: the naive form that the scalar kernel and unpack_row work on.
// A weight is scale[k / 16] * float(values[k]) + minimum; a type without minimum adds nothing.
struct RowBlock {
  int values[kSubBlockCols];  // offset removed
  float scale[2];
  float minimum;
};
RowBlock read_row_block(ElementType type, const std::byte* group, std::size_t sub_block, std::size_t row);

}  // namespace rill
