// JSON Schema (drafts 4 to 2020-12): whether a JSON text is what a schema asks for, and where not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rill/export.h"
#include "rill/result.h"
#include "rill/stop_token.h"

namespace rill {

namespace schema {
struct CompiledSchema;
}

// A limit that is reached is the error limit_exceeded, which names it. What is said of a schema begins with "schema";
// of it and of each of its documents at most 16 MiB, 1,000,000 values and 256 arrays and objects in each other are
// read, under the same names, and of their patterns at most max_pattern_instructions = 4,000,000 in all. Numbers are read up to
// max_exponent = 10,000, of texts and of schemas.
struct JsonSchemaLimits {
  std::size_t max_subschemas = 100'000;             // of the schema and its documents
  std::size_t max_bytes = std::size_t{16} << 20;    // of a text that is validated; below 4 GiB
  std::size_t max_depth = 512;                      // of its arrays and objects in each other
  std::size_t max_values = 4'000'000;               // in it, names of members among them; about 50 bytes of memory each
  std::size_t max_steps = 100'000'000;              // of work: 5 ns to 20 ns each, 32 for a value and a subschema
  std::size_t max_errors = 100;                     // told of one text; no error when there are more
};

// A value in a text that is validated. The views last as long as the call.
struct JsonField {
  std::string_view pointer;  // where it stands: a JSON pointer
  std::string_view json;     // as the text spells it
  std::string_view text;     // of a string: its characters; otherwise as `json`
};

// A check of one's own, beside the schema. It runs on the thread that validates, for texts that the schema holds valid,
// and is called by several threads at once if they validate at once.
struct FieldCheck {
  // For which values, one of both. `instance`: a JSON pointer, in which a "*" stands for any one name or index:
  // "/orders/*/total"; absent fields are not checked. `schema`: the JSON pointer of a subschema, as in "#/$defs/date"
  // but without the "#": all values that it holds for, wherever that counts for the validity of the whole.
  std::optional<std::string> instance = std::nullopt;
  std::optional<std::string> schema = std::nullopt;
  // Nothing if the value is right, otherwise what is wrong. So is what() of an exception.
  std::function<std::optional<std::string>(const JsonField&)> check = {};
};

struct JsonSchemaOptions {
  // Other schemas by their URI, for $ref. The metaschemas of drafts 4, 6, 7, 2019-09 and 2020-12 are known.
  std::map<std::string, std::string> documents = {};
  bool lenient = false;         // compile what is not enforced without it; notes() tells
  bool strict_unknown = false;  // refuse keywords and formats that no draft defines
  std::vector<FieldCheck> checks = {};
  JsonSchemaLimits limits = {};
  StopToken stop = {};  // polled while compiling
};

// About a keyword of a schema.
struct SchemaNote {
  std::string pointer;  // where it stands: a JSON pointer
  std::string keyword;
  std::string reason;     // why it is not enforced
  bool annotation = true;  // no draft defines it; otherwise a constraint that `lenient` has dropped
};

enum class Validity : std::uint8_t {
  valid,
  incomplete,  // the text ends too early: it begins a JSON text, valid or not
  invalid,     // not JSON, or not what the schema or a check asks for
};

RILL_EXPORT const char* to_string(Validity validity) noexcept;

struct ValidationError {
  std::string instance = {};  // JSON pointer of the value
  // JSON pointer of the keyword that does not hold, after the URI of its document and '#' where that is not the main
  // one; of FieldCheck::schema; or empty.
  std::string schema = {};
  std::string message = {};
};

struct Validation {
  Validity status = Validity::valid;
  std::vector<ValidationError> errors = {};  // in the order of the text's values, roughly; empty where it is valid
};

// Judges whole texts. It uses nothing of the masks of Grammar::json_schema, so that it can tell whether their automata
// were right. The masks use it: for which names a pattern matches, and at the end of values that no automaton decides
// (docs/grammar.md); an error there is one of both. Numbers are exact, formats are enforced, of members with one name
// the last counts. Immutable and thread-safe; copies share what was compiled.
class RILL_EXPORT JsonSchema {
 public:
  // Errors: malformed, not_found (a reference), limit_exceeded, all with a JSON pointer; unsupported, listing every
  // constraint that cannot be enforced; invalid_argument for a check; cancelled.
  static Result<JsonSchema> compile(std::string_view schema, const JsonSchemaOptions& options = {});

  // In time proportional to the values times the subschemas that look at them. Errors: limit_exceeded, cancelled.
  Result<Validation> validate(std::string_view json, const StopToken& stop = {}) const;

  // The keywords that are not enforced.
  const std::vector<SchemaNote>& notes() const noexcept;

 private:
  friend struct JsonSchemaParts;
  explicit JsonSchema(std::shared_ptr<const schema::CompiledSchema> compiled);
  std::shared_ptr<const schema::CompiledSchema> compiled_;
};

}  // namespace rill
