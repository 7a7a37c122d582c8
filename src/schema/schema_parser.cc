#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <set>
#include <span>

#include "base/error.h"
#include "base/hash.h"
#include "schema/schema.h"
#include "schema/uri.h"

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

bool one_edit_apart(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1 || a == b) return false;
  std::size_t i = 0;
  while (i < a.size() && a[i] == b[i]) ++i;
  if (a.size() < b.size()) return a.substr(i) == b.substr(i + 1);
  if (a.substr(i + 1) == b.substr(i + 1)) return true;
  return i + 1 < a.size() && a[i] == b[i + 1] && a[i + 1] == b[i] && a.substr(i + 2) == b.substr(i + 2);  // swapped
}

}  // namespace

// Reads subschemas in the order in which they are found; references, when all that stand in known places are read, which
// may find further ones.
class SchemaParser {
 public:
  SchemaParser(SchemaDocument& result, const ParseOptions& options) : result_(result), options_(options) {}

  Result<void> parse(std::string_view text);

 private:
  // A subschema that is to be read, and the URI that its references start from.
  struct Place {
    JsonView view;
    std::string pointer;
    std::string base;
    std::uint32_t document;
  };
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
  using Read = Result<void> (SchemaParser::*)(JsonView value, const Place& place, SchemaId id);
  struct Keyword {
    std::string_view name;
    Read read;  // null: says nothing about what is valid
  };
  static std::span<const Keyword> keywords();

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
    schema(id).*Member = Decimal::parse(value.text());
    if (!(schema(id).*Member)) return malformed(place, value, "a number with an exponent in reach");
    return {};
  }
  template <auto Member>
  Result<void> read_count(JsonView value, const Place& place, SchemaId id) {
    const auto number = value.is(JsonKind::number) ? Decimal::parse(value.text()) : std::nullopt;
    if (!number || number->negative || !number->is_integer()) return malformed(place, value, "a non-negative integer");
    const std::string digits = number->integer_part();
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
  std::vector<bool> is_old_;  // by document: of draft 7 or before, as far as it says
  std::set<std::string> fetched_;
};

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

Result<SchemaId> SchemaParser::id_of(const Place& place) {
  const auto [known, is_new] = ids_.try_emplace({place.document, place.view.number()},
                                                static_cast<SchemaId>(result_.schemas_.size()));
  if (!is_new) return known->second;
  if (result_.schemas_.size() >= options_.max_schemas) {
    return make_error(ErrorCode::limit_exceeded, "schema: more than max_schemas = {} subschemas", options_.max_schemas);
  }
  result_.schemas_.push_back({.pointer = place.pointer});
  pending_.emplace_back(known->second, place);
  return known->second;
}

// Notes what the subschema can be referred to by; `place.base` becomes its own URI if it has one.
void SchemaParser::enter_resource(Place& place) {
  const auto text_of = [&](std::string_view keyword) -> std::optional<std::string> {
    const auto value = place.view.find(keyword);
    return value && value->is(JsonKind::string) ? std::optional(std::string(value->text())) : std::nullopt;
  };
  auto id = text_of("$id");
  if (!id) id = text_of("id");
  const bool shadowed = is_old_[place.document] && place.view.find("$ref");  // up to draft 7, $ref hides it
  if (id && !shadowed) {
    const auto [uri, fragment] = split_fragment(*id);
    const std::string whole = resolve_uri(place.base, *id);
    if (!uri.empty()) {
      place.base = std::string(split_fragment(whole).first);
      resources_.try_emplace(place.base, Target{place.document, place.view, place.pointer, place.base});
    }
    if (!fragment.empty()) anchors_.try_emplace(whole, Target{place.document, place.view, place.pointer, place.base});
  }
  for (const std::string_view keyword : {"$anchor", "$dynamicAnchor"}) {
    const auto name = text_of(keyword);
    if (!name) continue;
    anchors_.try_emplace(place.base + '#' + *name, Target{place.document, place.view, place.pointer, place.base});
    if (keyword == "$dynamicAnchor") ++dynamic_anchors_[*name];
  }
  if (const auto recursive = place.view.find("$recursiveAnchor"); recursive && recursive->truth()) ++recursive_anchors_;
}

