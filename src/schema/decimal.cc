#include "schema/decimal.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"

namespace rill::schema {
namespace {

// Of the first digit: 12.5 is 0.125 x 10^2.
std::int64_t magnitude(const Decimal& number) {
  return number.exponent + static_cast<std::int64_t>(number.digits.size());
}

std::strong_ordering compare_magnitudes(const Decimal& a, const Decimal& b) {
  if (a.is_zero() || b.is_zero()) return !a.is_zero() <=> !b.is_zero();
  if (const auto order = magnitude(a) <=> magnitude(b); order != 0) return order;
  return a.digits.compare(b.digits) <=> 0;  // of which neither ends in zeros
}

// The remainder of two strings of digits, `divisor` without zeros in front: schoolbook division.
std::string remainder(std::string_view dividend, std::string_view divisor) {
  std::string rest;
  const auto at_least_divisor = [&] {
    return rest.size() != divisor.size() ? rest.size() > divisor.size() : rest.compare(divisor) >= 0;
  };
  for (const char digit : dividend) {
    if (!rest.empty() || digit != '0') rest.push_back(digit);
    while (at_least_divisor()) {  // at most nine times
      int borrow = 0;
      for (std::size_t i = 0; i < rest.size(); ++i) {
        char& to = rest[rest.size() - 1 - i];
        const int taken = (i < divisor.size() ? divisor[divisor.size() - 1 - i] - '0' : 0) + borrow;
        borrow = to - '0' < taken ? 1 : 0;
        to = static_cast<char>(to - taken + 10 * borrow);
      }
      rest.erase(0, std::min(rest.find_first_not_of('0'), rest.size()));
    }
  }
  return rest;
}

}  // namespace

std::optional<Decimal> Decimal::parse(std::string_view number) {
  Decimal result;
  std::size_t i = 0;
  if (number.starts_with('-')) result.negative = true, ++i;
  const auto read_digits = [&] {
    const std::size_t begin = i;
    while (i < number.size() && ascii::is_digit(number[i])) result.digits.push_back(number[i++]);
    return i - begin;
  };
  if (read_digits() == 0) return std::nullopt;
  if (i < number.size() && number[i] == '.') {
    ++i;
    const std::size_t count = read_digits();
    if (count == 0) return std::nullopt;
    result.exponent = -static_cast<std::int64_t>(count);
  }
  if (i < number.size() && (number[i] == 'e' || number[i] == 'E')) {
    ++i;
    if (i < number.size() && number[i] == '+') ++i;
    std::int64_t power = 0;
    const auto [end, error] = std::from_chars(number.data() + i, number.data() + number.size(), power);
    const bool in_reach = error == std::errc() && power <= kMaxExponent && power >= -kMaxExponent;
    const bool is_zero = result.digits.find_first_not_of('0') == std::string::npos;
    if (!in_reach && (error == std::errc::invalid_argument || !is_zero)) return std::nullopt;
    i = static_cast<std::size_t>(end - number.data());
    result.exponent += power;
  }
  if (i != number.size()) return std::nullopt;
  result.digits.erase(0, std::min(result.digits.find_first_not_of('0'), result.digits.size()));
  while (result.digits.ends_with('0')) result.digits.pop_back(), ++result.exponent;
  return result.is_zero() ? Decimal{} : result;
}

std::string Decimal::integer_part() const {
  if (magnitude(*this) <= 0 || is_zero()) return "0";
  std::string part = digits.substr(0, static_cast<std::size_t>(std::min<std::int64_t>(
                                          magnitude(*this), static_cast<std::int64_t>(digits.size()))));
  if (exponent > 0) part.append(static_cast<std::size_t>(exponent), '0');
  return part;
}

std::string Decimal::fraction_part() const {
  if (exponent >= 0) return {};
  if (magnitude(*this) <= 0) return std::string(static_cast<std::size_t>(-magnitude(*this)), '0') + digits;
  return digits.substr(static_cast<std::size_t>(magnitude(*this)));
}

std::strong_ordering compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? std::strong_ordering::less : std::strong_ordering::greater;
  return a.negative ? compare_magnitudes(b, a) : compare_magnitudes(a, b);
}

bool is_multiple(const Decimal& a, const Decimal& b) {
  if (a.is_zero()) return true;
  // a / b is an integer if the digits of a, shifted by the difference of the exponents, are a multiple of those of b.
  const std::int64_t shift = a.exponent - b.exponent;
  if (shift >= 0) return remainder(a.digits + std::string(static_cast<std::size_t>(shift), '0'), b.digits).empty();
  if (static_cast<std::size_t>(-shift) > a.digits.size()) return false;  // the last digit of a is not 0
  return remainder(a.digits, b.digits + std::string(static_cast<std::size_t>(-shift), '0')).empty();
}

}  // namespace rill::schema
