#include "grammar/json_text.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace rill::grammar {
namespace {

using Range = CodePoints::Range;
using Bound = NumberBounds::Bound;

std::vector<Range> clip(std::span<const Range> ranges, char32_t first, char32_t last) {
  std::vector<Range> clipped;
  for (const Range& range : ranges) {
    if (range.last < first || range.first > last) continue;
    clipped.push_back({std::max(range.first, first), std::min(range.last, last)});
  }
  return clipped;
}

ByteSet hex_digits(const std::vector<bool>& values) {
  ByteSet set;
  for (unsigned value = 0; value < 16; ++value) {
    if (!values[value]) continue;
    set.add(static_cast<unsigned char>("0123456789abcdef"[value]));
    set.add(static_cast<unsigned char>("0123456789ABCDEF"[value]));
  }
  return set;
}

}  // namespace

// Numbers of `digits` hexadecimal digits.
Expr JsonText::hex(const std::vector<Range>& ranges, unsigned digits) {
  if (ranges.empty()) return Expr::nothing;
  if (digits == 0) return Expr::epsilon;
  if (ranges.size() == 1 && ranges[0] == Range{0, (1u << 4 * digits) - 1}) {
    static const ByteSet any_digit = hex_digits(std::vector<bool>(16, true));
    return e_.repeat(e_.bytes(any_digit), digits, digits);
  }
  const auto size = static_cast<char32_t>(1u << 4 * (digits - 1));
  std::map<Expr, std::vector<bool>> by_rest;
  for (char32_t lead = 0; lead < 16; ++lead) {
    const auto begin = static_cast<char32_t>(lead * size);
    std::vector<Range> rest = clip(ranges, begin, begin + size - 1);
    for (Range& range : rest) range = {range.first - begin, range.last - begin};
    const Expr tail = hex(rest, digits - 1);  // four deep
    if (tail == Expr::nothing) continue;
    auto& leads = by_rest[tail];
    leads.resize(16);
    leads[lead] = true;
  }
  std::vector<Expr> choices;
  for (const auto& [tail, leads] : by_rest) choices.push_back(e_.concat(e_.bytes(hex_digits(leads)), tail));
  return e_.either(choices);
}

// Those beyond U+FFFF, as two surrogates.
Expr JsonText::pairs(const CodePoints& set) {
  std::map<Expr, std::vector<Range>> by_low;
  for (const Range& range : clip(set.ranges(), 0x10000, 0x10FFFF)) {
    const char32_t first = range.first - 0x10000, last = range.last - 0x10000;
    const auto add = [&](char32_t high_first, char32_t high_last, char32_t low_first, char32_t low_last) {
      if (high_first > high_last) return;
      by_low[hex({{0xDC00 + low_first, 0xDC00 + low_last}}, 4)].push_back({0xD800 + high_first, 0xD800 + high_last});
    };
    const char32_t high = first >> 10, high_end = last >> 10;
    if (high == high_end) {
      add(high, high, first & 0x3FF, last & 0x3FF);
    } else {
      const bool first_whole = (first & 0x3FF) == 0, last_whole = (last & 0x3FF) == 0x3FF;
      if (!first_whole) add(high, high, first & 0x3FF, 0x3FF);
      if (!last_whole) add(high_end, high_end, 0, last & 0x3FF);
      if (last_whole || high_end > 0) add(first_whole ? high : high + 1, last_whole ? high_end : high_end - 1, 0, 0x3FF);
    }
  }
  std::vector<Expr> choices;
  for (const auto& [low, highs] : by_low) {
    choices.push_back(e_.concat(hex(highs, 4), e_.concat(e_.literal("\\u"), low)));
  }
  return e_.either(choices);
}

