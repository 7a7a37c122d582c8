#include "rill/json_schema.h"

#include <gtest/gtest.h>

#if defined(__linux__)
#include <sys/resource.h>
#endif

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rill {
namespace {

JsonSchema schema_of(std::string_view text, JsonSchemaOptions options = {}) {
  return JsonSchema::compile(text, options).value();
}

std::string told(const Validation& validation) {
  std::string text = to_string(validation.status);
  for (const ValidationError& error : validation.errors)
    text += "; " + error.instance + " | " + error.schema + " | " + error.message;
  return text;
}

std::string validated(std::string_view schema, std::string_view json) {
  return told(schema_of(schema).validate(json).value());
}

TEST(JsonSchemaTest, SaysWhereAndWhy) {
  const std::string_view schema =
      R"({"properties":{"a/b":{"items":{"$ref":"#/$defs/n"}},"c~":{"anyOf":[{"type":"null"},{"const":1}]},
      "d":{"allOf":[{"minLength":2},{"pattern":"x$"}]},"e":{"if":{"type":"array"},"then":{"uniqueItems":true},"else":{"type":["null","string"]}}},
      "required":["c~","q"],"additionalProperties":false,"$defs":{"n":{"maximum":3}}})";
  EXPECT_EQ(validated(schema, R"({"a/b":[1,3.0],"c~":null,"d":"xx","e":[1,2]})"),
            "invalid;  | /required | \"q\" is missing");
  EXPECT_EQ(validated(schema, R"({"q":0,"a/b":[1,5,"x"],"c~":[2],"d":"y","e":7})"),
            "invalid; /q | /additionalProperties | nothing is allowed here; /a~1b/1 | /$defs/n/maximum | too large; "
            "/c~0 | /properties/c~0/anyOf | none of them holds; /d | /properties/d/allOf/0/minLength | too short; "
            "/d | /properties/d/allOf/1/pattern | does not match the pattern; /e | /properties/e/else/type | integer, "
            "not null or string");
  EXPECT_EQ(validated(schema, R"({"q":0,"c~":1,"e":[{"x":1,"y":[]},2,{"y":[],"x":1.0}]})"),
            "invalid; /q | /additionalProperties | nothing is allowed here; /e | /properties/e/then/uniqueItems | two "
            "items are equal");
}

TEST(JsonSchemaTest, ErrorsNameOtherDocuments) {
  JsonSchemaOptions options{.documents = {{"https://x.org/n.json", R"({"properties":{"a":{"type":"integer"}}})"}}};
  const JsonSchema schema = schema_of(R"({"$ref":"https://x.org/n.json"})", options);
  EXPECT_EQ(told(schema.validate(R"({"a":"1"})").value()),
            "invalid; /a | https://x.org/n.json#/properties/a/type | string, not integer");
}

TEST(JsonSchemaTest, WhatEndsTooEarlyIsIncomplete) {
  const JsonSchema schema = schema_of(R"({"type":"object"})");
  EXPECT_EQ(told(schema.validate(R"({"a":[1,2)").value()),
            "incomplete;  |  | JSON ends after 9 bytes, where \",\" or \"]\" is expected");
  EXPECT_EQ(schema.validate("").value().status, Validity::incomplete);
  EXPECT_EQ(schema.validate("[1").value().status, Validity::incomplete);  // whatever comes, it will not be an object
  EXPECT_EQ(told(schema.validate("{,").value()),
            "invalid;  |  | JSON is malformed at byte 1: a name or \"}\" is expected");
  EXPECT_EQ(schema.validate("{}}").value().status, Validity::invalid);
  EXPECT_EQ(schema.validate("[]").value().status, Validity::invalid);
  EXPECT_EQ(schema.validate(" {} ").value().status, Validity::valid);
}

TEST(JsonSchemaTest, NumbersAreExact) {
  EXPECT_EQ(validated(R"({"multipleOf":0.01})", "1234567890123456789.01"), "valid");
  EXPECT_EQ(validated(R"({"maximum":9007199254740992})", "9007199254740993").substr(0, 7), "invalid");
  EXPECT_EQ(validated(R"({"const":1e400})", "10e399"), "valid");
  EXPECT_EQ(validated(R"({"type":"integer"})", "1.5e1"), "valid");
  EXPECT_EQ(validated(R"({"uniqueItems":true})", "[0e10001,0]").substr(0, 7), "invalid");
  EXPECT_EQ(validated(R"({"not":{"const":[0]}})", "[-0e-99999999999999999999]").substr(0, 7), "invalid");
  const auto beyond = JsonSchema::compile(R"({"uniqueItems":true})").value().validate("[1e10001,10e10000]");
  ASSERT_FALSE(beyond.has_value());
  EXPECT_EQ(beyond.error().code, ErrorCode::limit_exceeded);
}

TEST(JsonSchemaTest, WhatCannotBeEnforcedIsRefusedOrTold) {
  const std::string_view text = R"json({"properties":{"a":{"pattern":"(?=x)"}},"x-note":1,"propertis":{}})json";
  const auto refused = JsonSchema::compile(text);
  ASSERT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("/properties/a/pattern"), std::string::npos);
  const JsonSchema lenient = schema_of(text, {.lenient = true});
  ASSERT_EQ(lenient.notes().size(), 3u);
  EXPECT_FALSE(lenient.notes()[0].annotation);
  EXPECT_EQ(lenient.notes()[2].reason, "no draft defines this keyword; \"properties\" is one edit away");
  EXPECT_EQ(lenient.validate(R"({"a":"y"})").value().status, Validity::valid);
  EXPECT_EQ(JsonSchema::compile(R"({"x-note":1})", {.strict_unknown = true}).error().code, ErrorCode::unsupported);
}

