#include "base/math.h"

#include <array>
#include <bit>
#include <cstddef>
#include <limits>

namespace rill::math {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kRoundMagic = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves the nearest integer in the low bits
// ln2 in two parts, the first with 32 bits, so that small integers times it are exact.
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;

// 1 / k! for k = 0, 1, ...
constexpr auto kInverseFactorial = [] {
  std::array<double, 19> a = {1.0};
  double factorial = 1.0;  // exact up to 18!
  for (std::size_t k = 1; k < a.size(); ++k) {
    factorial *= static_cast<double>(k);
    a[k] = 1.0 / factorial;
  }
  return a;
}();

double round_to_integer(double x) { return (x + kRoundMagic) - kRoundMagic; }

double scale_by_power_of_two(double x, int n) {  // n in [-1022, 1023]
  return x * std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

// A number as the unevaluated sum of two.
struct Twofold {
  double high, low;
};

Twofold add_exactly(double a, double b) {  // Knuth
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

Twofold multiply_exactly(double a, double b) {  // Dekker and Veltkamp, without a fused multiply-add
  constexpr double kSplit = 134217729.0;        // 2^27 + 1
  const double ca = kSplit * a, cb = kSplit * b;
  const double ah = ca - (ca - a), bh = cb - (cb - b);
  const double al = a - ah, bl = b - bh;
  const double product = a * b;
  return {product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
}

// e^(x + tail), |tail| tiny.
double exp_twofold(double x, double tail) {
  if (!(x <= 709.782712893384)) return x + kInfinity;  // NaN too
  if (x < -708.396418532264) return 0.0;
  const double n = round_to_integer(x * 1.44269504088896340736);
  // Reduced in two parts: the rounding of the second subtraction would be the largest error.
  const Twofold r = add_exactly(x - n * kLn2High, tail - n * kLn2Low);
  double p = kInverseFactorial[13];
  for (std::size_t k = 12; k >= 2; --k) p = p * r.high + kInverseFactorial[k];
  p = r.high + (r.high * r.high * p + r.low);  // e^r - 1
  const int power = static_cast<int>(n);
  const double result = 1.0 + p;
  return power > 1023 ? scale_by_power_of_two(result, 1023) * 2.0 : scale_by_power_of_two(result, power);
}

// ln x of a positive, finite x: x = m 2^n with m in [sqrt(1/2), sqrt 2); ln m = 2 atanh(f), f = (m - 1) / (m + 1).
Twofold log_twofold(double x) {
  int n = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    n = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  n += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u);
  if (m > 1.41421356237309504880) {
    m *= 0.5;
    ++n;
  }
  const double numerator = m - 1.0;  // exact
  const Twofold denominator = add_exactly(m, 1.0);
  const double f = numerator / denominator.high;
  const Twofold back = multiply_exactly(f, denominator.high);
  const double f_low = ((numerator - back.high) - back.low - f * denominator.low) / denominator.high;
  const double z = f * f;  // at most 0.0295
  double p = 1.0 / 25.0;
  for (int k = 23; k >= 3; k -= 2) p = p * z + 1.0 / k;
  const Twofold main = add_exactly(n * kLn2High, 2.0 * f);
  return add_exactly(main.high, main.low + (n * kLn2Low + (2.0 * f_low + 2.0 * f * z * p)));
}

}  // namespace

double log(double x) {
  if (!(x > 0.0)) return x == 0.0 ? -kInfinity : kNaN;
  if (x == kInfinity) return x;
  const Twofold result = log_twofold(x);
  return result.high + result.low;
}

double pow(double x, double y) {
  if (y == 0.0) return 1.0;
  if (!(x > 0.0) || x == kInfinity || !(y - y == 0.0)) return kNaN;
  const Twofold l = log_twofold(x);
  const Twofold product = multiply_exactly(l.high, y);
  return exp_twofold(product.high, product.low + l.low * y);
}

SineCosine sine_cosine(double x) {
  if (!(x >= -0x1p32 && x <= 0x1p32)) return {kNaN, kNaN};
  // pi / 2 in three parts of 21 bits and a rest: an integer up to 2^32 times a part is exact (Cody and Waite 1980).
  constexpr double kPart1 = 0x1.921fbp+0, kPart2 = 0x1.5110bp-22, kPart3 = 0x1.18469p-44, kRest = 0x1.13198a2e03707p-65;
  const double n = round_to_integer(x * 0.63661977236758134308);
  const Twofold r = add_exactly((x - n * kPart1) - n * kPart2, -(n * kPart3));
  const double reduced = r.high, tail = r.low - n * kRest;
  const double y = reduced + tail;
  const double rest = (reduced - y) + tail;

  const double z = y * y;
  double s = kInverseFactorial[17];
  double c = kInverseFactorial[18];
  for (std::size_t k = 15; k >= 3; k -= 2) s = kInverseFactorial[k] - z * s;
  for (std::size_t k = 16; k >= 4; k -= 2) c = kInverseFactorial[k] - z * c;
  const double sine = y + (rest - y * z * s);
  const double half = 0.5 * z;
  const double lead = 1.0 - half;
  const double cosine = lead + (((1.0 - lead) - half) + (z * z * c - y * rest));

  switch (static_cast<std::int64_t>(n) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace rill::math
