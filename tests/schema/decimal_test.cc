#include "schema/decimal.h"

#include <gtest/gtest.h>

namespace rill::schema {
namespace {

Decimal number(std::string_view text) { return Decimal::parse(text).value(); }

TEST(DecimalTest, EqualNumbersAreEqual) {
  EXPECT_EQ(number("1.0"), number("1"));
  EXPECT_EQ(number("100e-2"), number("1"));
  EXPECT_EQ(number("-0.0"), number("0e5"));
  EXPECT_NE(number("0.1"), number("0.10000000000000000000000001"));
  for (const std::string_view none : {"", "-", ".5", "1.", "1e", "1e99999", "0x1", "1 "})
    EXPECT_FALSE(Decimal::parse(none)) << none;
}

TEST(DecimalTest, ComparesExactly) {
  const std::string_view ascending[] = {"-1e30", "-2.5", "-2", "-0.001", "0", "1e-30", "0.3", "0.30000000000000004",
                                        "9007199254740992", "9007199254740993", "1e20"};
  for (std::size_t i = 0; i < std::size(ascending); ++i) {
    for (std::size_t j = 0; j < std::size(ascending); ++j) {
      EXPECT_EQ(compare(number(ascending[i]), number(ascending[j])), i <=> j) << ascending[i] << ' ' << ascending[j];
    }
  }
}

TEST(DecimalTest, MultiplesAreExact) {
  EXPECT_TRUE(is_multiple(number("0.3"), number("0.1")));
  EXPECT_TRUE(is_multiple(number("1e20"), number("0.5")));
  EXPECT_TRUE(is_multiple(number("-21"), number("7")));
  EXPECT_TRUE(is_multiple(number("0"), number("7")));
  EXPECT_TRUE(is_multiple(number("12345678901234567890000"), number("1234567890123456789")));
  EXPECT_FALSE(is_multiple(number("12345678901234567890001"), number("1234567890123456789")));
  EXPECT_FALSE(is_multiple(number("0.75"), number("0.5")));
  EXPECT_FALSE(is_multiple(number("3"), number("30")));
}

TEST(DecimalTest, PartsAroundThePoint) {
  const auto parts = [](std::string_view text) { return number(text).integer_part() + '|' + number(text).fraction_part(); };
  EXPECT_EQ(parts("12.5"), "12|5");
  EXPECT_EQ(parts("0.005"), "0|005");
  EXPECT_EQ(parts("3e3"), "3000|");
  EXPECT_EQ(parts("0"), "0|");
  EXPECT_EQ(parts("120.0"), "120|");
}

}  // namespace
}  // namespace rill::schema
