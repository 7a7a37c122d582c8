#include <algorithm>
#include <array>
#include <limits>

#include "schema/schema_parser.h"

namespace rill::schema {
namespace {

constexpr std::array<std::pair<std::string_view, Format>, 19> kFormats{{
    {"date", Format::date},
    {"time", Format::time},
    {"date-time", Format::date_time},
    {"duration", Format::duration},
    {"email", Format::email},
    {"idn-email", Format::idn_email},
    {"hostname", Format::hostname},
    {"idn-hostname", Format::idn_hostname},
    {"ipv4", Format::ipv4},
    {"ipv6", Format::ipv6},
    {"uri", Format::uri},
    {"uri-reference", Format::uri_reference},
    {"iri", Format::iri},
    {"iri-reference", Format::iri_reference},
    {"uri-template", Format::uri_template},
    {"uuid", Format::uuid},
    {"json-pointer", Format::json_pointer},
    {"relative-json-pointer", Format::relative_json_pointer},
    {"regex", Format::regex},
}};

constexpr std::array<std::pair<std::string_view, TypeSet>, 7> kTypes{{
    {"null", kNull},
    {"boolean", kBoolean},
    {"integer", kInteger},
    {"number", kNumber},
    {"string", kString},
    {"array", kArray},
    {"object", kObject},
}};

template <typename Table>
auto find_named(const Table& table, std::string_view name) {
  return std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.first == name; });
}

}  // namespace

std::span<const SchemaParser::Keyword> SchemaParser::keywords() {
  using P = SchemaParser;
  static constexpr Keyword table[] = {
      {"type", &P::read_type},
      {"enum", &P::read_enum},
      {"const", &P::read_const},
      {"multipleOf", &P::read_multiple},
      {"minimum", &P::read_number<&Schema::minimum>},
      {"maximum", &P::read_number<&Schema::maximum>},
      {"exclusiveMinimum", &P::read_exclusive<&Schema::exclusive_minimum, &Schema::minimum>},
      {"exclusiveMaximum", &P::read_exclusive<&Schema::exclusive_maximum, &Schema::maximum>},
      {"minLength", &P::read_count<&Schema::min_length>},
      {"maxLength", &P::read_count<&Schema::max_length>},
      {"pattern", &P::read_pattern},
      {"format", &P::read_format},
      {"prefixItems", &P::read_schemas<&Schema::prefix_items>},
      {"items", &P::read_items},
      {"additionalItems", &P::read_additional_items},
      {"contains", &P::read_schema<&Schema::contains>},
      {"minContains", &P::read_count<&Schema::min_contains>},
      {"maxContains", &P::read_count<&Schema::max_contains>},
      {"minItems", &P::read_count<&Schema::min_items>},
      {"maxItems", &P::read_count<&Schema::max_items>},
      {"uniqueItems", &P::read_unique},
      {"unevaluatedItems", &P::read_schema<&Schema::unevaluated_items>},
      {"properties", &P::read_named_schemas<&Schema::properties>},
      {"patternProperties", &P::read_named_schemas<&Schema::pattern_properties>},
      {"additionalProperties", &P::read_schema<&Schema::additional_properties>},
      {"propertyNames", &P::read_schema<&Schema::property_names>},
      {"unevaluatedProperties", &P::read_schema<&Schema::unevaluated_properties>},
      {"minProperties", &P::read_count<&Schema::min_properties>},
      {"maxProperties", &P::read_count<&Schema::max_properties>},
      {"required", &P::read_required},
      {"dependencies", &P::read_dependencies},
      {"dependentRequired", &P::read_dependent_required},
      {"dependentSchemas", &P::read_named_schemas<&Schema::dependent_schemas>},
      {"allOf", &P::read_schemas<&Schema::all_of>},
      {"anyOf", &P::read_schemas<&Schema::any_of>},
      {"oneOf", &P::read_schemas<&Schema::one_of>},
      {"not", &P::read_schema<&Schema::negated>},
      {"if", &P::read_schema<&Schema::condition>},
      {"then", &P::read_schema<&Schema::consequence>},
      {"else", &P::read_schema<&Schema::alternative>},
      {"$ref", &P::read_reference},
      {"$dynamicRef", &P::read_dynamic},
      {"$recursiveRef", &P::read_dynamic},
      {"$defs", &P::read_definitions},
      {"definitions", &P::read_definitions},
      {"$schema", nullptr},
      {"$id", nullptr},
      {"id", nullptr},
      {"$anchor", nullptr},
      {"$dynamicAnchor", nullptr},
      {"$recursiveAnchor", nullptr},
      {"$comment", nullptr},
      {"$vocabulary", nullptr},
      {"title", nullptr},
      {"description", nullptr},
      {"default", nullptr},
      {"examples", nullptr},
      {"deprecated", nullptr},
      {"readOnly", nullptr},
      {"writeOnly", nullptr},
      {"contentMediaType", nullptr},
      {"contentEncoding", nullptr},
      {"contentSchema", nullptr},
  };
  return table;
}

