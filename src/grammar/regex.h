// Regular expressions as JSON Schema uses them: ECMA-262 with the u flag, lenient where its annex B is.
#pragma once

#include <functional>
#include <string_view>

#include "grammar/utf8_of.h"
#include "rill/result.h"

namespace rill::grammar {

enum class Match : std::uint8_t {
  whole,   // the text as a whole matches
  search,  // some part of the text does, as JSON Schema means it
};

struct RegexOptions {
  Match match = Match::whole;
  // What spells one of a set of characters, e.g. with the escapes of a JSON string; none: UTF-8.
  std::function<Expr(const CodePoints&)> spell = {};
};

// The texts that `pattern` matches. Never more than well-formed texts. Errors: malformed with the offset; unsupported,
// naming the construct, for lookaround, backreferences, word boundaries, flags and properties that rill lacks.
// Throws what Expressions throws.
Result<Expr> parse_regex(Expressions& expressions, std::string_view pattern, const RegexOptions& options = {});

}  // namespace rill::grammar