FieldCheck at_instance(std::string pointer, std::vector<std::string>& seen,
                       std::optional<std::string> message = std::nullopt) {
  return {.instance = std::move(pointer), .check = [&seen, message](const JsonField& field) {
            seen.push_back(std::string(field.pointer) + " " + std::string(field.json) + " " + std::string(field.text));
            return message;
          }};
}

TEST(JsonSchemaTest, ChecksSeeFieldsByTheirPointer) {
  std::vector<std::string> seen;
  const JsonSchema schema =
      schema_of("{\"properties\":{\"n\":{\"type\":\"integer\"}}}",
                {.checks = {at_instance("/o/*/t~1~0", seen), at_instance("/o/1", seen), at_instance("", seen)}});
  EXPECT_EQ(schema.validate(R"({"o":[{"t/~":"\u00e9"},[1, 2],{"t/~":null}]})").value().status, Validity::valid);
  EXPECT_EQ(seen,
            (std::vector<std::string>{
                "/o/0/t~1~0 \"\\u00e9\" \u00e9", "/o/2/t~1~0 null null", "/o/1 [1, 2] [1, 2]",
                R"( {"o":[{"t/~":"\u00e9"},[1, 2],{"t/~":null}]} {"o":[{"t/~":"\u00e9"},[1, 2],{"t/~":null}]})"}));
  seen.clear();
  EXPECT_EQ(schema.validate(R"({"n":"1","o":[]})").value().status, Validity::invalid);
  EXPECT_TRUE(seen.empty());  // only what the schema holds valid is checked
}

TEST(JsonSchemaTest, WhatChecksSayAndThrowAreErrors) {
  std::vector<std::string> seen;
  const JsonSchema schema = schema_of(
      "{}", {.checks = {at_instance("/a", seen, "too late"),
                        {.instance = "/b",
                         .check = [](const JsonField&) -> std::optional<std::string> {
                           throw std::runtime_error("no \"b\"");
                         }},
                        {.instance = "/c", .check = [](const JsonField&) -> std::optional<std::string> { throw 1; }}}});
  EXPECT_EQ(told(schema.validate(R"({"c":0,"b":0,"a":0})").value()),
            "invalid; /a |  | too late; /b |  | no \"b\"; /c |  | the check threw something that is no std::exception");
  EXPECT_EQ(told(schema.validate(R"({"d":0})").value()), "valid");
}