Expr JsonText::escapes(const CodePoints& set) {
  const auto has = [&](char32_t c) { return !clip(set.ranges(), c, c).empty(); };
  constexpr std::array<std::pair<char32_t, char>, 7> kShort{
      {{'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}}};
  ByteSet letters;
  for (const auto& [c, letter] : kShort) {
    if (has(c)) letters.add(static_cast<unsigned char>(letter));
  }
  std::vector<Range> units = clip(set.ranges(), 0, 0x1F);
  for (const Range& range : clip(set.ranges(), 0x7F, 0xFFFF)) units.push_back(range);
  const Expr coded = e_.either(hex(units, 4), pairs(set));
  const Expr after = e_.either(e_.bytes(letters), e_.concat(e_.literal("u"), coded));
  return e_.concat(e_.literal("\\"), after);
}

Expr JsonText::spell(const CodePoints& set) {
  const auto [known, is_new] = spelled_.try_emplace({set.ranges().begin(), set.ranges().end()});
  if (is_new) known->second = spell_new(set);
  return known->second;
}

Expr JsonText::spell_new(const CodePoints& set) {
  CodePoints plain;
  for (const auto& [first, last] : {Range{0x20, 0x21}, Range{0x23, 0x5B}, Range{0x5D, 0x10FFFF}}) {
    plain.add(CodePoints(clip(set.ranges(), first, last)));
  }
  return e_.either(utf8_of(e_, plain), escapes(set));
}

Expr JsonText::body(std::string_view text) {
  std::vector<Expr> characters;
  for (std::size_t i = 0; i < text.size();) {
    const utf8::Character character = utf8::decode(text, i);
    const bool plain = character.code >= 0x20 && character.code < 0x7F && character.code != '"' && character.code != '\\';
    characters.push_back(plain ? e_.literal(text.substr(i, 1)) : spell({{character.code, character.code}}));
    i += character.length;
  }
  Expr whole = Expr::epsilon;
  for (std::size_t i = characters.size(); i-- > 0;) whole = e_.concat(characters[i], whole);
  return whole;
}

Expr JsonText::digit(char first, char last) {
  if (first > last) return Expr::nothing;
  return e_.bytes(ByteSet::range(static_cast<unsigned char>(first), static_cast<unsigned char>(last)));
}

Expr JsonText::digits(std::uint32_t least, std::uint32_t most) { return e_.repeat(digit('0', '9'), least, most); }

Expr JsonText::any_magnitude(bool integer) {
  const Expr whole = e_.either(e_.literal("0"), e_.concat(digit('1', '9'), digits(0)));
  const Expr fraction = integer ? e_.literal(".0") : e_.concat(e_.literal("."), digits(1));
  return e_.concat(whole, e_.optional(fraction));
}

// Magnitudes of at least, or above, a bound that is not negative.
Expr JsonText::at_least(const Bound& bound, bool integer) {
  const std::string whole = bound.value.integer_part(), fraction = bound.value.fraction_part();
  const auto length = static_cast<std::uint32_t>(whole.size());
  const Expr dot = e_.literal("."), any_fraction = e_.optional(e_.concat(dot, digits(1)));
  const Expr above_zero = e_.concat(e_.repeat(e_.literal("0"), 0), e_.concat(digit('1', '9'), digits(0)));
  // What follows equal digits: either a greater one and any rest, or the equal one and what follows that.
  Expr rest = bound.exclusive ? above_zero : fraction.empty() ? digits(1) : digits(0);
  for (std::size_t i = fraction.size(); i-- > 0;) {
    const Expr greater = e_.concat(digit(static_cast<char>(fraction[i] + 1), '9'), digits(0));
    rest = e_.either(greater, e_.concat(digit(fraction[i], fraction[i]), rest));
  }
  rest = e_.concat(dot, rest);
  if (fraction.empty() && !bound.exclusive) rest = e_.optional(rest);
  for (std::uint32_t i = length; i-- > 0;) {
    const Expr any_rest = e_.concat(digits(length - i - 1, length - i - 1), any_fraction);
    const Expr greater = e_.concat(digit(static_cast<char>(whole[i] + 1), '9'), any_rest);
    rest = e_.either(greater, e_.concat(digit(whole[i], whole[i]), rest));
  }
  const Expr longer = e_.concat(digit('1', '9'), e_.concat(digits(length), any_fraction));
  const Expr all = e_.either(longer, rest);
  return integer ? e_.both(all, any_magnitude(true)) : all;
}

Expr JsonText::at_most(const Bound& bound, bool integer) {
  const std::string whole = bound.value.integer_part(), fraction = bound.value.fraction_part();
  const auto length = static_cast<std::uint32_t>(whole.size());
  const Expr dot = e_.literal("."), any_fraction = e_.optional(e_.concat(dot, digits(1)));
  Expr rest = bound.exclusive ? Expr::nothing : e_.repeat(e_.literal("0"), fraction.empty() ? 1 : 0);
  for (std::size_t i = fraction.size(); i-- > 0;) {
    const Expr lower = e_.concat(digit('0', static_cast<char>(fraction[i] - 1)), digits(0));
    rest = e_.either(lower, e_.concat(digit(fraction[i], fraction[i]), rest));
    if (i > 0) rest = e_.optional(rest);  // shorter ones are lower
  }
  rest = e_.concat(dot, rest);
  if (!fraction.empty() || !bound.exclusive) rest = e_.optional(rest);
  for (std::uint32_t i = length; i-- > 0;) {
    const char least = i == 0 && length > 1 ? '1' : '0';
    const Expr any_rest = e_.concat(digits(length - i - 1, length - i - 1), any_fraction);
    const Expr lower = e_.concat(digit(least, static_cast<char>(whole[i] - 1)), any_rest);
    rest = e_.either(lower, e_.concat(digit(whole[i], whole[i]), rest));
  }
  std::vector<Expr> choices{rest};
  if (length > 1) {
    choices.push_back(e_.concat(e_.literal("0"), any_fraction));
    choices.push_back(e_.concat(digit('1', '9'), e_.concat(digits(0, length - 2), any_fraction)));
  }
  const Expr all = e_.either(choices);
  return integer ? e_.both(all, any_magnitude(true)) : all;
}

Expr JsonText::magnitude(const std::optional<Bound>& least, const std::optional<Bound>& most, bool integer) {
  if (most && most->value.negative) return Expr::nothing;
  const bool bounded_below = least && !least->value.negative && (least->exclusive || !least->value.is_zero());
  if (bounded_below && most) {
    return e_.both(at_least(*least, integer), at_most(*most, integer));
  }
  if (bounded_below) return at_least(*least, integer);
  return most ? at_most(*most, integer) : any_magnitude(integer);
}

Expr JsonText::number(const NumberBounds& bounds) {
  if (!bounds.least && !bounds.most && !bounds.integer) {
    const Expr sign = e_.optional(e_.bytes([] { ByteSet set; set.add('+'), set.add('-'); return set; }()));
    const Expr letter = e_.bytes([] { ByteSet set; set.add('e'), set.add('E'); return set; }());
    // Whatever is read into a double stays finite.
    const Expr power = e_.either(digits(1, 2), e_.concat(digit('1', '2'), digits(2, 2)));
    const Expr exponent = e_.optional(e_.concat(letter, e_.concat(sign, power)));
    return e_.concat(e_.optional(e_.literal("-")), e_.concat(any_magnitude(false), exponent));
  }
  const auto mirrored = [](const std::optional<Bound>& bound) {
    return bound ? std::optional(Bound{bound->value.negated(), bound->exclusive}) : std::nullopt;
  };
  const Expr negative = magnitude(mirrored(bounds.most), mirrored(bounds.least), bounds.integer);
  return e_.either(magnitude(bounds.least, bounds.most, bounds.integer), e_.concat(e_.literal("-"), negative));
}

Expr JsonText::number(const schema::Decimal& value) {
  const std::string fraction = value.fraction_part();
  const Expr zeros = e_.repeat(e_.literal("0"), fraction.empty() ? 1 : 0);
  Expr after_whole = e_.concat(e_.literal("."), e_.concat(e_.literal(fraction), zeros));
  if (fraction.empty()) after_whole = e_.optional(after_whole);
  const Expr minus = e_.literal("-"), sign = value.is_zero() ? e_.optional(minus) : value.negative ? minus : Expr::epsilon;
  return e_.concat(sign, e_.concat(e_.literal(value.integer_part()), after_whole));
}

}  // namespace rill::grammar
