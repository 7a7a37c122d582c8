// Says whether a JSON value is what a schema asks for.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "regex/nfa.h"
#include "rill/result.h"
#include "schema/json_document.h"
#include "schema/schema.h"

namespace rill::schema {

struct Violation {
  std::string instance;  // JSON pointer of the value
  std::string schema;    // JSON pointer of the keyword
  std::string message;
};

// Of one schema document. Immutable; thread-safe. Takes time in proportion to the values times the subschemas; nothing
// recurses.
class Validator {
 public:
  // A pattern that is no regular expression, or none that rill knows, is not enforced.
  static Result<std::shared_ptr<const Validator>> create(std::shared_ptr<const SchemaDocument> document);

  bool is_valid(SchemaId schema, JsonView value) const;
  // Empty if it is valid. At most `most`.
  std::vector<Violation> violations(SchemaId schema, JsonView value, std::size_t most = 100) const;

  const SchemaDocument& document() const { return *document_; }
  const std::vector<Remark>& not_enforced() const { return not_enforced_; }
  bool is_dropped(const std::string& pattern) const { return !patterns_.contains(pattern); }
  // Whether the pattern, which stands in the document, is found in the text.
  bool pattern_found(const std::string& pattern, std::string_view text) const;

 private:
  friend class Validation;
  std::shared_ptr<const SchemaDocument> document_;
  std::map<std::string, regex::Nfa, std::less<>> patterns_;
  std::map<Format, regex::Nfa> formats_;
  std::vector<Remark> not_enforced_;
  bool needs_evaluated_ = false;  // some subschema has unevaluatedItems or unevaluatedProperties
};

// The one type of a value.
TypeSet type_of(JsonView value);

// Whether what a schema says of bounds, lengths and counts holds for the value.
bool holds_for_size(const Schema& schema, JsonView value);

}  // namespace rill::schema
