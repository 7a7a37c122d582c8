#include "base/math.h"

namespace rill::math {

double log(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01;  // 32 bits: times an exponent it is exact
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr double kSqrtHalf = 0.70710678118654752440;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1022;
  double m = std::bit_cast<double>((bits & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1022} << 52));  // [0.5, 1)
  if (m < kSqrtHalf) {
    m *= 2;
    --exponent;
  }
  // log(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.172: the terms up to s^19 leave 1e-17.
  const double f = m - 1;
  const double s = f / (m + 1);
  const double z = s * s;
  double series = 0;
  for (int k = 19; k >= 3; k -= 2) series = (series + 1.0 / k) * z;
  // 2s = f - s f keeps the rounding error of the largest term out.
  return exponent * kLn2High + (f - s * (f - 2 * series) + exponent * kLn2Low);
}

}  // namespace rill::math
