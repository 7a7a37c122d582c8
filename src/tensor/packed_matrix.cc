#include "tensor/packed_matrix.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "tensor/half.h"
#include "tensor/packed_layout.h"

namespace rill {
namespace {

static_assert(std::endian::native == std::endian::little, "model files and packed weights are little-endian");

using Bytes = const std::uint8_t*;

// Four neighbouring 8-bit values of a row, the lowest column in the lowest byte.
using Quad = std::uint32_t;
using Quads = std::array<Quad, kGroupsPerSubBlock>;
constexpr Quad kLowHalves = 0x0f0f0f0f;
constexpr Quad kOneBit = 0x01010101;
constexpr Quad kTwoBits = 0x03030303;

Quad load_quad(Bytes bytes, std::size_t index) {
  Quad quad;
  std::memcpy(&quad, bytes + 4 * index, sizeof(quad));
  return quad;
}

// The file's formats. What they mean: dequantize.cc.

// A block of 32: the lower half of byte i is column i, the upper half column i + 16.
Quads legacy_quads(int bits, Bytes values) {
  Quads quads;
  for (std::size_t g = 0; g < 4; ++g) {
    const Quad both = load_quad(values, g);
    quads[g] = both & kLowHalves;
    quads[g + 4] = both >> 4 & kLowHalves;
  }
  if (bits == 5) {
    const Quad fifth = load_quad(values - 4, 0);  // bit i belongs to column i
    // The product puts bit i of a nibble at bit 8 i.
    for (std::size_t g = 0; g < 8; ++g) quads[g] |= ((fifth >> 4 * g & 0xf) * 0x00204081 & kOneBit) << 4;
  }
  return quads;
}

Quads q8_0_quads(Bytes values) {
  Quads quads;
  for (std::size_t g = 0; g < 8; ++g) quads[g] = load_quad(values, g) ^ 0x80808080;
  return quads;
}

Quads q45_k_quads(int bits, Bytes block, std::size_t sub_block) {
  const Bytes upper = block + 16;
  const Bytes lower = bits == 5 ? upper + 32 : upper;
  Quads quads;
  for (std::size_t g = 0; g < 8; ++g) {
    quads[g] = load_quad(lower + sub_block / 2 * 32, g) >> sub_block % 2 * 4 & kLowHalves;
    if (bits == 5) quads[g] |= (load_quad(upper, g) >> sub_block & kOneBit) << 4;
  }
  return quads;
}

Quads q6_k_quads(Bytes block, std::size_t sub_block) {
  const std::size_t half = sub_block / 4, quarter = sub_block % 4;
  Quads quads;
  for (std::size_t g = 0; g < 8; ++g) {
    quads[g] = load_quad(block + half * 64 + quarter % 2 * 32, g) >> quarter / 2 * 4 & kLowHalves;
    quads[g] |= (load_quad(block + 128 + half * 32, g) >> 2 * quarter & kTwoBits) << 4;
  }
  return quads;
}

Quads file_quads(ElementType type, const PackedLayout& layout, Bytes block, std::size_t sub_block) {
  switch (type) {
    case ElementType::q8_0: return q8_0_quads(block + 2);
    case ElementType::q4_k:
    case ElementType::q5_k: return q45_k_quads(layout.bits, block, sub_block);
    case ElementType::q6_k: return q6_k_quads(block, sub_block);
    default: return legacy_quads(layout.bits, block + info(type).block_bytes - 16);
  }
}

// 6-bit scale and minimum of sub-block j in the 12 bytes of a Q4_K or Q5_K block.
std::array<unsigned, 2> file_scale_minimum(Bytes packed, std::size_t j) {
  if (j < 4) return {packed[j] & 63u, packed[j + 4] & 63u};
  return {(packed[j + 4] & 15u) | (packed[j - 4] & 192u) >> 2, (packed[j + 4] & 240u) >> 4 | (packed[j] & 192u) >> 2};
}

void write_header(ElementType type, const PackedLayout& layout, Bytes source, std::size_t row, std::uint8_t* block) {
  const Bytes scale = type == ElementType::q6_k ? source + 208 : source;
  std::memcpy(block + 2 * row, scale, 2);
  if (layout.has_minimum) std::memcpy(block + kMinimumOffset + 2 * row, source + 2, 2);
  if (type == ElementType::q4_k || type == ElementType::q5_k) {
    for (std::size_t j = 0; j < 8; ++j) {
      const auto [s, m] = file_scale_minimum(source + 4, j);
      block[kScaleLowOffset + 16 * j + row] = static_cast<std::uint8_t>((s & 15) | (m & 15) << 4);
      block[kScaleHighOffset + 16 * (j % 4) + row] |= static_cast<std::uint8_t>((s >> 4 | m >> 4 << 2) << j / 4 * 4);
    }
  }
  if (type == ElementType::q6_k) {
    for (std::size_t j = 0; j < 16; ++j) block[kScales6Offset + 16 * j + row] = source[192 + j];
  }
}

void store_quad(Quad quad, std::uint8_t* lines, std::size_t line, std::size_t row) {
  std::memcpy(lines + line * kLineBytes + 4 * row, &quad, sizeof(quad));
}

void write_quads(const PackedLayout& layout, const Quads& quads, std::size_t row, std::uint8_t* lines) {
  if (layout.bits == 8) {
    for (std::size_t g = 0; g < 8; ++g) store_quad(quads[g], lines, g, row);
    return;
  }
  const auto upper = [&](std::size_t first, std::size_t count, Quad mask, std::size_t step) {
    Quad line = 0;
    for (std::size_t i = 0; i < count; ++i) line |= (quads[first + i] >> 4 & mask) << i * step;
    store_quad(line, lines, 0, row);
    lines += kLineBytes;
  };
  if (layout.bits == 5) upper(0, 8, kOneBit, 1);
  if (layout.bits == 6) upper(0, 4, kTwoBits, 2), upper(4, 4, kTwoBits, 2);
  for (std::size_t g = 0; g < 4; ++g) {
    store_quad((quads[g] & kLowHalves) | (quads[g + 4] & kLowHalves) << 4, lines, g, row);
  }
}

Quads read_quads(const PackedLayout& layout, Bytes lines, std::size_t row) {
  const Bytes own = lines + 4 * row;
  const auto line = [&](std::size_t index) { return load_quad(own + index * kLineBytes, 0); };
  Quads quads;
  for (std::size_t g = 0; g < 8; ++g) {
    if (layout.bits == 8) {
      quads[g] = line(g);
      continue;
    }
    quads[g] = line(layout.upper_lines() + g % 4) >> g / 4 * 4 & kLowHalves;
    if (layout.bits == 5) quads[g] |= (line(0) >> g & kOneBit) << 4;
    if (layout.bits == 6) quads[g] |= (line(g / 4) >> g % 4 * 2 & kTwoBits) << 4;
  }
  return quads;
}

void pack_quantized(ElementType type, std::size_t rows, std::size_t cols, Bytes source, std::uint8_t* group) {
  const PackedLayout layout = packed_layout(type);
  const std::size_t file_row = row_bytes(type, cols), file_block = info(type).block_bytes;
  for (std::size_t block = 0; block < cols / info(type).block_elements; ++block, group += layout.block_bytes()) {
    for (std::size_t row = 0; row < rows; ++row) {
      const Bytes own = source + row * file_row + block * file_block;
      write_header(type, layout, own, row, group);
      for (std::size_t j = 0; j < layout.sub_blocks; ++j) {
        write_quads(layout, file_quads(type, layout, own, j), row,
                    group + layout.header_bytes + j * layout.sub_block_bytes());
      }
    }
  }
}

template <typename Element>
void pack_floats(std::size_t rows, std::size_t cols, Bytes source, std::uint8_t* group) {
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t k = 0; k < cols; ++k) {
      std::memcpy(group + (k * kRowsPerGroup + row) * sizeof(Element), source + (row * cols + k) * sizeof(Element),
                  sizeof(Element));
    }
  }
}

