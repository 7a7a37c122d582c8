#include "tensor/dequantize.h"

#include <cstdint>
#include <cstring>

#include "tensor/half.h"

namespace rill {
namespace {

std::uint16_t load_u16(const std::uint8_t* bytes) { return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8); }
float load_f16(const std::uint8_t* bytes) { return f16_to_f32(load_u16(bytes)); }

// Blocks of 32: scale, [minimum], [fifth bits: bit i belongs to element i], then 16 bytes of which byte i holds element
// i in its low half and element i + 16 in its high half.
template <int kBits, bool kHasMinimum>
void decode_legacy(const std::uint8_t* block, float* out) {
  const float scale = load_f16(block);
  block += 2;
  float minimum = 0;
  if constexpr (kHasMinimum) {
    minimum = load_f16(block);
    block += 2;
  }
  std::uint32_t fifth = 0;
  if constexpr (kBits == 5) {
    fifth = load_u16(block) | static_cast<std::uint32_t>(load_u16(block + 2)) << 16;
    block += 4;
  }
  for (int i = 0; i < 32; ++i) {
    int value = i < 16 ? block[i] & 0x0f : block[i - 16] >> 4;
    value |= static_cast<int>(fifth >> i & 1) << 4;
    if constexpr (kHasMinimum) {
      out[i] = scale * static_cast<float>(value) + minimum;
    } else {
      out[i] = scale * static_cast<float>(value - (1 << (kBits - 1)));
    }
  }
}

void decode_q8_0(const std::uint8_t* block, float* out) {
  const float scale = load_f16(block);
  for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(static_cast<std::int8_t>(block[2 + i])) * scale;
}

struct ScaleMin {
  float scale, minimum;
};

// Q4_K and Q5_K pack eight 6-bit scales and eight 6-bit minima into 12 bytes: bytes 0-3 and 4-7 hold the first four of
// each, and in their top two bits the top bits of the last four, whose low halves share bytes 8-11.
ScaleMin unpack_scale_min(const std::uint8_t* packed, int group) {
  if (group < 4) return {static_cast<float>(packed[group] & 0x3f), static_cast<float>(packed[group + 4] & 0x3f)};
  const int low = packed[group + 4];
  return {static_cast<float>((low & 0x0f) | (packed[group - 4] >> 6) << 4),
          static_cast<float>(low >> 4 | (packed[group] >> 6) << 4)};
}

// Eight groups of 32; groups 2j and 2j + 1 are the low and high halves of the same 32 bytes. The fifth bit of element i
// of group g is bit g of byte i of `high`.
template <int kBits>
void decode_q45_k(const std::uint8_t* block, float* out) {
  const float scale = load_f16(block), minimum = load_f16(block + 2);
  const std::uint8_t* packed = block + 4;
  const std::uint8_t* high = packed + 12;
  const std::uint8_t* low = kBits == 5 ? high + 32 : high;
  for (int group = 0; group < 8; ++group) {
    const ScaleMin own = unpack_scale_min(packed, group);
    const float group_scale = scale * own.scale, group_minimum = minimum * own.minimum;
    for (int i = 0; i < 32; ++i) {
      const int byte = low[group / 2 * 32 + i];
      int value = group % 2 == 0 ? byte & 0x0f : byte >> 4;
      if constexpr (kBits == 5) value |= (high[i] >> group & 1) << 4;
      *out++ = group_scale * static_cast<float>(value) - group_minimum;
    }
  }
}

// Two halves of 128 elements, each 64 bytes of low halves and 32 bytes of upper bit pairs; a signed scale for every 16.
void decode_q6_k(const std::uint8_t* block, float* out) {
  const std::uint8_t* low = block;
  const std::uint8_t* high = block + 128;
  const std::uint8_t* scales = block + 192;
  const float scale = load_f16(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, quarter = i % 128 / 32;
    const int byte = low[half * 64 + i % 64];
    const int value = (quarter < 2 ? byte & 0x0f : byte >> 4) | (high[half * 32 + i % 32] >> (2 * quarter) & 3) << 4;
    const float group_scale = scale * static_cast<float>(static_cast<std::int8_t>(scales[i / 16]));
    out[i] = group_scale * static_cast<float>(value - 32);
  }
}

void decode_f16(const std::uint8_t* block, float* out) { *out = load_f16(block); }
void decode_bf16(const std::uint8_t* block, float* out) { *out = bf16_to_f32(load_u16(block)); }

template <void (*kDecode)(const std::uint8_t*, float*)>
void decode_blocks(const ElementTypeInfo& layout, const std::uint8_t* source, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; i += layout.block_elements, source += layout.block_bytes) kDecode(source, out + i);
}

}  // namespace

void dequantize(ElementType type, const std::byte* source, float* out, std::size_t count) {
  const ElementTypeInfo& layout = info(type);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(source);
  switch (type) {
    case ElementType::f32: std::memcpy(out, source, count * sizeof(float)); return;
    case ElementType::f16: return decode_blocks<decode_f16>(layout, bytes, out, count);
    case ElementType::bf16: return decode_blocks<decode_bf16>(layout, bytes, out, count);
    case ElementType::q8_0: return decode_blocks<decode_q8_0>(layout, bytes, out, count);
    case ElementType::q4_0: return decode_blocks<decode_legacy<4, false>>(layout, bytes, out, count);
    case ElementType::q4_1: return decode_blocks<decode_legacy<4, true>>(layout, bytes, out, count);
    case ElementType::q5_0: return decode_blocks<decode_legacy<5, false>>(layout, bytes, out, count);
    case ElementType::q5_1: return decode_blocks<decode_legacy<5, true>>(layout, bytes, out, count);
    case ElementType::q4_k: return decode_blocks<decode_q45_k<4>>(layout, bytes, out, count);
    case ElementType::q5_k: return decode_blocks<decode_q45_k<5>>(layout, bytes, out, count);
    case ElementType::q6_k: return decode_blocks<decode_q6_k>(layout, bytes, out, count);
  }
}

}  // namespace rill
