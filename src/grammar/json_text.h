// JSON's texts as expressions: strings, numbers, values as they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/utf8_of.h"
#include "grammar/expression.h"
#include "schema/decimal.h"

namespace rill::grammar {

struct NumberBounds {
  struct Bound {
    schema::Decimal value;
    bool exclusive;
  };
  std::optional<Bound> least = {}, most = {};
  bool integer = false;
};

// A character of a string has one spelling without a need: itself, or the escape that it needs; beyond ASCII, and for
// control characters, \uXXXX, too, as writers do that keep to ASCII. So no name has a spelling that slips past the
// spellings of the names that are told apart.
class JsonText {
 public:
  explicit JsonText(Expressions& expressions) : e_(expressions) {}

  Expr spell(const CodePoints& set);           // one character of a string
  Expr any_character() { return spell(CodePoints::all()); }
  Expr body(std::string_view text);            // of a string that is `text`, between the quotes
  Expr quoted(Expr body) { return e_.concat(e_.literal("\""), e_.concat(body, e_.literal("\""))); }

  // Numbers within bounds, without exponents; those without bounds, with exponents. An integer may end in ".0".
  Expr number(const NumberBounds& bounds);
  // The numbers equal to it.
  Expr number(const schema::Decimal& value);

 private:
  Expr spell_new(const CodePoints& set);
  Expr hex(const std::vector<CodePoints::Range>& ranges, unsigned digits);
  Expr escapes(const CodePoints& set);
  Expr pairs(const CodePoints& set);
  Expr digits(std::uint32_t least, std::uint32_t most = kUnbounded);
  Expr digit(char first, char last);
  Expr any_magnitude(bool integer);
  Expr at_least(const NumberBounds::Bound& bound, bool integer);
  Expr at_most(const NumberBounds::Bound& bound, bool integer);
  Expr magnitude(const std::optional<NumberBounds::Bound>& least, const std::optional<NumberBounds::Bound>& most,
                 bool integer);

  Expressions& e_;
  struct Less {
    bool operator()(const std::vector<CodePoints::Range>& a, const std::vector<CodePoints::Range>& b) const {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
        return x.first != y.first ? x.first < y.first : x.last < y.last;
      });
    }
  };
  std::map<std::vector<CodePoints::Range>, Expr, Less> spelled_;
};

}  // namespace rill::grammar
