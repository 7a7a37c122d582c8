// Elementary functions whose bits are the same with every compiler, processor and C library (libm promises none of it):
// only IEEE add, subtract, multiply, divide and bit operations, nothing fused (the build sets -ffp-contract=off).
#pragma once

#include <bit>
#include <cstdint>

namespace rill::math {

// e^x for x <= 0, within 2 ulp; below -87 it stays at e^-87, so that no subnormal occurs. Inline and without branches,
// so that a loop over it is vectorised.
inline float exp_nonpositive(float x) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;  // 10 bits: times an integer below 2^14 it is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, which the low bits then hold
  constexpr std::int32_t kDeepest = std::bit_cast<std::int32_t>(87.0f);
  // Clamped as an integer: a comparison of floats may trap, which keeps GCC from vectorising it.
  const std::int32_t magnitude = std::bit_cast<std::int32_t>(x) & 0x7fffffff;
  x = -std::bit_cast<float>(magnitude < kDeepest ? magnitude : kDeepest);
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  // Minimax fit of (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2, relative error of e^r 3e-9.
  float q = 1.3814467e-3f;
  q = q * r + 8.3687808e-3f;
  q = q * r + 4.1668393e-2f;
  q = q * r + 1.6666520e-1f;
  q = q * r + 4.9999994e-1f;
  const float y = (q * (r * r) + r) + 1.0f;
  const auto exponent = (std::bit_cast<std::uint32_t>(shifted) + 127u) << 23;  // the bits of 2^n
  return y * std::bit_cast<float>(exponent);
}

double log(double x);  // within 1 ulp; -infinity for 0, NaN below
// x^y for x > 0, within 2 ulp for normal results; 0 below those, infinity above the largest double.
double pow(double x, double y);
struct SineCosine {
  double sine, cosine;
};
// Within 3e-16 of the true values for |x| <= 2^32; NaN beyond, where no position of a model leads.
SineCosine sine_cosine(double x);

}  // namespace rill::math
