// Says whether a JSON value is what a schema asks for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/step_budget.h"
#include "regex/nfa.h"
#include "rill/result.h"
#include "rill/stop_token.h"
#include "schema/json_document.h"
#include "schema/schema.h"

namespace rill::schema {

// Of one schema document. Immutable; thread-safe. Takes time in proportion to the values times the subschemas; nothing
// recurses.
class Validator {
 public:
  // A pattern that is no regular expression, or none that rill knows, is not enforced. Errors: limit_exceeded, cancelled.
  static Result<std::shared_ptr<const Validator>> create(std::shared_ptr<const SchemaDocument> document,
                                                         const StopToken& stop = {});

  bool is_valid(SchemaId schema, JsonView value) const;

  const SchemaDocument& document() const { return *document_; }
  const std::vector<Remark>& not_enforced() const { return not_enforced_; }
  bool is_dropped(const std::string& pattern) const { return !patterns_.contains(pattern); }
  // Whether the pattern, which stands in the document, is found in the text.
  bool pattern_found(const std::string& pattern, std::string_view text, StepBudget& budget) const;
  bool pattern_found(const std::string& pattern, std::string_view text) const;

  // The schema's property of that name.
  std::optional<SchemaId> property(SchemaId schema, std::string_view name) const;
  // Whether some subschema has unevaluatedItems or unevaluatedProperties.
  bool needs_evaluated() const { return needs_evaluated_; }

 private:
  Result<void> add_pattern(const Schema& schema, const std::string& pattern, const std::string& keyword);

  std::shared_ptr<const SchemaDocument> document_;
  std::map<std::string, regex::Nfa, std::less<>> patterns_;
  std::size_t instructions_ = 0;  // of all patterns
  std::vector<std::vector<std::uint32_t>> properties_by_name_;  // by schema: places in Schema::properties
  std::vector<Remark> not_enforced_;
  bool needs_evaluated_ = false;
};

// The one type of a value.
TypeSet type_of(JsonView value);

// Whether what a schema says of bounds, lengths and counts holds for the value.
bool holds_for_size(const Schema& schema, JsonView value);

}  // namespace rill::schema
