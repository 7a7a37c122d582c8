// GBNF, the grammar notation of llama.cpp (its grammars/README.md).
#pragma once

#include <string_view>

#include "grammar/rules.h"
#include "rill/result.h"
#include "rill/tokenizer.h"

namespace rill::grammar {

// Adds the rules of `text` and sets the start rule. `tokenizer` tells what <name> stands for; null: refused. Errors:
// malformed with line and column; not_found naming a rule that is missing. Throws what Expressions throws.
Result<void> parse_gbnf(std::string_view text, std::string_view start, const Tokenizer* tokenizer, Rules& rules);

}  // namespace rill::grammar
