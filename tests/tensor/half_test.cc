#include "tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "support/narrow.h"

namespace rill {
namespace {

// Value of a 16-bit pattern from the definition of the format: (-1)^s * 2^(e - bias) * (1 + m / 2^mantissa_bits).
double value_of(std::uint32_t bits, int mantissa_bits, int bias) {
  const int sign = static_cast<int>(bits >> 15);
  const int exponent_mask = (1 << (15 - mantissa_bits)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & exponent_mask;
  const int mantissa = static_cast<int>(bits & ((1u << mantissa_bits) - 1));
  double value;
  if (exponent == exponent_mask) {
    value = mantissa != 0 ? std::nan("") : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    value = std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  }
  return sign != 0 ? -value : value;
}

struct Format {
  int mantissa_bits;
  int bias;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);
};
constexpr Format kF16 = {10, 15, f16_to_f32, test::f32_to_f16};
constexpr Format kBf16 = {7, 127, bf16_to_f32, test::f32_to_bf16};

class HalfTest : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, HalfTest, testing::Values(kF16, kBf16));

TEST_P(HalfTest, WidensEveryValueExactlyAndBack) {
  const Format& format = GetParam();
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const double want = value_of(bits, format.mantissa_bits, format.bias);
    const float got = format.widen(half);
    if (std::isnan(want)) {
      wrong +=
          !std::isnan(got) || std::signbit(got) != (bits >> 15 != 0) || !std::isnan(format.widen(format.narrow(got)));
    } else {
      wrong += got != want || std::signbit(got) != std::signbit(want) || format.narrow(got) != half;
    }
  }
  EXPECT_EQ(wrong, 0);
}

// Between each two neighbours: just below the middle, the middle (to the even one), and just above it.
TEST_P(HalfTest, RoundsToNearestEvenAroundEveryMiddle) {
  const Format& format = GetParam();
  const auto infinity = static_cast<std::uint16_t>(((1 << (15 - format.mantissa_bits)) - 1) << format.mantissa_bits);
  int wrong = 0;
  for (std::uint16_t low = 0; low < infinity; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    // The overflow threshold lies where the next value would, had the format one more exponent.
    const double above =
        high == infinity ? std::ldexp(1.0, format.bias + 1) : value_of(high, format.mantissa_bits, format.bias);
    const auto middle = static_cast<float>((value_of(low, format.mantissa_bits, format.bias) + above) / 2);
    const std::uint16_t even = low % 2 == 0 ? low : high;
    const float below_middle = std::nextafter(middle, 0.0f);
    const float above_middle = std::nextafter(middle, std::numeric_limits<float>::infinity());
    wrong += format.narrow(middle) != even || format.narrow(below_middle) != low || format.narrow(above_middle) != high;
    wrong += format.narrow(-middle) != (even | 0x8000);
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(HalfTest, NanStaysNan) {
  for (const std::uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0x7fc00000u}) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    EXPECT_TRUE(std::isnan(GetParam().widen(GetParam().narrow(value)))) << bits;
  }
}

}  // namespace
}  // namespace rill
