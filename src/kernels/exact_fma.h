// Fused multiply-add in plain C++, for machines and targets without the instruction.
#pragma once

#include <bit>
#include <cstdint>

namespace rill::kernels {

// a * b + c rounded once. The product is exact in double; the sum is rounded to odd there, which keeps what the final
// rounding to float needs to know (Boldo and Melquiond 2008).
inline float exact_fma(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = static_cast<double>(c);
  double sum = product + addend;
  const double other = sum - product;
  const double error = (product - (sum - other)) + (addend - other);  // Knuth's two-sum
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if ((error > 0 || error < 0) && (bits & 1) == 0) {
    sum = std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
  }
  return static_cast<float>(sum);
}

}  // namespace rill::kernels