Result<void> SchemaParser::read(SchemaId id, const Place& given) {
  Place place = given;
  if (place.view.is(JsonKind::boolean)) {
    schema(id).never = !place.view.truth();
    return {};
  }
  if (!place.view.is(JsonKind::object)) {
    return make_error(ErrorCode::malformed, "schema: \"{}\" is no schema: neither an object nor a boolean", place.pointer);
  }
  enter_resource(place);
  exclusive_.clear();
  for (std::size_t i = 0; i < place.view.size(); ++i) {
    const JsonView member = place.view[i];
    const auto all = keywords();
    const auto keyword = std::find_if(all.begin(), all.end(), [&](const Keyword& k) { return k.name == member.name(); });
    if (keyword == all.end()) {
      note_unknown(member, place);
    } else if (keyword->read != nullptr) {
      RILL_TRY((this->*keyword->read)(member, place, id));
    }
  }
  for (const auto& apply : exclusive_) apply();
  return {};
}

void SchemaParser::note_unknown(JsonView member, const Place& place) {
  Remark remark{place.pointer + '/' + pointer_token(member.name()), std::string(member.name()), "no draft defines this keyword"};
  for (const Keyword& keyword : keywords()) {
    if (keyword.read != nullptr && one_edit_apart(keyword.name, member.name())) {
      remark.reason += format("; \"{}\" is one edit away", keyword.name);
      break;
    }
    const bool same = std::ranges::equal(keyword.name, member.name(), [](char a, char b) { return (a | 32) == (b | 32); });
    if (same) {
      remark.reason += format("; \"{}\" is spelled otherwise", keyword.name);
      break;
    }
  }
  result_.annotations_.push_back(std::move(remark));
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
      RILL_ASSIGN(const SchemaId one, child(value[i], place, format("/{}/{}", value.name(), pointer_token(value[i].name()))));
      schema(id).dependent_schemas.emplace_back(value[i].name(), one);
    }
  }
  return {};
}

Result<void> SchemaParser::read_reference(JsonView value, const Place& place, SchemaId id) {
  if (!value.is(JsonKind::string)) return malformed(place, value, "a URI reference");
  references_.push_back({id, resolve_uri(place.base, value.text()), place.pointer + '/' + std::string(value.name()), false});
  return {};
}

Result<void> SchemaParser::read_dynamic(JsonView value, const Place& place, SchemaId id) {
  RILL_TRY(read_reference(value, place, id));
  references_.back().dynamic = true;
  return {};
}

Result<void> SchemaParser::read_pending() {
  while (!pending_.empty()) {
    if (options_.stop.stop_requested()) return Error{ErrorCode::cancelled, "the reading of a schema was cancelled"};
    const auto [id, place] = std::move(pending_.front());
    pending_.pop_front();
    RILL_TRY(read(id, place));
  }
  return {};
}

Result<void> SchemaParser::add_document(std::string_view text, std::string uri) {
  RILL_ASSIGN(JsonDocument document, JsonDocument::parse(text, {.max_depth = 256}));
  const auto number = static_cast<std::uint32_t>(result_.documents_.size());
  result_.digest_ = result_.digest_ * 31 + checksum(std::as_bytes(std::span(text)));
  result_.documents_.push_back(document);
  const auto draft = document.root().find("$schema");
  const std::string_view version = draft && draft->is(JsonKind::string) ? draft->text() : "";
  is_old_.push_back(version.find("2019-09") == version.npos && version.find("2020-12") == version.npos);
  const Place place{document.root(), {}, std::move(uri), number};
  resources_.try_emplace(place.base, Target{number, place.view, {}, place.base});
  RILL_TRY(id_of(place));
  return read_pending();
}

