#include "support/model_weights.h"

#include <algorithm>
#include <cstring>

#include "support/narrow.h"

namespace rill::test {
namespace {

void put_half(std::byte* at, std::uint16_t half) { std::memcpy(at, &half, sizeof(half)); }

// A format's integers are uniform: `step` is the standard deviation of one of them, `middle` their mean.
struct Integers {
  double step;
  double middle;
};
constexpr Integers kSigned8 = {73.9, -0.5}, kFourBits = {4.61, 7.5}, kFiveBits = {9.23, 15.5}, kSixBits = {18.5, 31.5};

// Sets the packed 6-bit scale and minimum of a group of a Q4_K or Q5_K block.
void put_scale_min(std::byte* packed, int group, unsigned scale, unsigned minimum) {
  auto* bytes = reinterpret_cast<std::uint8_t*>(packed);
  if (group < 4) {
    bytes[group] = static_cast<std::uint8_t>((bytes[group] & 0xc0) | scale);
    bytes[group + 4] = static_cast<std::uint8_t>((bytes[group + 4] & 0xc0) | minimum);
  } else {
    bytes[group + 4] = static_cast<std::uint8_t>((scale & 0x0f) | minimum << 4);
    bytes[group - 4] = static_cast<std::uint8_t>((bytes[group - 4] & 0x3f) | (scale >> 4) << 6);
    bytes[group] = static_cast<std::uint8_t>((bytes[group] & 0x3f) | (minimum >> 4) << 6);
  }
}

// `block` holds random bytes already; only the scales need sense.
void scale_k_block(std::byte* block, const Integers& integers, double scale, Random& random) {
  constexpr double kMeanGroupScale = 40;
  put_half(block, f32_to_f16(static_cast<float>(scale / kMeanGroupScale)));
  put_half(block + 2, f32_to_f16(static_cast<float>(scale / kMeanGroupScale * integers.middle)));
  for (int group = 0; group < 8; ++group) {
    const unsigned own = 17 + random.below(47);
    put_scale_min(block + 4, group, own, std::min(63u, own - 1 + random.below(3)));
  }
}

void scale_block(ElementType type, std::byte* block, double deviation, Random& random) {
  const auto put_scale = [&](const Integers& integers, bool has_minimum) {
    const double scale = deviation / integers.step * random.uniform(0.7, 1.3);
    put_half(block, f32_to_f16(static_cast<float>(scale)));
    if (has_minimum) put_half(block + 2, f32_to_f16(static_cast<float>(-scale * integers.middle)));
  };
  switch (type) {
    case ElementType::f32: {
      const auto value = static_cast<float>(random.uniform(-1.732, 1.732) * deviation);
      std::memcpy(block, &value, sizeof(value));
      return;
    }
    case ElementType::f16:
      return put_half(block, f32_to_f16(static_cast<float>(random.uniform(-1.732, 1.732) * deviation)));
    case ElementType::bf16:
      return put_half(block, f32_to_bf16(static_cast<float>(random.uniform(-1.732, 1.732) * deviation)));
    case ElementType::q8_0: return put_scale(kSigned8, false);
    case ElementType::q4_0: return put_scale(kFourBits, false);
    case ElementType::q4_1: return put_scale(kFourBits, true);
    case ElementType::q5_0: return put_scale(kFiveBits, false);
    case ElementType::q5_1: return put_scale(kFiveBits, true);
    case ElementType::q4_k:
      return scale_k_block(block, kFourBits, deviation / kFourBits.step * random.uniform(0.7, 1.3), random);
    case ElementType::q5_k:
      return scale_k_block(block, kFiveBits, deviation / kFiveBits.step * random.uniform(0.7, 1.3), random);
    case ElementType::q6_k: {
      // The sixteen group scales stay as random as the rest, and signed.
      put_half(block + 208,
               f32_to_f16(static_cast<float>(deviation / kSixBits.step / kSigned8.step * random.uniform(0.7, 1.3))));
      return;
    }
  }
}

}  // namespace

std::vector<std::byte> model_weights(ElementType type, std::size_t count, double deviation, Random& random) {
  std::vector<std::byte> bytes(row_bytes(type, count));
  for (std::byte& byte : bytes) byte = random.byte();
  for (std::size_t at = 0; at < bytes.size(); at += info(type).block_bytes) {
    scale_block(type, bytes.data() + at, deviation, random);
  }
  return bytes;
}

}  // namespace rill::test
