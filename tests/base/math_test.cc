#include "base/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rill {
namespace {

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

TEST(MathTest, LogIsWithinTwoUlp) {
  double worst = 0;
  std::uint64_t bits = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::min());
  const std::uint64_t end = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::max());
  const std::uint64_t step = end / 1000003;
  for (; bits < end - step; bits += step) {
    const double x = std::bit_cast<double>(bits);
    const long double exact = std::log(static_cast<long double>(x));
    const double rounded = static_cast<double>(exact);
    const long double ulp = std::abs(std::nextafter(rounded, 1e4) - rounded);
    worst = std::max(worst, static_cast<double>(std::abs(static_cast<long double>(math::log(x)) - exact) / ulp));
  }
  EXPECT_LT(worst, 2.0);
  EXPECT_EQ(math::log(1.0), 0.0);
}

}  // namespace
}  // namespace rill