Result<std::optional<SchemaParser::Target>> SchemaParser::find(const std::string& uri) {
  if (const auto anchor = anchors_.find(uri); anchor != anchors_.end()) return std::optional(anchor->second);
  const auto [document, fragment] = split_fragment(uri);
  auto resource = resources_.find(std::string(document));
  if (resource == resources_.end()) {
    const auto given = options_.documents.find(std::string(document));
    if (given == options_.documents.end() || !fetched_.insert(given->first).second) return std::optional<Target>();
    RILL_TRY(add_document(given->second, given->first));
    return find(uri);
  }
  Target target = resource->second;
  std::string pointer = percent_decoded(fragment);
  if (pointer.empty()) return std::optional(target);
  if (!pointer.starts_with('/')) return std::optional<Target>();
  for (std::size_t at = 0; at < pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', at + 1), pointer.size());
    std::string token;
    for (std::size_t i = at + 1; i < end; ++i) {
      if (pointer[i] == '~' && i + 1 < end) {
        token += pointer[++i] == '1' ? '/' : '~';
      } else {
        token += pointer[i];
      }
    }
    at = end;
    std::optional<JsonView> next = target.view.find(token);
    if (target.view.is(JsonKind::array)) {
      std::size_t place = target.view.size();
      if (!token.empty() && token.size() < 9 && token.find_first_not_of("0123456789") == std::string::npos) {
        place = std::stoul(token);
      }
      if (place < target.view.size()) next = target.view[place];
    }
    if (!next) return std::optional<Target>();
    target.view = *next;
    target.pointer += '/' + pointer_token(token);
    const auto inner = target.view.find("$id");
    if (inner && inner->is(JsonKind::string) && at < pointer.size()) {
      target.base = std::string(split_fragment(resolve_uri(target.base, inner->text())).first);
    }
  }
  return std::optional(target);
}

Result<void> SchemaParser::resolve(const Reference& reference) {
  RILL_ASSIGN(const std::optional<Target> target, find(reference.uri));
  if (!target) {
    return make_error(ErrorCode::not_found, "schema: {} refers to {}, which is not there", reference.pointer, reference.uri);
  }
  if (reference.dynamic) {
    const std::string_view anchor = split_fragment(reference.uri).second;
    const auto known = dynamic_anchors_.find(std::string(anchor));
    const std::size_t targets = anchor.empty() ? recursive_anchors_ : known == dynamic_anchors_.end() ? 0 : known->second;
    if (targets > 1) {
      const std::string keyword(reference.pointer.substr(reference.pointer.rfind('/') + 1));
      result_.not_enforced_.push_back({reference.pointer, keyword, "several resources have the anchor that it names"});
      return {};
    }
  }
  RILL_ASSIGN(const SchemaId id, id_of({target->view, target->pointer, target->base, target->document}));
  Schema& from = schema(reference.from);
  if (from.reference) {
    from.all_of.push_back(id);
  } else {
    from.reference = id;
  }
  return read_pending();
}

Result<void> SchemaParser::parse(std::string_view text) {
  RILL_TRY(add_document(text, ""));
  for (std::size_t i = 0; i < references_.size(); ++i) {  // which may read further schemas with references
    const Reference reference = references_[i];
    RILL_TRY(resolve(reference));
  }
  return refuse_rings();
}

// A schema that asks for itself of the same value would never be decided.
Result<void> SchemaParser::refuse_rings() {
  enum class Mark : std::uint8_t { unseen, open, done };
  std::vector<Mark> marks(result_.schemas_.size(), Mark::unseen);
  std::vector<SchemaId> path;
  for (std::size_t first = 0; first < marks.size(); ++first) {
    path.push_back(static_cast<SchemaId>(first));
    while (!path.empty()) {
      const SchemaId id = path.back();
      Mark& mark = marks[index(id)];
      if (mark != Mark::unseen) {
        mark = Mark::done;
        path.pop_back();
        continue;
      }
      mark = Mark::open;
      const Schema& s = schema(id);
      bool ring = false;
      const auto follow = [&](SchemaId next) {
        ring |= marks[index(next)] == Mark::open;
        if (marks[index(next)] == Mark::unseen) path.push_back(next);
      };
      for (const auto* list : {&s.all_of, &s.any_of, &s.one_of}) std::for_each(list->begin(), list->end(), follow);
      for (const auto* one : {&s.negated, &s.condition, &s.consequence, &s.alternative, &s.reference}) {
        if (*one) follow(**one);
      }
      for (const auto& [name, dependent] : s.dependent_schemas) follow(dependent);
      if (ring) {
        return make_error(ErrorCode::malformed, "schema: \"{}\" refers to itself without an end", s.pointer);
      }
    }
  }
  return {};
}

Result<std::shared_ptr<const SchemaDocument>> SchemaDocument::parse(std::string_view text, const ParseOptions& options) {
  return guarded([&]() -> Result<std::shared_ptr<const SchemaDocument>> {
    auto document = std::make_shared<SchemaDocument>();
    RILL_TRY(SchemaParser(*document, options).parse(text));
    return std::shared_ptr<const SchemaDocument>(std::move(document));
  });
}

}  // namespace rill::schema
