// Random weights in the file's formats: any bits that a file may hold, with scales that are finite.
#pragma once

#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include "support/narrow.h"
#include "tensor/element_type.h"
#include "tensor/packed_matrix.h"

namespace rill::test {

inline constexpr ElementType kAllElementTypes[] = {
    ElementType::f32,  ElementType::f16,  ElementType::bf16, ElementType::q8_0, ElementType::q4_0, ElementType::q4_1,
    ElementType::q5_0, ElementType::q5_1, ElementType::q4_k, ElementType::q5_k, ElementType::q6_k};

// Scales are drawn from +-[0, max_scale), and some are zero or subnormal halves.
inline std::vector<std::byte> random_weights(ElementType type, std::size_t rows, std::size_t cols, std::mt19937& random,
                                             float max_scale = 0.1f) {
  std::vector<std::byte> bytes(rows * row_bytes(type, cols));
  std::uniform_real_distribution<float> scale(-max_scale, max_scale);
  const auto put_half = [&](std::size_t offset) {
    const auto kind = random() % 16;
    const std::uint16_t half = kind == 0   ? std::uint16_t{0}
                               : kind == 1 ? static_cast<std::uint16_t>(random() % 1024)
                                           : f32_to_f16(scale(random));
    std::memcpy(&bytes[offset], &half, sizeof(half));
  };
  if (!is_quantized(type)) {
    for (std::size_t i = 0; i < rows * cols; ++i) {
      const float value = scale(random);
      const std::uint16_t half = type == ElementType::f16 ? f32_to_f16(value) : f32_to_bf16(value);
      if (type == ElementType::f32) {
        std::memcpy(&bytes[4 * i], &value, sizeof(value));
      } else {
        std::memcpy(&bytes[2 * i], &half, sizeof(half));
      }
    }
    return bytes;
  }
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  const std::size_t block = info(type).block_bytes;
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    if (type == ElementType::q6_k) {
      put_half(at + 208);
      continue;
    }
    put_half(at);
    const bool has_minimum = type != ElementType::q8_0 && type != ElementType::q4_0 && type != ElementType::q5_0;
    if (has_minimum) put_half(at + 2);
  }
  return bytes;
}

// Owns a packed matrix; `packed` views it.
struct PackedWeights {
  PackedMatrix packed;
  std::vector<std::byte> storage;
};

inline PackedWeights pack(ElementType type, std::size_t rows, std::size_t cols, const std::vector<std::byte>& source) {
  PackedWeights out;
  out.packed = {type, rows, cols, packed_group_bytes(type, cols), nullptr};
  out.storage.resize(out.packed.groups() * out.packed.group_bytes + 63);
  auto* data = out.storage.data() + (64 - reinterpret_cast<std::uintptr_t>(out.storage.data()) % 64) % 64;
  out.packed.data = data;
  for (std::size_t g = 0; g < out.packed.groups(); ++g) {
    const std::size_t first = g * kRowsPerGroup, count = std::min(kRowsPerGroup, rows - first);
    pack_group(type, count, cols, std::span(source).subspan(first * row_bytes(type, cols), count * row_bytes(type, cols)),
               {data + g * out.packed.group_bytes, out.packed.group_bytes});
  }
  return out;
}

}  // namespace rill::test
