// A JSON Schema as it is meant: one form for drafts 4 to 2020-12, its references resolved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/result.h"
#include "rill/stop_token.h"
#include "schema/decimal.h"
#include "schema/json_document.h"

namespace rill::schema {

enum class SchemaId : std::uint32_t {};
constexpr std::size_t index(SchemaId id) { return static_cast<std::size_t>(id); }

// Sets of JSON's types. A number without a fraction is an integer, however it is written.
using TypeSet = std::uint8_t;
inline constexpr TypeSet kNull = 1, kBoolean = 2, kInteger = 4, kFraction = 8, kString = 16, kArray = 32, kObject = 64;
inline constexpr TypeSet kNumber = kInteger | kFraction, kAllTypes = 127;

enum class Format : std::uint8_t {
  date, time, date_time, duration, email, idn_email, hostname, idn_hostname, ipv4, ipv6, uri, uri_reference, iri,
  iri_reference, uri_template, uuid, json_pointer, relative_json_pointer, regex
};

template <typename Value>
using Named = std::vector<std::pair<std::string, Value>>;

// What one subschema says: all of it holds. What is absent constrains nothing.
struct Schema {
  std::string pointer = {};  // where it stands: a JSON pointer, after its document's URI and '#' where that is not the main one
  bool never = false;        // the schema false
  TypeSet types = kAllTypes;
  std::optional<std::vector<JsonView>> values = {};  // enum, ascending
  std::optional<JsonView> constant = {};             // const

  std::optional<Decimal> minimum = {}, exclusive_minimum = {}, maximum = {}, exclusive_maximum = {}, multiple_of = {};

  std::optional<std::uint64_t> min_length = {}, max_length = {};  // in code points
  std::optional<std::string> pattern = {};                        // to be found somewhere in the text
  std::optional<Format> format = {};

  std::vector<SchemaId> prefix_items = {};
  std::optional<SchemaId> items = {};  // of those after the prefix
  std::optional<SchemaId> contains = {};
  std::optional<std::uint64_t> min_contains = {}, max_contains = {}, min_items = {}, max_items = {};
  bool unique_items = false;
  std::optional<SchemaId> unevaluated_items = {};

  Named<SchemaId> properties = {}, pattern_properties = {};
  std::optional<SchemaId> additional_properties = {}, property_names = {}, unevaluated_properties = {};
  std::optional<std::uint64_t> min_properties = {}, max_properties = {};
  std::vector<std::string> required = {};
  Named<std::vector<std::string>> dependent_required = {};
  Named<SchemaId> dependent_schemas = {};

  std::vector<SchemaId> all_of = {}, any_of = {}, one_of = {};
  std::optional<SchemaId> negated = {}, condition = {}, consequence = {}, alternative = {};
  std::optional<SchemaId> reference = {};
};

// A keyword that is not enforced, and why.
struct Remark {
  std::string pointer;  // of the keyword
  std::string keyword;
  std::string reason;
};

struct ParseOptions {
  std::map<std::string, std::string> documents = {};  // other schemas, by their URI
  std::size_t max_schemas = 100'000;
  StopToken stop = {};
};

// Immutable; thread-safe. Keeps the values alive that its schemas name.
class SchemaDocument {
 public:
  // Errors: malformed with the JSON pointer of a keyword whose value no draft allows; not_found, naming a reference;
  // limit_exceeded; cancelled.
  static Result<std::shared_ptr<const SchemaDocument>> parse(std::string_view text, const ParseOptions& options = {});

  const Schema& root() const { return schemas_[0]; }
  const Schema& operator[](SchemaId id) const { return schemas_[index(id)]; }
  std::size_t size() const { return schemas_.size(); }
  std::uint64_t digest() const { return digest_; }  // of the texts

  const std::vector<Remark>& annotations() const { return annotations_; }    // keywords and formats that no draft defines
  const std::vector<Remark>& not_enforced() const { return not_enforced_; }  // constraints that are not understood

 private:
  friend class SchemaParser;
  std::vector<JsonDocument> documents_;
  std::vector<Schema> schemas_;
  std::uint64_t digest_ = 0;
  std::vector<Remark> annotations_, not_enforced_;
};

}  // namespace rill::schema
