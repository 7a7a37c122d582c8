#include "base/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace rill {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The oracle is libm in long double; what it cannot tell apart is left out of the bounds.
static_assert(std::numeric_limits<long double>::digits >= 64);

double relative_error(double value, long double truth) {
  return std::abs(static_cast<double>((value - truth) / truth));
}

// Every 257th float of [-87, 0]: 4 million of them, against libm in double.
TEST(MathTest, ExpIsWithinTwoUlp) {
  double worst = 0;
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(-0.0f); bits <= std::bit_cast<std::uint32_t>(-87.0f); bits += 257) {
    const float x = std::bit_cast<float>(bits);
    const double exact = std::exp(static_cast<double>(x));
    const float rounded = static_cast<float>(exact);
    const double ulp = static_cast<double>(rounded) - static_cast<double>(std::nextafter(rounded, 0.0f));
    worst = std::max(worst, std::abs(static_cast<double>(math::exp_nonpositive(x)) - exact) / ulp);
  }
  EXPECT_LT(worst, 2.0);
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(MathTest, ExpAtItsEnds) {
  EXPECT_EQ(math::exp_nonpositive(0.0f), 1.0f);
  EXPECT_EQ(math::exp_nonpositive(-0.0f), 1.0f);
  const float smallest = math::exp_nonpositive(-87.0f);
  EXPECT_TRUE(std::isnormal(smallest));
  EXPECT_EQ(math::exp_nonpositive(-1e30f), smallest);
  EXPECT_EQ(math::exp_nonpositive(-std::numeric_limits<float>::infinity()), smallest);
}

TEST(MathTest, LogAndPowAreWithinTheirUlps) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-708, 709), power(-30, 30), base(0.5, 1e6);
  for (int i = 0; i < 50'000; ++i) {
    const double x = exponent(random);
    const double y = std::exp(x);
    ASSERT_LT(relative_error(math::log(y), std::log(static_cast<long double>(y))), 1.5e-16) << y;
    const double near_one = 1.0 + x * 1e-6;
    ASSERT_LT(relative_error(math::log(near_one), std::log(static_cast<long double>(near_one))), 1.5e-16) << near_one;
    const double b = base(random), p = power(random);
    ASSERT_LT(relative_error(math::pow(b, p), std::pow(static_cast<long double>(b), static_cast<long double>(p))), 2e-16)
        << b << '^' << p;
  }
}

TEST(MathTest, EdgesOfLogAndPow) {
  EXPECT_EQ(math::log(1.0), 0.0);
  EXPECT_EQ(math::log(0.0), -kInfinity);
  EXPECT_EQ(math::log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(math::log(-1.0)));
  EXPECT_TRUE(std::isnan(math::log(std::nan(""))));
  EXPECT_LT(relative_error(math::log(5e-324), std::log(static_cast<long double>(5e-324))), 1.5e-16);
  EXPECT_EQ(math::pow(10000.0, 0.0), 1.0);
  EXPECT_EQ(math::pow(2.0, -10.0), 0x1p-10);
  EXPECT_EQ(math::pow(2.0, -1021.0), 0x1p-1021);
  EXPECT_EQ(math::pow(2.0, -1023.0), 0.0);
  EXPECT_EQ(math::pow(2.0, 1023.0), 0x1p1023);
  EXPECT_EQ(math::pow(2.0, 1024.0), kInfinity);
  EXPECT_TRUE(std::isnan(math::pow(-2.0, 2.0)));
  EXPECT_TRUE(std::isnan(math::pow(2.0, kInfinity)));
}

TEST(MathTest, SineAndCosineAreRightAtEveryMagnitude) {
  std::mt19937_64 random(2);
  for (const double range : {1.0, 100.0, 1e6, 0x1p32}) {
    std::uniform_real_distribution<double> angle(-range, range);
    for (int i = 0; i < 30'000; ++i) {
      const double x = angle(random);
      const math::SineCosine value = math::sine_cosine(x);
      ASSERT_LT(std::abs(static_cast<double>(value.sine - std::sin(static_cast<long double>(x)))), 3e-16) << x;
      ASSERT_LT(std::abs(static_cast<double>(value.cosine - std::cos(static_cast<long double>(x)))), 3e-16) << x;
    }
  }
  // Multiples of pi / 2 rounded to double: almost everything cancels.
  for (int n = 0; n < 100'000; n += 37) {
    const double x = n * 1.57079632679489661923;
    const double sine = math::sine_cosine(x).sine;
    ASSERT_LT(std::abs(static_cast<double>(sine - std::sin(static_cast<long double>(x)))), 3e-16) << n;
  }
  EXPECT_EQ(math::sine_cosine(0.0).sine, 0.0);
  EXPECT_EQ(math::sine_cosine(0.0).cosine, 1.0);
  EXPECT_TRUE(std::isnan(math::sine_cosine(0x1.1p32).sine));
  EXPECT_TRUE(std::isnan(math::sine_cosine(kInfinity).cosine));
  EXPECT_TRUE(std::isnan(math::sine_cosine(std::nan("")).cosine));
}

}  // namespace
}  // namespace rill
