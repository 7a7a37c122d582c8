#include "schema/metaschemas.h"

#include <algorithm>
#include <cstdint>

namespace rill::schema {
namespace {

enum class Draft : std::uint8_t { d4, d6, d7, d2019, d2020 };

struct Metaschema {
  std::string_view uri;
  Draft draft;
};
constexpr Metaschema kMetaschemas[] = {
    {"http://json-schema.org/draft-04/schema", Draft::d4},
    {"http://json-schema.org/draft-06/schema", Draft::d6},
    {"http://json-schema.org/draft-07/schema", Draft::d7},
    {"https://json-schema.org/draft/2019-09/schema", Draft::d2019},
    {"https://json-schema.org/draft/2020-12/schema", Draft::d2020},
};

// What the value of a keyword has to be.
constexpr std::string_view kAny = "{}";
constexpr std::string_view kAnyBoolean = R"({"type":"boolean"})";
constexpr std::string_view kAnyString = R"({"type":"string"})";
constexpr std::string_view kUri = R"({"type":"string","format":"uri"})";
constexpr std::string_view kReference = R"({"type":"string","format":"uri-reference"})";
constexpr std::string_view kResource = R"({"type":"string","format":"uri-reference","pattern":"^[^#]*#?$"})";
constexpr std::string_view kOldAnchor = R"({"type":"string","pattern":"^[A-Za-z][-A-Za-z0-9.:_]*$"})";
constexpr std::string_view kAnchor = R"({"type":"string","pattern":"^[A-Za-z_][-A-Za-z0-9._]*$"})";
constexpr std::string_view kRegex = R"({"type":"string","format":"regex"})";
constexpr std::string_view kAnyNumber = R"({"type":"number"})";
constexpr std::string_view kPositive = R"({"type":"number","exclusiveMinimum":0})";
constexpr std::string_view kOldPositive = R"({"type":"number","minimum":0,"exclusiveMinimum":true})";
constexpr std::string_view kCount = R"({"type":"integer","minimum":0})";
constexpr std::string_view kAnyArray = R"({"type":"array"})";
constexpr std::string_view kOldEnum = R"({"type":"array","minItems":1,"uniqueItems":true})";
constexpr std::string_view kStrings = R"({"type":"array","items":{"type":"string"},"uniqueItems":true})";
constexpr std::string_view kSomeStrings =
    R"({"type":"array","items":{"type":"string"},"minItems":1,"uniqueItems":true})";
constexpr std::string_view kSchema = R"({"$ref":"#"})";
constexpr std::string_view kSchemas = R"({"type":"array","minItems":1,"items":{"$ref":"#"}})";
constexpr std::string_view kSchemaOrSchemas =
    R"({"anyOf":[{"$ref":"#"},{"type":"array","minItems":1,"items":{"$ref":"#"}}]})";
constexpr std::string_view kSchemaOrBoolean = R"({"anyOf":[{"type":"boolean"},{"$ref":"#"}]})";
constexpr std::string_view kNamedSchemas = R"({"type":"object","additionalProperties":{"$ref":"#"}})";
constexpr std::string_view kSchemasByPattern =
    R"({"type":"object","additionalProperties":{"$ref":"#"},"propertyNames":{"format":"regex"}})";
constexpr std::string_view kNamedStrings =
    R"({"type":"object","additionalProperties":{"type":"array","items":{"type":"string"},"uniqueItems":true}})";
constexpr std::string_view kOldDependencies = R"({"type":"object","additionalProperties":{"anyOf":[{"$ref":"#"},)"
    R"({"type":"array","items":{"type":"string"},"minItems":1,"uniqueItems":true}]}})";
constexpr std::string_view kDependencies = R"({"type":"object","additionalProperties":{"anyOf":[{"$ref":"#"},)"
    R"({"type":"array","items":{"type":"string"},"uniqueItems":true}]}})";
constexpr std::string_view kVocabulary =
    R"({"type":"object","propertyNames":{"type":"string","format":"uri"},"additionalProperties":{"type":"boolean"}})";
constexpr std::string_view kType =
    R"({"anyOf":[{"enum":["array","boolean","integer","null","number","object","string"]},{"type":"array","items":)"
    R"({"enum":["array","boolean","integer","null","number","object","string"]},"minItems":1,"uniqueItems":true}]})";

struct Keyword {
  std::string_view name, value;
  Draft first, last;
};
using enum Draft;
constexpr Keyword kKeywords[] = {
    {"id", kAnyString, d4, d4},
    {"$id", kReference, d6, d7},
    {"$id", kResource, d2019, d2020},
    {"$schema", kAnyString, d4, d4},
    {"$schema", kUri, d6, d2020},
    {"$anchor", kOldAnchor, d2019, d2019},
    {"$anchor", kAnchor, d2020, d2020},
    {"$ref", kReference, d6, d2020},
    {"$recursiveRef", kReference, d2019, d2019},
    {"$recursiveAnchor", kAnyBoolean, d2019, d2019},
    {"$dynamicRef", kReference, d2020, d2020},
    {"$dynamicAnchor", kAnchor, d2020, d2020},
    {"$vocabulary", kVocabulary, d2019, d2020},
    {"$comment", kAnyString, d7, d2020},
    {"$defs", kNamedSchemas, d2019, d2020},
    {"definitions", kNamedSchemas, d4, d2020},
    {"title", kAnyString, d4, d2020},
    {"description", kAnyString, d4, d2020},
    {"default", kAny, d4, d2020},
    {"deprecated", kAnyBoolean, d2019, d2020},
    {"readOnly", kAnyBoolean, d7, d2020},
    {"writeOnly", kAnyBoolean, d2019, d2020},
    {"examples", kAnyArray, d6, d2020},
    {"type", kType, d4, d2020},
    {"const", kAny, d6, d2020},
    {"enum", kOldEnum, d4, d4},
    {"enum", kAnyArray, d6, d2020},
    {"multipleOf", kOldPositive, d4, d4},
    {"multipleOf", kPositive, d6, d2020},
    {"maximum", kAnyNumber, d4, d2020},
    {"minimum", kAnyNumber, d4, d2020},
    {"exclusiveMaximum", kAnyBoolean, d4, d4},
    {"exclusiveMaximum", kAnyNumber, d6, d2020},
    {"exclusiveMinimum", kAnyBoolean, d4, d4},
    {"exclusiveMinimum", kAnyNumber, d6, d2020},
    {"maxLength", kCount, d4, d2020},
    {"minLength", kCount, d4, d2020},
    {"pattern", kRegex, d4, d2020},
    {"format", kAnyString, d4, d2020},
    {"contentEncoding", kAnyString, d7, d2020},
    {"contentMediaType", kAnyString, d7, d2020},
    {"contentSchema", kSchema, d2019, d2020},
    {"items", kSchemaOrSchemas, d4, d2019},
    {"items", kSchema, d2020, d2020},
    {"prefixItems", kSchemas, d2020, d2020},
    {"additionalItems", kSchemaOrBoolean, d4, d4},
    {"additionalItems", kSchema, d6, d2019},
    {"unevaluatedItems", kSchema, d2019, d2020},
    {"contains", kSchema, d6, d2020},
    {"maxItems", kCount, d4, d2020},
    {"minItems", kCount, d4, d2020},
    {"maxContains", kCount, d2019, d2020},
    {"minContains", kCount, d2019, d2020},
    {"uniqueItems", kAnyBoolean, d4, d2020},
    {"maxProperties", kCount, d4, d2020},
    {"minProperties", kCount, d4, d2020},
    {"required", kSomeStrings, d4, d4},
    {"required", kStrings, d6, d2020},
    {"properties", kNamedSchemas, d4, d2020},
    {"patternProperties", kNamedSchemas, d4, d4},
    {"patternProperties", kSchemasByPattern, d6, d2020},
    {"additionalProperties", kSchemaOrBoolean, d4, d4},
    {"additionalProperties", kSchema, d6, d2020},
    {"unevaluatedProperties", kSchema, d2019, d2020},
    {"propertyNames", kSchema, d6, d2020},
    {"dependencies", kOldDependencies, d4, d4},
    {"dependencies", kDependencies, d6, d2020},
    {"dependentRequired", kNamedStrings, d2019, d2020},
    {"dependentSchemas", kNamedSchemas, d2019, d2020},
    {"if", kSchema, d7, d2020},
    {"then", kSchema, d7, d2020},
    {"else", kSchema, d7, d2020},
    {"allOf", kSchemas, d4, d2020},
    {"anyOf", kSchemas, d4, d2020},
    {"oneOf", kSchemas, d4, d2020},
    {"not", kSchema, d4, d2020},
};

std::string text_of(const Metaschema& metaschema) {
  const bool old = metaschema.draft == d4;
  const std::string id = std::string(metaschema.uri) + (metaschema.draft < d2019 ? "#" : "");
  std::string text = "{\"$schema\":\"" + id + (old ? "\",\"id\":\"" : "\",\"$id\":\"") + id + "\",\"type\":";
  text += old ? R"("object","dependencies":{"exclusiveMaximum":["maximum"],"exclusiveMinimum":["minimum"]})"
              : R"(["object","boolean"])";
  text += ",\"properties\":{";
  for (const Keyword& keyword : kKeywords) {
    if (metaschema.draft < keyword.first || metaschema.draft > keyword.last) continue;
    if (text.back() != '{') text += ',';
    text += '"';
    text += keyword.name;
    text += "\":";
    text += keyword.value;
  }
  return text + "}}";
}

}  // namespace

std::optional<std::string> metaschema(std::string_view uri) {
  const auto found = std::find_if(std::begin(kMetaschemas), std::end(kMetaschemas),
                                  [&](const Metaschema& known) { return known.uri == uri; });
  return found == std::end(kMetaschemas) ? std::nullopt : std::optional(text_of(*found));
}

}  // namespace rill::schema