Result<void> SchemaParser::read_definitions(JsonView value, const Place& place, SchemaId) {
  if (!value.is(JsonKind::object)) return malformed(place, value, "an object of schemas");
  for (std::size_t i = 0; i < value.size(); ++i) {
    // Files keep other things there, too; what nobody refers to need not be a schema.
    if (!value[i].is(JsonKind::object) && !value[i].is(JsonKind::boolean)) continue;
    RILL_TRY(child(value[i], place, format("/{}/{}", value.name(), pointer_token(value[i].name()))));
  }
  return {};
}

Result<void> SchemaParser::read_type(JsonView value, const Place& place, SchemaId id) {
  TypeSet types = 0;
  const auto add = [&](JsonView name) {
    const auto type = find_named(kTypes, name.is(JsonKind::string) ? name.text() : std::string_view());
    if (type == kTypes.end()) return false;
    types = static_cast<TypeSet>(types | type->second);
    return true;
  };
  bool known = value.is(JsonKind::array) ? value.size() > 0 : add(value);
  for (std::size_t i = 0; i < value.size(); ++i) known = known && value.is(JsonKind::array) && add(value[i]);
  if (!known) return malformed(place, value, "a type, or an array of types");
  schema(id).types = types;
  return {};
}

Result<void> SchemaParser::read_enum(JsonView value, const Place& place, SchemaId id) {
  if (!value.is(JsonKind::array)) return malformed(place, value, "an array");
  std::vector<JsonView> values;
  for (std::size_t i = 0; i < value.size(); ++i) values.push_back(value[i]);
  StepBudget budget("", std::numeric_limits<std::size_t>::max(), options_.stop);
  std::sort(values.begin(), values.end(), [&](JsonView a, JsonView b) { return order(a, b, budget) < 0; });
  schema(id).values = std::move(values);
  return {};
}

Result<void> SchemaParser::read_const(JsonView value, const Place&, SchemaId id) {
  schema(id).constant = value;
  return {};
}

Result<void> SchemaParser::read_multiple(JsonView value, const Place& place, SchemaId id) {
  RILL_TRY(read_number<&Schema::multiple_of>(value, place, id));
  if (schema(id).multiple_of->negative || schema(id).multiple_of->is_zero()) {
    return malformed(place, value, "a number above 0");
  }
  return {};
}

Result<void> SchemaParser::read_pattern(JsonView value, const Place& place, SchemaId id) {
  if (!value.is(JsonKind::string)) return malformed(place, value, "a string");
  schema(id).pattern = std::string(value.text());
  return {};
}