float half_at(Bytes bytes) {
  std::uint16_t half;
  std::memcpy(&half, bytes, sizeof(half));
  return f16_to_f32(half);
}

}  // namespace

std::size_t packed_group_bytes(ElementType type, std::size_t cols) {
  const std::size_t blocks = cols / info(type).block_elements;
  const std::size_t block_bytes =
      is_quantized(type) ? packed_layout(type).block_bytes() : info(type).block_bytes * kRowsPerGroup;
  return (blocks * block_bytes + 63) / 64 * 64;
}

void pack_group(ElementType type, std::size_t rows, std::size_t cols, std::span<const std::byte> source,
                std::span<std::byte> group) {
  const auto from = reinterpret_cast<Bytes>(source.data());
  const auto to = reinterpret_cast<std::uint8_t*>(group.data());
  std::fill_n(to, packed_group_bytes(type, cols), std::uint8_t{0});
  switch (type) {
    case ElementType::f32: return pack_floats<std::uint32_t>(rows, cols, from, to);
    case ElementType::f16:
    case ElementType::bf16: return pack_floats<std::uint16_t>(rows, cols, from, to);
    default: return pack_quantized(type, rows, cols, from, to);
  }
}

RowBlock read_row_block(ElementType type, const std::byte* group, std::size_t sub_block, std::size_t row) {
  const PackedLayout layout = packed_layout(type);
  const std::size_t j = sub_block % layout.sub_blocks;
  const auto block = reinterpret_cast<Bytes>(group) + sub_block / layout.sub_blocks * layout.block_bytes();
  RowBlock out;
  const Quads quads = read_quads(layout, block + layout.header_bytes + j * layout.sub_block_bytes(), row);
  for (std::size_t k = 0; k < kSubBlockCols; ++k) {
    out.values[k] = static_cast<int>(quads[k / 4] >> k % 4 * 8 & 0xff) - layout.offset;
  }
  const float scale = half_at(block + 2 * row);
  out.scale[0] = out.scale[1] = scale;
  out.minimum = layout.has_minimum ? half_at(block + kMinimumOffset + 2 * row) : 0.0f;
  if (type == ElementType::q4_k || type == ElementType::q5_k) {
    const int low = block[kScaleLowOffset + 16 * j + row],
              high = block[kScaleHighOffset + 16 * (j % 4) + row] >> j / 4 * 4;
    out.scale[0] = out.scale[1] = scale * static_cast<float>((low & 15) | (high & 3) << 4);
    out.minimum = -(out.minimum * static_cast<float>(low >> 4 | (high >> 2 & 3) << 4));
  }
  if (type == ElementType::q6_k) {
    for (std::size_t i = 0; i < 2; ++i) {
      out.scale[i] =
          scale * static_cast<float>(static_cast<std::int8_t>(block[kScales6Offset + 16 * (2 * j + i) + row]));
    }
  }
  return out;
}

