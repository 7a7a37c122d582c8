// Matrix products over packed weights. The order of operations stands in matmul.h, the layout in
// tensor/packed_layout.h.
//
// A tile is one group of 16 rows against kTokens tokens: a sub-block's weights are decoded into registers once and used
// for every token. Decode (one token) waits for memory, which is read strictly in order, as the processor's own
// prefetching likes best (prefetching by hand costs a quarter). More tokens wait for the integer units, where decoding
// is shared by the tile, and the processor forgets the stream while it computes: the last tile of a group fetches the
// next group.
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>

#include "kernels/matmul.h"
#include "kernels/quantize-inl.h"
#include "tensor/packed_layout.h"

RILL_BEFORE_MATMUL;
namespace rill::kernels::RILL_NAMESPACE {
namespace {

template <ElementType kType>
inline constexpr bool kIsFloat = kType <= ElementType::bf16;

// Scales of a block of 16 rows.
template <ElementType kType>
struct Header {
  F32x16 scale, minimum;
};

template <ElementType kType>
RILL_INLINE Header<kType> load_header(const std::byte* block) {
  const auto halves = reinterpret_cast<const std::uint16_t*>(block);
  const F32x16 scale = load_f16(halves);
  return {scale, packed_layout(kType).has_minimum ? load_f16(halves + kRowsPerGroup) : scale};
}

// A sub-block in registers.
template <ElementType kType>
struct Weights {
  I32x16 values[8];
  F32x16 scale, second_scale, minimum;  // second_scale: of columns 16 to 31, Q6_K only
};

template <ElementType kType>
RILL_INLINE void load_scales(const Header<kType>& header, const std::byte* block, std::size_t j, Weights<kType>& out) {
  out.scale = header.scale;
  out.minimum = header.minimum;
  if constexpr (kType == ElementType::q4_k || kType == ElementType::q5_k) {
    const I32x16 low = load_u8(reinterpret_cast<const std::uint8_t*>(block + kScaleLowOffset + 16 * j));
    I32x16 high = load_u8(reinterpret_cast<const std::uint8_t*>(block + kScaleHighOffset + 16 * (j % 4)));
    if (j >= 4) high = shift_right<4>(high);
    const I32x16 scale = bit_or(bit_and(low, set(15)), shift_left<4>(bit_and(high, set(3))));
    const I32x16 minimum = bit_or(shift_right<4>(low), shift_left<2>(bit_and(high, set(12))));
    out.scale = mul(header.scale, to_float(scale));
    out.minimum = negate(mul(header.minimum, to_float(minimum)));
  }
  if constexpr (kType == ElementType::q6_k) {
    const auto scales = reinterpret_cast<const std::int8_t*>(block + kScales6Offset + 32 * j);
    out.scale = mul(header.scale, to_float(load_i8(scales)));
    out.second_scale = mul(header.scale, to_float(load_i8(scales + 16)));
  }
}

// Bits kBits from kFrom up of each byte, moved to bit 4 and up.
template <int kFrom>
RILL_INLINE I32x16 upper_bits(I32x16 line, std::int32_t mask) {
  if constexpr (kFrom < 4) {
    return bit_and(shift_left<4 - kFrom>(line), set(mask));
  } else {
    return bit_and(shift_right<kFrom - 4>(line), set(mask));
  }
}

template <ElementType kType>
RILL_INLINE void load_values(const std::byte* lines, I32x16 (&out)[8]) {
  constexpr PackedLayout kLayout = packed_layout(kType);
  if constexpr (kLayout.bits == 8) {
    RILL_UNROLL
    for (std::size_t g = 0; g < 8; ++g) out[g] = load_line(lines + g * kLineBytes);
    return;
  }
  RILL_UNROLL
  for (std::size_t g = 0; g < 4; ++g) {
    const I32x16 line = load_line(lines + (kLayout.upper_lines() + g) * kLineBytes);
    out[g] = bit_and(line, set(0x0f0f0f0f));
    out[g + 4] = bit_and(shift_right<4>(line), set(0x0f0f0f0f));
  }
  if constexpr (kLayout.bits == 5) {
    const I32x16 upper = load_line(lines);
    out[0] = bit_or(out[0], upper_bits<0>(upper, 0x10101010));
    out[1] = bit_or(out[1], upper_bits<1>(upper, 0x10101010));
    out[2] = bit_or(out[2], upper_bits<2>(upper, 0x10101010));
    out[3] = bit_or(out[3], upper_bits<3>(upper, 0x10101010));
    out[4] = bit_or(out[4], upper_bits<4>(upper, 0x10101010));
    out[5] = bit_or(out[5], upper_bits<5>(upper, 0x10101010));
    out[6] = bit_or(out[6], upper_bits<6>(upper, 0x10101010));
    out[7] = bit_or(out[7], upper_bits<7>(upper, 0x10101010));
  }
  if constexpr (kLayout.bits == 6) {
    RILL_UNROLL
    for (std::size_t half = 0; half < 2; ++half) {
      const I32x16 upper = load_line(lines + half * kLineBytes);
      I32x16* own = out + 4 * half;
      own[0] = bit_or(own[0], upper_bits<0>(upper, 0x30303030));
      own[1] = bit_or(own[1], upper_bits<2>(upper, 0x30303030));
      own[2] = bit_or(own[2], upper_bits<4>(upper, 0x30303030));
      own[3] = bit_or(own[3], upper_bits<6>(upper, 0x30303030));
    }
  }
}

// Where a dot product begins so that the weights' offset is gone at its end; `negative_sum` is minus its activations'
// sum.
template <ElementType kType>
RILL_INLINE I32x16 begin_at(I32x16 negative_sum) {
  constexpr int kOffset = packed_layout(kType).offset;
  if constexpr (kOffset == 0 || (kOffset == 128 && kSignedBytes)) {
    return set(0);
  } else {
    return shift_left<std::countr_zero(static_cast<unsigned>(kOffset))>(negative_sum);
  }
}

// Dot products of column groups [kBegin, kEnd).
template <ElementType kType, int kBegin, int kEnd>
RILL_INLINE I32x16 dot_block(const Weights<kType>& w, const ActivationBlockQ8& x, I32x16 negative_sum) {
  return dot_groups<packed_layout(kType).bits, kBegin, kEnd>(w.values, x.values, begin_at<kType>(negative_sum));
}
template <ElementType kType, int kBegin, int kEnd>
RILL_INLINE I32x16 dot_block(const Weights<kType>& w, const ActivationBlockQ16& x, I32x16 negative_sum) {
  constexpr int kBits = packed_layout(kType).bits;
  const I32x16 high = dot_groups<kBits, kBegin, kEnd>(w.values, x.high, set(0));
  return add(shift_left<8>(high), dot_groups<kBits, kBegin, kEnd>(w.values, x.low, begin_at<kType>(negative_sum)));
}

template <ElementType kType, class Block>
RILL_INLINE F32x16 add_block(const Weights<kType>& w, const Block& x, F32x16 acc) {
  const F32x16 d = set(x.scale.scale);
  if constexpr (kType == ElementType::q6_k) {
    const I32x16 first = set(x.scale.negative_half_sum), rest = sub(set(x.scale.negative_sum), first);
    acc = mul_add(to_float(dot_block<kType, 0, 4>(w, x, first)), mul(w.scale, d), acc);
    return mul_add(to_float(dot_block<kType, 4, 8>(w, x, rest)), mul(w.second_scale, d), acc);
  } else {
    acc = mul_add(to_float(dot_block<kType, 0, 8>(w, x, set(x.scale.negative_sum))), mul(w.scale, d), acc);
    if constexpr (packed_layout(kType).has_minimum) acc = mul_add(w.minimum, set(x.scale.scaled_sum), acc);
    return acc;
  }
}

// One block of each of kTokens tokens, x_bytes apart.
template <ElementType kType, class Block, int kTokens, int kFirst = 0>
RILL_INLINE void add_blocks(const Weights<kType>& w, const std::byte* x, std::size_t x_bytes, F32x16* acc) {
  if constexpr (kFirst < kTokens) {
    acc[kFirst] = add_block<kType>(w, *reinterpret_cast<const Block*>(x), acc[kFirst]);
    add_blocks<kType, Block, kTokens, kFirst + 1>(w, x + x_bytes, x_bytes, acc);
  }
}

template <int kCount, int kFirst = 0>
RILL_INLINE void clear(F32x16* acc) {
  if constexpr (kFirst < kCount) {
    acc[kFirst] = set(0.0f);
    clear<kCount, kFirst + 1>(acc);
  }
}

// Where a tile's results go; rows past the matrix are not written.
struct Output {
  float* y;  // of the group's first row and the tile's first token
  std::size_t stride, rows;
};
template <int kTokens, int kFirst = 0>
RILL_INLINE void store_tokens(const F32x16* acc, const Output& out) {
  if constexpr (kFirst < kTokens) {
    if (out.rows >= kRowsPerGroup) {
      store(acc[kFirst], out.y + kFirst * out.stride);
    } else {
      store_first(acc[kFirst], out.y + kFirst * out.stride, out.rows);
    }
    store_tokens<kTokens, kFirst + 1>(acc, out);
  }
}

// Bytes. With one token the processor sees the stream of weights by itself, but not from one page of memory into the next: a
// line of each sub-block shows it.
inline constexpr std::size_t kStreamAhead = 3072;

template <ElementType kType, class Block, int kTokens>
void multiply_tile(const PackedMatrix& w, const std::byte* group, const std::byte* ahead, const std::byte* x,
                   std::size_t x_bytes, const Output& out) {
  constexpr PackedLayout kLayout = packed_layout(kType);
  F32x16 acc[kTokens];
  clear<kTokens>(acc);
  const std::byte* const end = group + w.cols / (kSubBlockCols * kLayout.sub_blocks) * kLayout.block_bytes();
  for (const std::byte* block = group; block != end; block += kLayout.block_bytes()) {
    const Header<kType> header = load_header<kType>(block);
    const std::byte* lines = block + kLayout.header_bytes;
    for (std::size_t j = 0; j < kLayout.sub_blocks; ++j, lines += kLayout.sub_block_bytes(), x += sizeof(Block)) {
      Weights<kType> weights;
      load_scales<kType>(header, block, j, weights);
      load_values<kType>(lines, weights.values);
      if constexpr (kTokens > 1) {
        for (std::size_t i = 0; i < kLayout.sub_block_bytes(); i += kLineBytes) prefetch(lines + (ahead - group) + i);
      } else {
        prefetch_far(lines + kStreamAhead);
      }
      add_blocks<kType, Block, kTokens>(weights, x, x_bytes, acc);
    }
  }
  store_tokens<kTokens>(acc, out);
}

template <ElementType kType>
RILL_INLINE F32x16 load_floats(const std::byte* p) {
  if constexpr (kType == ElementType::f32) return load(reinterpret_cast<const float*>(p));
  if constexpr (kType == ElementType::f16) return load_f16(reinterpret_cast<const std::uint16_t*>(p));
  if constexpr (kType == ElementType::bf16) return load_bf16(reinterpret_cast<const std::uint16_t*>(p));
}

// kGroups neighbouring groups at once: with one token a single chain of additions would wait for itself.
template <ElementType kType, int kGroups, int kTokens>
void multiply_floats(const PackedMatrix& w, const std::byte* group, const std::byte* x, std::size_t x_bytes,
                     const Output& out) {
  constexpr std::size_t kStep = kRowsPerGroup * (kType == ElementType::f32 ? 4 : 2);
  F32x16 acc[kGroups * kTokens];
  clear<kGroups * kTokens>(acc);
  for (std::size_t k = 0; k < w.cols; ++k) {
    RILL_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      const std::byte* own = group + static_cast<std::size_t>(g) * w.group_bytes + k * kStep;
      const F32x16 weights = load_floats<kType>(own);
      RILL_UNROLL
      for (int t = 0; t < kTokens; ++t) {
        const float value = reinterpret_cast<const float*>(x + static_cast<std::size_t>(t) * x_bytes)[k];
        acc[g * kTokens + t] = mul_add(weights, set(value), acc[g * kTokens + t]);
      }
    }
  }
  RILL_UNROLL
  for (int g = 0; g < kGroups; ++g) {
    const std::size_t row = static_cast<std::size_t>(g) * kRowsPerGroup;
    store_tokens<kTokens>(acc + g * kTokens, {out.y + row, out.stride, out.rows - row});
  }
}

// Tokens in a tile: what the registers hold. Tiles are powers of two, so that few kernels serve every number of tokens.
template <class Block>
inline constexpr int kMaxTile = (RILL_TARGET == RILL_AVX512 ? 16 : 4) /
                                (std::is_same_v<Block, ActivationBlockQ16> ? 2 : 1);

// Tokens are cut so that their activations stay in the second-level cache while all groups pass.
inline constexpr std::size_t kActivationCacheBytes = 256 * 1024;

// Fewer tokens wait for memory, and nothing is fetched ahead.
inline constexpr std::size_t kFetchTokens = 4;
// More tokens leave their largest tile, which has the time to fetch the next group, for the end.
inline constexpr std::size_t kFewTokens = 5;
// Floats between tokens from which on results are logits, which no cache holds until they are written.
inline constexpr std::size_t kFarStride = 16384;

template <ElementType kType, class Block, int kTile>
RILL_INLINE std::size_t multiply_next(const PackedMatrix& w, const std::byte* group, const std::byte* ahead,
                                      const std::byte* x, std::size_t x_bytes, std::size_t tokens, const Output& out) {
  if constexpr (kTile > 1) {
    if (tokens < kTile || (tokens > kFewTokens && tokens % kTile != 0)) {
      return multiply_next<kType, Block, kTile / 2>(w, group, ahead, x, x_bytes, tokens, out);
    }
  }
  if constexpr (kIsFloat<kType>) {
    multiply_floats<kType, 1, kTile>(w, group, x, x_bytes, out);
  } else {
    if (kTile > 1 && out.stride >= kFarStride) {
      for (std::size_t t = 0; t < kTile; ++t) prefetch_to_write(out.y + t * out.stride);
    }
    multiply_tile<kType, Block, kTile>(w, group, tokens > kTile ? group : ahead, x, x_bytes, out);
  }
  return kTile;
}

template <ElementType kType, class Block>
void multiply(const PackedMatrix& w, const ActivationView& x, std::size_t group_begin, std::size_t group_end, float* y,
              std::size_t y_stride) {
  const std::size_t x_bytes = activation_row_bytes(x.format, x.cols);
  const std::size_t chunk = std::max<std::size_t>(kActivationCacheBytes / std::max<std::size_t>(x_bytes, 1) / 8, 1) * 8;
  for (std::size_t begin = 0; begin < x.rows; begin += chunk) {
    const std::size_t end = std::min(begin + chunk, x.rows);
    for (std::size_t g = group_begin; g < group_end;) {
      const std::byte* group = w.data + g * w.group_bytes;
      const std::size_t row = g * kRowsPerGroup;
      std::size_t groups = 1;
      for (std::size_t t = begin; t < end;) {
        const std::byte* own = x.data + t * x_bytes;
        const Output out = {y + t * y_stride + row, y_stride, w.rows - row};
        if constexpr (kIsFloat<kType>) {
          if (x.rows == 1 && group_end - g >= 4) {
            multiply_floats<kType, 4, 1>(w, group, own, x_bytes, out);
            groups = 4;
            break;
          }
        }
        const std::byte* ahead = g + 1 < group_end && x.rows >= kFetchTokens ? group + w.group_bytes : group;
        t += multiply_next<kType, Block, kMaxTile<Block>>(w, group, ahead, own, x_bytes, end - t, out);
      }
      g += groups;
    }
  }
}

template <ElementType kType>
void multiply_any(const PackedMatrix& w, const ActivationView& x, std::size_t group_begin, std::size_t group_end,
                  float* y, std::size_t y_stride) {
  if constexpr (kIsFloat<kType>) {
    multiply<kType, float>(w, x, group_begin, group_end, y, y_stride);
  } else if (x.format == ActivationFormat::q8) {
    multiply<kType, ActivationBlockQ8>(w, x, group_begin, group_end, y, y_stride);
  } else {
    multiply<kType, ActivationBlockQ16>(w, x, group_begin, group_end, y, y_stride);
  }
}

void matmul(const PackedMatrix& w, const ActivationView& x, std::size_t group_begin, std::size_t group_end, float* y,
            std::size_t y_stride) {
  constexpr decltype(MatmulKernels::matmul) kByType[kElementTypeCount] = {
      multiply_any<ElementType::f32>,  multiply_any<ElementType::f16>,  multiply_any<ElementType::bf16>,
      multiply_any<ElementType::q8_0>, multiply_any<ElementType::q4_0>, multiply_any<ElementType::q4_1>,
      multiply_any<ElementType::q5_0>, multiply_any<ElementType::q5_1>, multiply_any<ElementType::q4_k>,
      multiply_any<ElementType::q5_k>, multiply_any<ElementType::q6_k>};
  kByType[static_cast<std::size_t>(w.type)](w, x, group_begin, group_end, y, y_stride);
}

}  // namespace
}  // namespace rill::kernels::RILL_NAMESPACE
RILL_AFTER_MATMUL;