Result<void> SchemaParser::read_format(JsonView value, const Place& place, SchemaId id) {
  if (!value.is(JsonKind::string)) return malformed(place, value, "a string");
  const auto found = find_named(kFormats, value.text());
  if (found != kFormats.end()) {
    schema(id).format = found->second;
    return {};
  }
  Remark remark{place.pointer + "/format", format("format: {}", value.text()), "no draft defines this format"};
  for (const auto& known : kFormats) {
    if (one_edit_apart(known.first, value.text())) remark.reason += format("; \"{}\" is one edit away", known.first);
  }
  result_.annotations_.push_back(std::move(remark));
  return {};
}

Result<void> SchemaParser::read_items(JsonView value, const Place& place, SchemaId id) {
  if (value.is(JsonKind::array)) return read_schemas<&Schema::prefix_items>(value, place, id);
  return read_schema<&Schema::items>(value, place, id);
}

// Counts only beside an array of items.
Result<void> SchemaParser::read_additional_items(JsonView value, const Place& place, SchemaId id) {
  const auto items = place.view.find("items");
  return items && items->is(JsonKind::array) ? read_schema<&Schema::items>(value, place, id) : Result<void>();
}

Result<void> SchemaParser::read_unique(JsonView value, const Place& place, SchemaId id) {
  if (!value.is(JsonKind::boolean)) return malformed(place, value, "a boolean");
  schema(id).unique_items = value.truth();
  return {};
}

Result<std::vector<std::string>> SchemaParser::names(JsonView value, const Place& place, JsonView list) const {
  std::vector<std::string> result;
  std::set<std::string_view> seen;
  bool strings = list.is(JsonKind::array);
  for (std::size_t i = 0; strings && i < list.size(); ++i) {
    strings = list[i].is(JsonKind::string);
    if (seen.insert(list[i].text()).second) result.emplace_back(list[i].text());
  }
  if (!strings) return malformed(place, value, "made of arrays of property names");
  return result;
}

Result<void> SchemaParser::read_required(JsonView value, const Place& place, SchemaId id) {
  if (value.is(JsonKind::boolean)) {  // draft 3, where it says that the property itself is required
    result_.annotations_.push_back({place.pointer + "/required", "required",
                                    "only an array of names is defined, in the schema of the object"});
    return {};
  }
  RILL_ASSIGN(schema(id).required, names(value, place, value));
  return {};
}

Result<void> SchemaParser::read_dependent_required(JsonView value, const Place& place, SchemaId id) {
  if (!value.is(JsonKind::object)) return malformed(place, value, "an object");
  for (std::size_t i = 0; i < value.size(); ++i) {
    RILL_ASSIGN(std::vector<std::string> needed, names(value, place, value[i]));
    schema(id).dependent_required.emplace_back(value[i].name(), std::move(needed));
  }
  return {};
}

Result<void> SchemaParser::read_dependencies(JsonView value, const Place& place, SchemaId id) {
  if (!value.is(JsonKind::object)) return malformed(place, value, "an object");
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i].is(JsonKind::array)) {
      RILL_ASSIGN(std::vector<std::string> needed, names(value, place, value[i]));
      schema(id).dependent_required.emplace_back(value[i].name(), std::move(needed));
    } else {
      RILL_ASSIGN(const SchemaId one,
                  child(value[i], place, format("/{}/{}", value.name(), pointer_token(value[i].name()))));
      schema(id).dependent_schemas.emplace_back(value[i].name(), one);
    }
  }
  return {};
}

Result<void> SchemaParser::read_reference(JsonView value, const Place& place, SchemaId id) {
  if (!value.is(JsonKind::string)) return malformed(place, value, "a URI reference");
  references_.push_back(
      {id, resolve_uri(place.base, value.text()), place.pointer + '/' + std::string(value.name()), false});
  return {};
}

Result<void> SchemaParser::read_dynamic(JsonView value, const Place& place, SchemaId id) {
  RILL_TRY(read_reference(value, place, id));
  references_.back().dynamic = true;
  return {};
}

}  // namespace rill::schema
