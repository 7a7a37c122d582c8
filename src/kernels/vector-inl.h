// The entries of the kernel table that work on vectors of floats, element by element or row by row.
#pragma once

#include "kernels/exp-inl.h"
#include "kernels/ops-inl.h"

RILL_BEFORE_NAMESPACE;
namespace rill::kernels::RILL_NAMESPACE {

// Elements behind the last full sixteen go through a zero-padded buffer: the same operations as the others.
RILL_INLINE F32x16 load_part(const float* p, std::size_t n) { return n >= kLanes ? load(p) : load_first(p, n); }
RILL_INLINE void store_part(F32x16 a, float* p, std::size_t n) { n >= kLanes ? store(a, p) : store_first(a, p, n); }

static void rms_norm(const float* x, const float* weight, float eps, std::size_t n, float* out) {
  F32x16 squares = set(0.0f);
  for (std::size_t i = 0; i < n; i += kLanes) {
    const F32x16 value = load_part(x + i, n - i);
    squares = mul_add(value, value, squares);
  }
  const float mean = sum_lanes(squares) / static_cast<float>(n);
  const F32x16 inverse = set(1.0f / std::sqrt(mean + eps));
  for (std::size_t i = 0; i < n; i += kLanes) {
    store_part(mul(mul(load_part(x + i, n - i), inverse), load_part(weight + i, n - i)), out + i, n - i);
  }
}

RILL_INLINE void rotate(F32x16& a, F32x16& b, F32x16 cosine, F32x16 sine) {
  const F32x16 rotated = mul_add(a, cosine, negate(mul(b, sine)));
  b = mul_add(a, sine, mul(b, cosine));
  a = rotated;
}

static void rotate_halves(float* x, const float* cosine, const float* sine, std::size_t pairs) {
  for (std::size_t i = 0; i < pairs; i += kLanes) {
    const std::size_t n = pairs - i;
    F32x16 a = load_part(x + i, n), b = load_part(x + pairs + i, n);
    rotate(a, b, load_part(cosine + i, n), load_part(sine + i, n));
    store_part(a, x + i, n);
    store_part(b, x + pairs + i, n);
  }
}

static void rotate_neighbours(float* x, const float* cosine, const float* sine, std::size_t pairs) {
  F32x16 a, b;
  std::size_t i = 0;
  for (; i + kLanes <= pairs; i += kLanes) {
    load_pairs(x + 2 * i, a, b);
    rotate(a, b, load(cosine + i), load(sine + i));
    store_pairs(a, b, x + 2 * i);
  }
  if (i == pairs) return;
  alignas(64) float buffer[2 * kLanes] = {};
  const std::size_t n = pairs - i;
  std::memcpy(buffer, x + 2 * i, 2 * n * sizeof(float));
  load_pairs(buffer, a, b);
  rotate(a, b, load_first(cosine + i, n), load_first(sine + i, n));
  store_pairs(a, b, buffer);
  std::memcpy(x + 2 * i, buffer, 2 * n * sizeof(float));
}

static void rope(float* x, std::size_t heads, std::size_t head_dim, const float* cosine, const float* sine,
                 std::size_t pairs, bool neighbours) {
  for (std::size_t head = 0; head < heads; ++head) {
    (neighbours ? rotate_neighbours : rotate_halves)(x + head * head_dim, cosine, sine, pairs);
  }
}

static void silu_mul(const float* gate, const float* up, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    const F32x16 x = load_part(gate + i, n - i);
    const F32x16 silu = div(x, add(exp(negate(x)), set(1.0f)));
    store_part(mul(silu, load_part(up + i, n - i)), out + i, n - i);
  }
}

// 0.5 x (1 + tanh u) = x / (1 + e^-2u) with u = sqrt(2 / pi) (x + 0.044715 x^3): the second form neither cancels for
// negative x nor turns into NaN where x^3 overflows.
static void gelu_mul(const float* gate, const float* up, std::size_t n, float* out) {
  constexpr float kMinusTwoRoot = -1.59576912f;  // -2 sqrt(2 / pi)
  for (std::size_t i = 0; i < n; i += kLanes) {
    const F32x16 x = load_part(gate + i, n - i);
    const F32x16 cubic = mul_add(mul(x, x), set(0.044715f), set(1.0f));
    const F32x16 power = mul(mul(x, set(kMinusTwoRoot)), cubic);
    const F32x16 gelu = div(x, add(exp(power), set(1.0f)));
    store_part(mul(gelu, load_part(up + i, n - i)), out + i, n - i);
  }
}

static void add(const float* x, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    store_part(add(load_part(y + i, n - i), load_part(x + i, n - i)), y + i, n - i);
  }
}

static void scale(float factor, std::size_t n, float* x) {
  for (std::size_t i = 0; i < n; i += kLanes) store_part(mul(load_part(x + i, n - i), set(factor)), x + i, n - i);
}

static bool all_finite(const float* x, std::size_t n) {
  // 0 * x is NaN exactly where x is not finite, and NaN survives every addition.
  F32x16 sum = set(0.0f);
  for (std::size_t i = 0; i < n; i += kLanes) sum = mul_add(load_part(x + i, n - i), set(0.0f), sum);
  return sum_lanes(sum) == 0.0f;
}

}  // namespace rill::kernels::RILL_NAMESPACE
RILL_AFTER_NAMESPACE;
