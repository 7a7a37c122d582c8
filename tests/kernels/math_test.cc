#include "kernels/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace rill::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The oracle is libm in long double; what it cannot tell apart is left out of the bounds.
static_assert(std::numeric_limits<long double>::digits >= 64);

double relative_error(double value, long double truth) {
  return std::abs(static_cast<double>((value - truth) / truth));
}

TEST(Math, ExpLogAndPowAreWithinTheirUlps) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-708, 709), power(-30, 30), base(0.5, 1e6);
  for (int i = 0; i < 50'000; ++i) {
    const double x = exponent(random);
    ASSERT_LT(relative_error(exp(x), std::exp(static_cast<long double>(x))), 1.5e-16) << x;
    const double y = std::exp(x);
    ASSERT_LT(relative_error(log(y), std::log(static_cast<long double>(y))), 1.5e-16) << y;
    const double near_one = 1.0 + x * 1e-6;
    ASSERT_LT(relative_error(log(near_one), std::log(static_cast<long double>(near_one))), 1.5e-16) << near_one;
    const double b = base(random), p = power(random);
    ASSERT_LT(relative_error(pow(b, p), std::pow(static_cast<long double>(b), static_cast<long double>(p))), 2e-16)
        << b << '^' << p;
  }
}

TEST(Math, EdgesOfExpLogAndPow) {
  EXPECT_EQ(exp(0.0), 1.0);
  EXPECT_EQ(exp(-kInfinity), 0.0);
  EXPECT_EQ(exp(-708.5), 0.0);
  EXPECT_EQ(exp(kInfinity), kInfinity);
  EXPECT_EQ(exp(709.8), kInfinity);
  EXPECT_LT(relative_error(exp(709.78), std::exp(static_cast<long double>(709.78))), 1.5e-16);
  EXPECT_TRUE(std::isnan(exp(std::nan(""))));
  EXPECT_EQ(log(1.0), 0.0);
  EXPECT_EQ(log(0.0), -kInfinity);
  EXPECT_EQ(log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(log(-1.0)));
  EXPECT_TRUE(std::isnan(log(std::nan(""))));
  EXPECT_LT(relative_error(log(5e-324), std::log(static_cast<long double>(5e-324))), 1.5e-16);
  EXPECT_EQ(pow(10000.0, 0.0), 1.0);
  EXPECT_EQ(pow(2.0, -10.0), 0x1p-10);
  EXPECT_TRUE(std::isnan(pow(-2.0, 2.0)));
  EXPECT_TRUE(std::isnan(pow(2.0, kInfinity)));
}

TEST(Math, SineAndCosineAreRightAtEveryMagnitude) {
  std::mt19937_64 random(2);
  for (const double range : {1.0, 100.0, 1e6, 0x1p32}) {
    std::uniform_real_distribution<double> angle(-range, range);
    for (int i = 0; i < 30'000; ++i) {
      const double x = angle(random);
      const SineCosine value = sine_cosine(x);
      ASSERT_LT(std::abs(static_cast<double>(value.sine - std::sin(static_cast<long double>(x)))), 3e-16) << x;
      ASSERT_LT(std::abs(static_cast<double>(value.cosine - std::cos(static_cast<long double>(x)))), 3e-16) << x;
    }
  }
  // Multiples of pi / 2 rounded to double: almost everything cancels.
  for (int n = 0; n < 100'000; n += 37) {
    const double x = n * 1.57079632679489661923;
    ASSERT_LT(std::abs(static_cast<double>(sine_cosine(x).sine - std::sin(static_cast<long double>(x)))), 3e-16) << n;
  }
  EXPECT_EQ(sine_cosine(0.0).sine, 0.0);
  EXPECT_EQ(sine_cosine(0.0).cosine, 1.0);
  EXPECT_TRUE(std::isnan(sine_cosine(0x1.1p32).sine));
  EXPECT_TRUE(std::isnan(sine_cosine(kInfinity).cosine));
  EXPECT_TRUE(std::isnan(sine_cosine(std::nan("")).cosine));
}

TEST(Math, RopeTableIsTheRotationOfThePosition) {
  const std::size_t pairs = 32;
  const std::vector<float> factors(pairs, 4.0f);
  std::vector<double> plain(pairs), scaled(pairs);
  rope_frequencies(10000.0, pairs, nullptr, plain.data());
  rope_frequencies(10000.0, pairs, factors.data(), scaled.data());
  std::vector<float> cosine(pairs), sine(pairs);
  rope_table(plain.data(), pairs, 131'071, cosine.data(), sine.data());
  for (std::size_t i = 0; i < pairs; ++i) {
    const double expected = std::pow(10000.0, -static_cast<double>(i) / 32.0);
    EXPECT_NEAR(plain[i], expected, 1e-15);
    EXPECT_EQ(scaled[i], plain[i] / 4.0);
    EXPECT_NEAR(cosine[i], std::cos(131'071 * plain[i]), 6e-8);
    EXPECT_NEAR(sine[i], std::sin(131'071 * plain[i]), 6e-8);
  }
  EXPECT_EQ(plain[0], 1.0);
}

}  // namespace
}  // namespace rill::kernels
