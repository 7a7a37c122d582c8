// JSON Schema as rules.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "grammar/rules.h"
#include "rill/grammar.h"
#include "schema/validator.h"

namespace rill::grammar {

// Adds the rules for the texts that are valid, and sets the start rule. Returns what is not enforced. Throws what
// Expressions throws.
Result<std::vector<schema::Remark>> compile_schema(std::shared_ptr<const schema::Validator> validator,
                                                   const JsonGrammarOptions& options, Rules& rules);

}  // namespace rill::grammar
