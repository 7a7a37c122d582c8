// Activations into the blocks of tensor/activations.h.
#pragma once

#include "kernels/dot-inl.h"
#include "kernels/matmul.h"
#include "tensor/activations.h"

RILL_BEFORE_MATMUL;
namespace rill::kernels::RILL_NAMESPACE {
namespace {

// The integers of 16 floats, and their sum; `begin` is where they stand in the block.
RILL_INLINE void store_integers(I32x16 q, std::size_t begin, ActivationBlockQ8& out) {
  store_i8(q, out.values + begin);
}
RILL_INLINE void store_integers(I32x16 q, std::size_t begin, ActivationBlockQ16& out) {
  // Made positive, so that a logical shift divides: 128 * 256 + 128.
  const I32x16 positive = add(q, set(32896));
  store_i8(sub(bit_and(positive, set(255)), set(128)), out.low + begin);
  store_i8(sub(shift_right<8>(positive), set(128)), out.high + begin);
}

RILL_INLINE I32x16 quantize16(F32x16 x, F32x16 divisor, float limit) {
  return round_to_int(max(min(div(x, divisor), set(limit)), set(-limit)));
}

template <class Block>
bool quantize_row(const float* x, std::size_t cols, std::byte* dst) {
  constexpr float kLimit = std::is_same_v<Block, ActivationBlockQ8> ? 127.0f : 32512.0f;
  const auto blocks = reinterpret_cast<Block*>(dst);
  F32x16 check = set(0.0f);  // x - x is NaN where x is not finite
  for (std::size_t b = 0; b < cols / kActivationBlock; ++b, x += kActivationBlock) {
    const F32x16 first = load(x), second = load(x + 16);
    check = add(check, add(sub(first, first), sub(second, second)));
    const float scale = greatest_lane(max(abs(first), abs(second))) / kLimit;
    const F32x16 divisor = set(scale > 0 ? scale : 1.0f);  // the smallest subnormals have scale 0, as zeros do
    const I32x16 first_q = quantize16(first, divisor, kLimit), second_q = quantize16(second, divisor, kLimit);
    store_integers(first_q, 0, blocks[b]);
    store_integers(second_q, 16, blocks[b]);
    const std::int32_t half_sum = sum_integers(first_q), sum = sum_integers(add(first_q, second_q));
    blocks[b].scale = {scale, scale * static_cast<float>(sum), -sum, -half_sum};
  }
  return sum_lanes(check) == 0;
}

bool copy_row(const float* x, std::size_t cols, std::byte* dst) {
  F32x16 check = set(0.0f);
  std::size_t k = 0;
  for (; k + 16 <= cols; k += 16) check = add(check, sub(load(x + k), load(x + k)));
  const F32x16 rest = load_first(x + k, cols - k);
  check = add(check, sub(rest, rest));
  std::memcpy(dst, x, cols * sizeof(float));
  return sum_lanes(check) == 0;
}

constexpr auto prepare_activations =
    prepare_rows<copy_row, quantize_row<ActivationBlockQ8>, quantize_row<ActivationBlockQ16>>;

}  // namespace
}  // namespace rill::kernels::RILL_NAMESPACE
RILL_AFTER_MATMUL;
