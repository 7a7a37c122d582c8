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
  // Errors: malformed or unsupported, naming a pattern's keyword.
  static Result<std::shared_ptr<const Validator>> create(std::shared_ptr<const SchemaDocument> document);

  bool is_valid(SchemaId schema, JsonView value) const;
  // Empty if it is valid. At most `most`.
  std::vector<Violation> violations(SchemaId schema, JsonView value, std::size_t most = 100) const;

  const SchemaDocument& document() const { return *document_; }
  // Whether the pattern, which stands in the document, is found in the text.
  bool pattern_found(const std::string& pattern, std::string_view text) const;

 private:
  friend class Validation;
  std::shared_ptr<const SchemaDocument> document_;
  std::map<std::string, regex::Nfa, std::less<>> patterns_;
  std::map<Format, regex::Nfa> formats_;
  bool needs_evaluated_ = false;  // some subschema has unevaluatedItems or unevaluatedProperties
};

}  // namespace rill::schema
