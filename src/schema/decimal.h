// Decimal numbers of any size, exactly.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rill::schema {

inline constexpr std::int64_t kMaxExponent = 10'000;

// sign x digits x 10^exponent. Zero has no digits; otherwise the first and the last digit are not 0, so that equal
// numbers are equal member by member.
struct Decimal {
  bool negative = false;
  std::string digits = {};  // '0' to '9', the most significant first
  std::int64_t exponent = 0;

  // `number`: as JSON writes numbers. Nothing if it is none, or its exponent is beyond kMaxExponent and it is not zero.
  static std::optional<Decimal> parse(std::string_view number);

  bool is_zero() const { return digits.empty(); }
  bool is_integer() const { return exponent >= 0; }
  Decimal negated() const { return is_zero() ? *this : Decimal{!negative, digits, exponent}; }

  // The digits before the point, "0" if there are none, and those after it.
  std::string integer_part() const;
  std::string fraction_part() const;

  friend bool operator==(const Decimal&, const Decimal&) = default;
};

std::strong_ordering compare(const Decimal& a, const Decimal& b);

// Whether a is an integer times b; b is not zero.
bool is_multiple(const Decimal& a, const Decimal& b);

}  // namespace rill::schema
