// What a JsonSchema holds.
#pragma once

#include <memory>
#include <vector>

#include "rill/json_schema.h"
#include "schema/field_checks.h"
#include "schema/validator.h"

namespace rill {
namespace schema {

struct CompiledSchema {
  std::shared_ptr<const Validator> validator;
  JsonSchemaLimits limits;
  FieldChecks checks;
  std::vector<SchemaNote> notes;
};

}  // namespace schema

// Reaches it.
struct JsonSchemaParts {
  static const schema::CompiledSchema& of(const JsonSchema& schema) { return *schema.compiled_; }
};

}  // namespace rill
