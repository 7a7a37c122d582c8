// Characters as the bytes that spell them.
#pragma once

#include "grammar/expression.h"
#include "regex/code_points.h"

namespace rill::grammar {

using regex::CodePoints;

// The UTF-8 forms of the members.
Expr utf8_of(Expressions& expressions, const CodePoints& set);

}  // namespace rill::grammar
