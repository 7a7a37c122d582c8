// exp and tanh on sixteen lanes: polynomials of exact steps, the same bits on every target of a class.
#pragma once

#include "kernels/ops-inl.h"

RILL_BEFORE_NAMESPACE;
namespace rill::kernels::RILL_NAMESPACE {

// e^x within 1 ulp where the result is a normal float; 0 below 2^-126, infinity above the largest float, NaN for NaN,
// and exactly 1 for 0. x = n ln2 + r with |r| <= ln2 / 2; the polynomial is the Taylor series refitted for that range.
RILL_INLINE F32x16 exp(F32x16 x) {
  const F32x16 shifted = mul_add(x, set(1.44269504f), set(kRoundMagic));
  const F32x16 n = sub(shifted, set(kRoundMagic));
  // ln2 in two parts, the first of 9 bits: n times it is exact even without a fused multiply-add.
  F32x16 r = mul_add(n, set(-0.693359375f), x);
  r = mul_add(n, set(2.12194440e-4f), r);
  F32x16 p = set(1.9875691500e-4f);
  p = mul_add(p, r, set(1.3981999507e-3f));
  p = mul_add(p, r, set(8.3334519073e-3f));
  p = mul_add(p, r, set(4.1665795894e-2f));
  p = mul_add(p, r, set(1.6666665459e-1f));
  p = mul_add(p, r, set(5.0000001201e-1f));
  p = add(mul_add(p, mul(r, r), r), set(1.0f));
  // n stands in the low bits of `shifted`; adding it to the exponent scales by 2^n.
  F32x16 result = from_bits(add(float_bits(p), shift_left<23>(float_bits(shifted))));
  result = select(less(x, set(-87.336540f)), set(0.0f), result);
  const F32x16 infinity = set(std::numeric_limits<float>::infinity());
  return select(less_equal(x, set(88.7228317f)), result, add(x, infinity));  // NaN takes this branch too
}

// tanh within 2 ulp. Small arguments have their own polynomial, as 1 - 2 / (e^2x + 1) cancels there.
RILL_INLINE F32x16 tanh(F32x16 x) {
  const F32x16 z = mul(x, x);
  F32x16 p = set(-5.70498872745e-3f);
  p = mul_add(p, z, set(2.06390887954e-2f));
  p = mul_add(p, z, set(-5.37397155531e-2f));
  p = mul_add(p, z, set(1.33314422036e-1f));
  p = mul_add(p, z, set(-3.33332819422e-1f));
  const F32x16 small = mul_add(mul(p, z), x, x);
  const F32x16 one = set(1.0f);
  const F32x16 magnitude = abs(x);
  const F32x16 large = sub(one, div(set(2.0f), add(exp(add(magnitude, magnitude)), one)));
  const I32x16 sign = bit_and(float_bits(x), set(INT32_MIN));
  const F32x16 signed_large = from_bits(bit_or(float_bits(large), sign));
  return select(less(magnitude, set(0.625f)), small, signed_large);
}

}  // namespace rill::kernels::RILL_NAMESPACE
RILL_AFTER_NAMESPACE;