// Not where the subschema is only asked about, nor in an alternative that does not hold.
TEST(JsonSchemaTest, ChecksBySchemaRunWhereItCounts) {
  std::vector<std::string> seen;
  const auto check = [&](const std::string& pointer) {
    return FieldCheck{.schema = pointer, .check = [&seen](const JsonField& field) -> std::optional<std::string> {
                        seen.push_back(std::string(field.pointer) + "=" + std::string(field.text));
                        return std::nullopt;
                      }};
  };
  const JsonSchema schema = schema_of(R"({"$defs":{"s":{"type":"string"}},
      "properties":{"a":{"$ref":"#/$defs/s"},"b":{"not":{"items":{"$ref":"#/$defs/s"}}},"c":{"anyOf":[{"items":{"$ref":"#/$defs/s"},"maxItems":1},{"type":"array"}]},
                    "d":{"contains":{"$ref":"#/$defs/s"}},"e":{"if":{"$ref":"#/$defs/s"},"then":true,"else":{"items":{"$ref":"#/$defs/s"}}}},
      "unevaluatedProperties":{"$ref":"#/$defs/s"}})",
                                      {.checks = {check("/$defs/s")}});
  EXPECT_EQ(schema.validate(R"({"a":"1","b":["2",3],"c":["4"],"d":[5,"6"],"e":["7"],"f":"8"})").value().status,
            Validity::valid);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<std::string>{"/a=1", "/c/0=4", "/d/1=6", "/e/0=7", "/f=8"}));
  seen.clear();
  EXPECT_EQ(schema.validate(R"({"c":["4","4"],"e":"7"})").value().status, Validity::valid);
  EXPECT_EQ(seen, (std::vector<std::string>{"/e=7"}));
}

