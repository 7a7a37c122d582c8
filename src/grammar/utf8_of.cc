#include "grammar/utf8_of.h"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

namespace rill::grammar {
namespace {

using Range = CodePoints::Range;

// The part of `ranges` within [first, last], counted from `first`.
std::vector<Range> offsets_within(std::span<const Range> ranges, char32_t first, char32_t last) {
  std::vector<Range> result;
  for (const Range& range : ranges) {
    if (range.last < first || range.first > last) continue;
    result.push_back({std::max(range.first, first) - first, std::min(range.last, last) - first});
  }
  return result;
}

// `count` continuation bytes that spell the values `ranges`, of 6 bits a byte. Three levels deep at most.
Expr continuations(Expressions& expressions, std::span<const Range> ranges, unsigned count) {
  if (ranges.empty()) return Expr::nothing;
  if (count == 0) return Expr::epsilon;
  const char32_t size = char32_t{1} << 6 * (count - 1);
  if (ranges.size() == 1 && ranges[0] == Range{0, size * 64 - 1}) {
    const Range whole[] = {{0, size - 1}};
    return expressions.concat(expressions.bytes(ByteSet::range(0x80, 0xBF)), continuations(expressions, whole, count - 1));
  }
  std::map<Expr, ByteSet> by_rest;  // the leads that what follows has in common
  for (unsigned lead = 0; lead < 64; ++lead) {
    const Expr rest = continuations(expressions, offsets_within(ranges, lead * size, (lead + 1) * size - 1), count - 1);
    if (rest != Expr::nothing) by_rest[rest].add(0x80 + lead);
  }
  std::vector<Expr> choices;
  for (const auto& [rest, leads] : by_rest) choices.push_back(expressions.concat(expressions.bytes(leads), rest));
  return expressions.either(choices);
}

}  // namespace

// Unicode 15, table 3-6.
Expr utf8_of(Expressions& expressions, const CodePoints& set) {
  struct Form {
    char32_t first, last;
    unsigned lead, continuations;
  };
  constexpr Form kForms[] = {{0, 0x7F, 0, 0}, {0x80, 0x7FF, 0xC0, 1}, {0x800, 0xFFFF, 0xE0, 2}, {0x10000, 0x10FFFF, 0xF0, 3}};
  std::map<Expr, ByteSet> by_rest;
  for (const Form& form : kForms) {
    const auto size = static_cast<char32_t>(1u << 6 * form.continuations);
    for (char32_t lead = form.first / size; lead <= form.last / size; ++lead) {
      const auto begin = static_cast<char32_t>(lead * size), end = static_cast<char32_t>(begin + size - 1);
      const char32_t first = std::max(form.first, begin);
      std::vector<Range> ranges = offsets_within(set.ranges(), first, std::min(form.last, end));
      for (Range& range : ranges) range = {range.first + first - begin, range.last + first - begin};
      const Expr rest = continuations(expressions, ranges, form.continuations);
      if (rest != Expr::nothing) by_rest[rest].add(form.lead + lead);
    }
  }
  std::vector<Expr> choices;
  for (const auto& [rest, leads] : by_rest) choices.push_back(expressions.concat(expressions.bytes(leads), rest));
  return expressions.either(choices);
}

}  // namespace rill::grammar
