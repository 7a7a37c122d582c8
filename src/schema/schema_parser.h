// How a schema's text is read: keywords into one form, references when all that stand in known places are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "schema/schema.h"
#include "schema/uri.h"

namespace rill::schema {

// Whether one letter is missing, added, another, or has changed places with its neighbour.
bool one_edit_apart(std::string_view a, std::string_view b);

// Reads subschemas in the order in which they are found; references, when all that stand in known places are read, which
// may find further ones.
class SchemaParser {
 public:
  SchemaParser(SchemaDocument& result, const ParseOptions& options) : result_(result), options_(options) {}

  Result<void> parse(std::string_view text);

  // A subschema that is to be read, and the URI that its references start from.
  struct Place {
    JsonView view;
    std::string pointer;
    std::string base;
    std::uint32_t document;
  };
  using Read = Result<void> (SchemaParser::*)(JsonView value, const Place& place, SchemaId id);
  struct Keyword {
    std::string_view name;
    Read read;  // null: says nothing about what is valid
  };
  static std::span<const Keyword> keywords();

 private:
  struct Reference {
    SchemaId from;
    std::string uri;  // absolute
    std::string pointer;
    bool dynamic;
  };
  struct Target {
    std::uint32_t document;
    JsonView view;
    std::string pointer, base;
  };

  Schema& schema(SchemaId id) { return result_.schemas_[index(id)]; }
  Result<void> add_document(std::string_view text, std::string uri);
  Result<SchemaId> id_of(const Place& place);
  Result<void> read_pending();
  Result<void> read(SchemaId id, const Place& place);
  void note_unknown(JsonView member, const Place& place);
  void enter_resource(Place& place);
  Result<void> resolve(const Reference& reference);
  Result<void> refuse_rings();
  Result<std::optional<Target>> find(const std::string& uri);

  Error malformed(const Place& place, JsonView value, std::string_view expected) const {
    return make_error(ErrorCode::malformed, "schema: {}/{} is not {}", place.pointer, pointer_token(value.name()), expected);
  }
  Result<SchemaId> child(JsonView view, const Place& parent, const std::string& path) {
    return id_of({view, parent.pointer + path, parent.base, parent.document});
  }

  template <auto Member>
  Result<void> read_schema(JsonView value, const Place& place, SchemaId id) {
    RILL_ASSIGN(const SchemaId found, child(value, place, '/' + std::string(value.name())));
    schema(id).*Member = found;
    return {};
  }
  template <auto Member>
  Result<void> read_schemas(JsonView value, const Place& place, SchemaId id) {
    if (!value.is(JsonKind::array)) return malformed(place, value, "an array of schemas");
    std::vector<SchemaId> found;
    for (std::size_t i = 0; i < value.size(); ++i) {
      RILL_ASSIGN(const SchemaId one, child(value[i], place, format("/{}/{}", value.name(), i)));
      found.push_back(one);
    }
    if (found.empty() && value.name() != "prefixItems" && value.name() != "items") {
      return malformed(place, value, "an array with a schema");
    }
    schema(id).*Member = std::move(found);
    return {};
  }
  template <auto Member>
  Result<void> read_named_schemas(JsonView value, const Place& place, SchemaId id) {
    if (!value.is(JsonKind::object)) return malformed(place, value, "an object of schemas");
    Named<SchemaId> found;
    for (std::size_t i = 0; i < value.size(); ++i) {
      RILL_ASSIGN(const SchemaId one, child(value[i], place, format("/{}/{}", value.name(), pointer_token(value[i].name()))));
      found.emplace_back(value[i].name(), one);
    }
    schema(id).*Member = std::move(found);
    return {};
  }
  template <auto Member>
  Result<void> read_number(JsonView value, const Place& place, SchemaId id) {
    if (!value.is(JsonKind::number)) return malformed(place, value, "a number");
    schema(id).*Member = number_of(value);
    return {};
  }
  template <auto Member>
  Result<void> read_count(JsonView value, const Place& place, SchemaId id) {
    const bool is_count = value.is(JsonKind::number) && !number_of(value).negative && number_of(value).is_integer();
    if (!is_count) return malformed(place, value, "a non-negative integer");
    const std::string digits = number_of(value).integer_part();
    schema(id).*Member = digits.size() > 18 ? std::uint64_t{1} << 62 : std::stoull(digits);
    return {};
  }
  // A draft 4 schema says with `true` that the bound beside it is exclusive.
  template <auto Member, auto Inclusive>
  Result<void> read_exclusive(JsonView value, const Place& place, SchemaId id) {
    if (!value.is(JsonKind::boolean)) return read_number<Member>(value, place, id);
    if (value.truth()) exclusive_.push_back([this, id] {
      std::swap(schema(id).*Member, schema(id).*Inclusive);
    });
    return {};
  }
  Result<void> read_any(JsonView, const Place&, SchemaId) { return {}; }
  Result<void> read_definitions(JsonView value, const Place& place, SchemaId id);
  Result<void> read_type(JsonView value, const Place& place, SchemaId id);
  Result<void> read_enum(JsonView value, const Place& place, SchemaId id);
  Result<void> read_const(JsonView value, const Place& place, SchemaId id);
  Result<void> read_multiple(JsonView value, const Place& place, SchemaId id);
  Result<void> read_pattern(JsonView value, const Place& place, SchemaId id);
  Result<void> read_format(JsonView value, const Place& place, SchemaId id);
  Result<void> read_items(JsonView value, const Place& place, SchemaId id);
  Result<void> read_additional_items(JsonView value, const Place& place, SchemaId id);
  Result<void> read_unique(JsonView value, const Place& place, SchemaId id);
  Result<void> read_required(JsonView value, const Place& place, SchemaId id);
  Result<void> read_dependent_required(JsonView value, const Place& place, SchemaId id);
  Result<void> read_dependencies(JsonView value, const Place& place, SchemaId id);
  Result<void> read_reference(JsonView value, const Place& place, SchemaId id);
  Result<void> read_dynamic(JsonView value, const Place& place, SchemaId id);

  Result<std::vector<std::string>> names(JsonView value, const Place& place, JsonView list) const;

  SchemaDocument& result_;
  const ParseOptions& options_;
  std::deque<std::pair<SchemaId, Place>> pending_;
  std::vector<Reference> references_;
  std::vector<std::function<void()>> exclusive_;  // of the schema at hand, when all of it is read
  std::map<std::pair<std::uint32_t, std::uint32_t>, SchemaId> ids_;  // by document and value
  std::map<std::string, Target> resources_, anchors_;                // by URI; anchors: with their fragment
  std::map<std::string, std::size_t> dynamic_anchors_;               // how many resources have one
  std::size_t recursive_anchors_ = 0;
  std::vector<bool> is_old_;  // by document: of draft 7 or before; where it does not say so, it has `definitions`
  std::set<std::string> fetched_;
};

}  // namespace rill::schema