TEST(JsonSchemaTest, ChecksThatMeanNothingAreRefused) {
  const auto code = [](FieldCheck check) {
    return JsonSchema::compile("{}", {.checks = {std::move(check)}}).error().code;
  };
  const auto fine = [](const JsonField&) { return std::optional<std::string>(); };
  EXPECT_EQ(code({.check = fine}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({.instance = "/a"}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({.instance = "/a", .schema = "", .check = fine}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({.instance = "a", .check = fine}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({.instance = "/~2", .check = fine}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({.schema = "/$defs/none", .check = fine}), ErrorCode::invalid_argument);
  EXPECT_EQ(JsonSchema::compile("{}", {.limits = {.max_errors = 0}}).error().code, ErrorCode::invalid_argument);
}

template <typename T>
void expect_limit(const Result<T>& result, std::string_view limit) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::limit_exceeded);
  EXPECT_NE(result.error().message.find(limit), std::string::npos) << result.error().message;
}

TEST(JsonSchemaTest, LimitsAreNamed) {
  expect_limit(schema_of("{}", {.limits = {.max_bytes = 3}}).validate("[11]"), "max_bytes = 3");
  expect_limit(schema_of("{}", {.limits = {.max_depth = 3}}).validate("[[[["), "max_depth = 3");
  expect_limit(schema_of("{}", {.limits = {.max_values = 3}}).validate("[1,2,3]"), "max_values = 3");
  expect_limit(schema_of(R"({"items":{}})", {.limits = {.max_steps = 20}}).validate("[1,1,1,1]"), "max_steps = 20");
  EXPECT_EQ(schema_of(R"({"items":false})", {.limits = {.max_errors = 2}}).validate("[1,1,1,1]").value().errors.size(),
            2u);
  expect_limit(JsonSchema::compile(R"({"items":{"items":{}}})", {.limits = {.max_subschemas = 2}}),
               "schema: more than max_subschemas = 2");
}

// They are no limits of JsonSchemaLimits, which have the same names.
TEST(JsonSchemaTest, LimitsOfSchemasThemselvesAreToldApart) {
  const std::string deep(300, '[');
  expect_limit(JsonSchema::compile(deep), "schema: JSON is nested deeper than max_depth = 256");
  expect_limit(JsonSchema::compile(R"({"$ref":"u:x"})", {.documents = {{"u:x", deep}}}), "schema u:x: JSON is nested");
  expect_limit(JsonSchema::compile(std::string((16 << 20) + 1, ' ')), "schema: a JSON text of 16777217 bytes, max_bytes");
  std::string zeros = "[0";
  for (int i = 0; i < 1'000'000; ++i) zeros += ",0";
  expect_limit(JsonSchema::compile(zeros), "schema: JSON has more than max_values = 1000000");
  std::string patterns = "{\"patternProperties\":{";
  for (int i = 0; i < 60; ++i) patterns += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "(a{1000}){99}\":{}";
  expect_limit(JsonSchema::compile(patterns + "}}"), "schema: patterns of more than max_pattern_instructions = 4000000");
}

TEST(JsonSchemaTest, HostilePairsOfSchemaAndTextEnd) {
  const auto validate = [](const std::string& schema, const std::string& json) {
    return schema_of(schema, {.limits = {.max_steps = 300'000}}).validate(json);
  };
  std::string list = "[0";
  for (int i = 1; i < 3000; ++i) list += ',' + std::to_string(i);
  list += ']';
  expect_limit(validate("{\"items\":{\"enum\":" + list + "}}", list), "max_steps");
  expect_limit(validate(R"json({"pattern":"(a|b)*c{500}$"})json", '"' + std::string(100'000, 'a') + '"'), "max_steps");
  expect_limit(validate("{\"multipleOf\":1." + std::string(5000, '3') + "}", std::string(100'000, '7')), "max_steps");
  const std::string unique = R"({"$defs":{"u":{"uniqueItems":true,"items":{"$ref":"#/$defs/u"}}},"$ref":"#/$defs/u"})";
  expect_limit(validate(unique, std::string(500, '[') + list + std::string(500, ']')), "max_steps");
  const std::string named = "{\"" + std::string(100'000, 'n') + "\":" + list + "}";  // a pointer is as long as the name
  expect_limit(validate(R"({"additionalProperties":{"items":false}})", named), "max_steps");
}

#if defined(__linux__)
long most_kib_so_far() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// The pointers of all values would be 2 GiB each time.
TEST(JsonSchemaTest, PointersOfValuesAreNotAllKept) {
  std::string text = "{\"" + std::string(100'000, 'n') + "\":[0";
  for (int i = 1; i < 20'000; ++i) text += ",0";
  text += "]}";
  const long before = most_kib_so_far();
  const auto fine = [](const JsonField&) { return std::optional<std::string>(); };
  EXPECT_EQ(schema_of(R"({"additionalProperties":{"items":false}})").validate(text).value().errors.size(), 100u);
  for (const FieldCheck& check : {FieldCheck{.instance = "/*/*", .check = fine},
                                  FieldCheck{.schema = "/additionalProperties/items", .check = fine}}) {
    const JsonSchema schema =
        schema_of(R"({"additionalProperties":{"items":{}}})", {.checks = {check}, .limits = {.max_steps = 3'000'000}});
    expect_limit(schema.validate(text), "max_steps");  // spelled one by one
  }
  EXPECT_LT(most_kib_so_far() - before, 256 << 10);
}
#endif

TEST(JsonSchemaTest, StepsGrowWithTheText) {
  std::string text = "{", schema = R"({"additionalProperties":false,"required":["k1"],"properties":{)";
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = "\"k" + std::to_string(i) + '"';
    text += (i > 0 ? "," : "") + name + ":" + std::to_string(i);
    schema += (i > 0 ? "," : "") + name + R"(:{"type":"integer"})";
  }
  EXPECT_EQ(schema_of(schema + "}}", {.limits = {.max_steps = 2'000'000}}).validate(text + "}").value().status,
            Validity::valid);
}

TEST(JsonSchemaTest, CanBeStopped) {
  StopSource source;
  source.request_stop();
  const JsonSchema schema = schema_of(R"({"items":{}})");
  std::string text = "[0";
  for (int i = 0; i < 100'000; ++i) text += ",0";
  EXPECT_EQ(schema.validate(text + "]", source.token()).error().code, ErrorCode::cancelled);
  EXPECT_EQ(JsonSchema::compile("{}", {.stop = source.token()}).error().code, ErrorCode::cancelled);
}

TEST(JsonSchemaTest, CompilingCanBeStoppedAnyTime) {
  constexpr std::string_view kSchema = R"({"patternProperties":{"a":true,"b":true,"c":true},"properties":{"d":{"pattern":"e"}}})";
  for (int before = 0;; ++before) {  // how often the token is polled until it says stop
    int polls = 0;
    const auto schema = JsonSchema::compile(kSchema, {.stop = StopToken([&] { return ++polls > before; })});
    if (schema) {
      EXPECT_EQ(before, 5 + 4);  // each subschema, each pattern
      break;
    }
    ASSERT_EQ(schema.error().code, ErrorCode::cancelled);
    ASSERT_EQ(polls, before + 1);
  }
}

TEST(JsonSchemaTest, ThreadsShareOne) {
  const JsonSchema schema = schema_of(R"({"items":{"type":"integer","maximum":500},"uniqueItems":true})");
  std::vector<std::thread> threads;
  std::vector<int> valid(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 400; i < 600; ++i) {
        const auto result = schema.validate("[1," + std::to_string(i) + "]").value();
        valid[static_cast<std::size_t>(t)] += result.status == Validity::valid ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(valid, std::vector<int>(4, 101));
}

}  // namespace
}  // namespace rill