void unpack_row(const PackedMatrix& matrix, std::size_t row, std::span<float> out) {
  const std::byte* group = matrix.data + row / kRowsPerGroup * matrix.group_bytes;
  row %= kRowsPerGroup;
  const auto bytes = reinterpret_cast<Bytes>(group);
  const auto half = [&](std::size_t k) {
    std::uint16_t bits;
    std::memcpy(&bits, bytes + 2 * (k * kRowsPerGroup + row), sizeof(bits));
    return bits;
  };
  for (std::size_t k = 0; k < matrix.cols && !is_quantized(matrix.type); ++k) {
    switch (matrix.type) {
      case ElementType::f16: out[k] = f16_to_f32(half(k)); break;
      case ElementType::bf16: out[k] = bf16_to_f32(half(k)); break;
      default: std::memcpy(&out[k], bytes + 4 * (k * kRowsPerGroup + row), sizeof(float));
    }
  }
  if (!is_quantized(matrix.type)) return;
  const bool has_minimum = packed_layout(matrix.type).has_minimum;
  for (std::size_t block = 0; block < matrix.cols / kSubBlockCols; ++block) {
    const RowBlock own = read_row_block(matrix.type, group, block, row);
    for (std::size_t k = 0; k < kSubBlockCols; ++k) {
      const float product = own.scale[k / 16] * static_cast<float>(own.values[k]);
      out[block * kSubBlockCols + k] = has_minimum ? product + own.minimum : product;
    }
  }
}

}  // namespace rill
