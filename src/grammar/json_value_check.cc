#include "grammar/json_value_check.h"

#include <algorithm>

#include "base/format.h"

namespace rill::grammar {

bool JsonValueCheck::accepts(std::string_view value) const {
  const auto document = schema::JsonDocument::parse(value);
  if (!document) return false;
  return std::all_of(literals_.begin(), literals_.end(),
                     [&](const Literal& literal) { return branches_->holds(literal, document->root()); });
}

std::string JsonValueCheck::describe() const {
  std::string text = format("schema {:016x}", branches_->validator().document().digest());
  for (const Literal& literal : literals_) text += format(" {}{}", literal.negated ? "not " : "", index(literal.schema));
  return text;
}

}  // namespace rill::grammar
