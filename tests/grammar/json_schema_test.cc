#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "rill/grammar.h"

namespace rill {
namespace {

const JsonGrammarOptions kCompact{.whitespace = JsonWhitespace::compact};

class Language {
 public:
  explicit Language(std::string_view schema, const JsonGrammarOptions& options = kCompact)
      : grammar_(Grammar::json_schema(schema, options)) {
    EXPECT_TRUE(grammar_.has_value()) << schema << ": " << grammar_.error().message;
  }
  bool has(std::string_view text) const { return grammar_ && grammar_->match(text).value().matches; }
  std::size_t matching_bytes(std::string_view text) const { return grammar_->match(text).value().matching_bytes; }
  const Grammar& grammar() const { return *grammar_; }

 private:
  Result<Grammar> grammar_;
};

void expect_language(std::string_view schema, std::initializer_list<std::string_view> in,
                     std::initializer_list<std::string_view> out, const JsonGrammarOptions& options = kCompact) {
  const Language language(schema, options);
  for (const std::string_view text : in) EXPECT_TRUE(language.has(text)) << schema << " lacks " << text;
  for (const std::string_view text : out) EXPECT_FALSE(language.has(text)) << schema << " has " << text;
}

TEST(JsonSchemaTest, J01LowerBounds) {
  expect_language(R"({"type":"integer","minimum":7})", {"7", "10", "70", "700"}, {"6", "07", "-1", "", "0", "7.5"});
  expect_language(R"({"type":"integer","minimum":123})", {"123", "124", "130", "200", "1000"}, {"122", "99", "0"});
}

TEST(JsonSchemaTest, J02NegativeLowerBounds) {
  expect_language(R"({"type":"integer","minimum":-5})", {"-5", "-1", "0", "7", "100"}, {"-", "-6", "-10", "-05"});
}

TEST(JsonSchemaTest, BoundsOfNumbersAreExact) {
  expect_language(R"({"type":"number","minimum":0.5,"exclusiveMaximum":2.25})", {"0.5", "0.50", "1", "2", "2.2", "2.2499"},
                  {"0.4999", "0", "2.25", "2.250", "3", "-1", "10"});
  expect_language(R"({"exclusiveMinimum":-1.5,"maximum":0,"type":"number"})", {"-1.49", "-1", "0", "-0.1", "-0"},
                  {"-1.5", "-1.50", "-2", "0.1", "1"});
  expect_language(R"({"type":"integer","multipleOf":7,"minimum":0,"maximum":30})", {"0", "7", "28"}, {"1", "35", "-7"});
  expect_language(R"({"type":"number","multipleOf":0.01})", {"1.25", "3", "0.1"}, {"0.125"});
  expect_language(R"({"type":"array","items":{"multipleOf":7,"type":"integer"}})", {"[14,70000000000000000000007]", "[]"},
                  {"[15]"});
}

TEST(JsonSchemaTest, BoundsHoldForAllShortNumbers) {
  std::vector<std::string> texts{""};
  for (std::size_t i = 0; texts[i].size() < 5; ++i) {
    for (const char c : std::string_view("0159.-")) texts.push_back(texts[i] + c);
  }
  const std::regex plain("-?(0|[1-9][0-9]*)([.][0-9]+)?");
  std::erase_if(texts, [&](const std::string& text) { return !std::regex_match(text, plain) && text.size() > 3; });
  const std::pair<std::string_view, bool (*)(double, double)> keywords[] = {
      {"minimum", [](double x, double bound) { return x >= bound; }},
      {"exclusiveMinimum", [](double x, double bound) { return x > bound; }},
      {"maximum", [](double x, double bound) { return x <= bound; }},
      {"exclusiveMaximum", [](double x, double bound) { return x < bound; }},
      {"const", [](double x, double bound) { return x == bound; }}};
  for (const std::string bound : {"0", "-0.05", "0.5", "1.05", "9", "-10", "19.9", "99", "100", "-591.5"}) {
    for (const auto& [keyword, holds] : keywords) {
      const std::string schema = R"({"type":"number",")" + std::string(keyword) + "\":" + bound + '}';
      const Language language(schema);
      for (const std::string& text : texts) {
        const bool expected = std::regex_match(text, plain) && holds(std::stod(text), std::stod(bound));
        ASSERT_EQ(language.has(text), expected) << schema << ' ' << text;
      }
    }
  }
}

TEST(JsonSchemaTest, BoundsOfManyDigits) {
  const std::string zeros(2999, '0'), many(10'000, '0');
  expect_language(R"({"minimum":1e-3000})", {"0." + zeros + '1', "0." + zeros + "10", "1", "0.1"},
                  {"0", "0." + zeros + '0', "0." + zeros + "09", "-1"});
  expect_language(R"({"exclusiveMaximum":1e-3000})", {"0", "0." + zeros + "09", "-1"}, {"0." + zeros + '1', "1"});
  expect_language(R"({"const":1e-9000})", {"1e-9000", "0." + std::string(8999, '0') + "100"}, {"0", "1e-900", "1"});
  expect_language(R"({"const":-1e10000})", {"-1e10000", "-1" + many, "-1" + many + ".0"}, {"1" + many, "-1", "-1" + many + '0'});
  expect_language(R"({"minimum":1e10000})", {"1" + many, "2" + many}, {"9" + many.substr(1), "1"});
}

TEST(JsonSchemaTest, EnumsOfManyValues) {
  std::string integers = "{\"enum\":[0", strings = "{\"enum\":[\"0\"", lists = "{\"enum\":[[0]";
  for (int i = 1; i < 20'000; ++i) {
    const std::string number = std::to_string(i);
    integers += ',' + number, strings += ",\"" + number + '"', lists += ",[" + number + ']';
  }
  expect_language(integers + "]}", {"0", "7.0", "19999"}, {"20000", "0.5", "-1", "\"0\""});
  expect_language(strings + "]}", {"\"0\"", "\"19999\""}, {"\"20000\"", "0"});
  expect_language(lists + "]}", {"[0]", "[19999]"}, {"[20000]", "0", "[]"});
}

TEST(JsonSchemaTest, NumbersWhoseExponentsAreTooLargeToCountWith) {
  for (const std::string_view schema :
       {R"({"const":[1e10001]})", R"({"enum":[{"a":-1e-20000},{"a":[[1E+99999]]}]})", R"({"not":{"const":1e10001}})",
        R"({"not":{"enum":[[1e10001]]}})", R"({"type":"number","minimum":1e10001})", R"({"const":1e10001})",
        R"({"type":"number","multipleOf":1e-10001})", R"({"minLength":1e10001})", R"({"const":1e99999999999999999999})"}) {
    const auto grammar = Grammar::json_schema(schema, kCompact);
    ASSERT_FALSE(grammar.has_value()) << schema;
    EXPECT_EQ(grammar.error().code, ErrorCode::limit_exceeded) << schema;
    EXPECT_NE(grammar.error().message.find("max_exponent = 10000"), std::string::npos) << grammar.error().message;
  }
  expect_language(R"({"const":[0e99999999999999999999]})", {"[0]", "[0.0]"}, {"[1]"});
}

TEST(JsonSchemaTest, J03NothingIsDroppedInSilence) {
  expect_language(R"({"type":"number","minimum":0})", {"0", "1.5"}, {"-1"});
  expect_language(R"({"type":"array","items":{"type":"integer"},"uniqueItems":true})", {"[1,2]", "[]"}, {"[1,1]", "[1,2,1.0]"});
  expect_language(R"({"type":"string","format":"idn-email"})", {R"("é@example.com")"}, {R"("no mail")"});
  const auto refused = Grammar::json_schema(
      R"_({"properties":{"a":{"pattern":"(?=x)"},"b":{"type":"string","format":"idn-hostname"}}})_");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("/properties/a/pattern"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("/properties/b/format"), std::string::npos) << refused.error().message;
  const auto lenient = Grammar::json_schema(R"_({"pattern":"(?=x)","type":"string"})_", {.lenient = true}).value();
  ASSERT_EQ(lenient.notes().size(), 1u);
  EXPECT_EQ(lenient.notes()[0].pointer, "/pattern");
  EXPECT_FALSE(lenient.notes()[0].annotation);
}

TEST(JsonSchemaTest, J05ObjectsWithoutProperties) {
  constexpr std::string_view kEmpty = R"({"type":"object","properties":{},"additionalProperties":false})";
  expect_language(kEmpty, {"{}"}, {R"({"a":1})"});
  expect_language(R"({"anyOf":[{"type":"object","properties":{},"additionalProperties":false},
                     {"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}]})",
                  {"{}", R"({"x":1})"}, {R"({"a":1})", R"({"x":"1"})"});
}

TEST(JsonSchemaTest, J08EnumBehindReference) {
  expect_language(R"({"$defs":{"c":{"enum":["red","blue"]}},"type":"object","properties":{"k":{"$ref":"#/$defs/c"}},
                     "required":["k"]})",
                  {R"({"k":"red"})", R"({"k":"blue"})"}, {R"({"k":"green"})", "{}"});
}

TEST(JsonSchemaTest, J09Recursion) {
  expect_language(R"({"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"v":{"type":"integer"},
                     "k":{"type":"array","items":{"$ref":"#/$defs/t"}}},"required":["v"],"additionalProperties":false}}})",
                  {R"({"v":1})", R"({"v":1,"k":[{"v":2,"k":[{"v":3}]}]})"}, {R"({"k":[]})", R"({"v":1,"k":[{"k":[]}]})"});
  const auto ring = Grammar::json_schema(R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})");
  ASSERT_FALSE(ring.has_value());
  EXPECT_EQ(ring.error().code, ErrorCode::malformed);
}

TEST(JsonSchemaTest, J14Escapes) {
  const Language language(R"({"type":"string"})");
  EXPECT_EQ(language.matching_bytes(R"("\q)"), 2u);
  EXPECT_TRUE(language.has(R"("\n\u00e9")"));
  EXPECT_TRUE(language.has(R"("\ud83d\ude00")"));
  EXPECT_FALSE(language.has(R"("\ud83d")"));
  EXPECT_FALSE(language.has(R"("\u12")"));
  EXPECT_EQ(language.matching_bytes("\"a\nb\""), 2u);
}

TEST(JsonSchemaTest, J18TheRightQuotesEndStringsAndKeys) {
  const Language language(R"({"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}}},
                             "required":["tags"],"additionalProperties":false})");
  EXPECT_FALSE(language.has(R"({"tags":["x","]})"));
  EXPECT_EQ(language.matching_bytes("{\"tags'"), 6u);
}

TEST(JsonSchemaTest, J20CommasAroundOptionalProperties) {
  expect_language(
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"additionalProperties":false})",
      {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"}, {R"({,"b":1})", R"({"a":1,})", R"({"b":1,"a":2})"});
}

TEST(JsonSchemaTest, J22MisspeltKeywords) {
  constexpr std::string_view kSchema = R"({"properties":{"v":{"anyof":[{"type":"string"}]}}})";
  const auto grammar = Grammar::json_schema(kSchema).value();
  ASSERT_EQ(grammar.notes().size(), 1u);
  EXPECT_EQ(grammar.notes()[0].pointer, "/properties/v/anyof");
  EXPECT_NE(grammar.notes()[0].reason.find("anyOf"), std::string::npos);
  const auto strict = Grammar::json_schema(kSchema, {.strict_unknown = true});
  ASSERT_FALSE(strict.has_value());
  EXPECT_NE(strict.error().message.find("anyof"), std::string::npos);
}

TEST(JsonSchemaTest, J23DeepSchemas) {
  for (const std::string_view open : {R"({"items":)", R"({"allOf":[)"}) {
    std::string schema;
    for (int i = 0; i < 5000; ++i) schema += open;
    schema += "{}";
    for (int i = 0; i < 5000; ++i) schema += open.ends_with('[') ? "]}" : "}";
    const auto refused = Grammar::json_schema(schema);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::limit_exceeded);
  }
}

TEST(JsonSchemaTest, NamesHaveNoSecondSpelling) {
  const Language language(R"({"type":"object","properties":{"a":{"type":"integer"},"é":{"type":"integer"}}})");
  EXPECT_TRUE(language.has(R"({"a":1,"b":"x"})"));
  EXPECT_FALSE(language.has(R"({"\u0061":"x"})"));
  EXPECT_TRUE(language.has(R"({"\u00e9":1})"));
  EXPECT_FALSE(language.has(R"({"\u00e9":"x"})"));
  EXPECT_FALSE(language.has(R"({"\u00E9":"x"})"));
}

TEST(JsonSchemaTest, CombinationsAreExact) {
  expect_language(R"({"type":"integer","not":{"enum":[3,4]},"minimum":2,"maximum":6})", {"2", "5", "6"}, {"3", "4", "7"});
  expect_language(R"({"oneOf":[{"type":"integer"},{"minimum":5}]})", {"3", "5.5", "\"x\""}, {"6", "4.5"});
  expect_language(R"({"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"required":["b"]},
                     "properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"additionalProperties":false,"type":"object"})",
                  {R"({"a":2})", R"({"a":1,"b":0})", "{}"}, {R"({"a":1})"});
  expect_language(R"({"type":"array","contains":{"const":1},"items":{"type":"integer"}})", {"[1]", "[0,1,2]"}, {"[]", "[0,2]"});
  expect_language(
      R"({"type":"object","patternProperties":{"^a":{"type":"integer"},"z$":{"minimum":3}},"additionalProperties":false})",
      {R"({"az":3})", R"({"a":0,"z":"x"})"}, {R"({"az":2})", R"({"b":1})", R"({"az":"x"})"});
  expect_language(
      R"({"allOf":[{"properties":{"a":{"type":"integer"}}},{"required":["a"]}],"unevaluatedProperties":false,"type":"object"})",
      {R"({"a":1})"}, {R"({"a":1,"b":2})", "{}"});
  expect_language(R"({"type":"string","minLength":2,"maxLength":3,"pattern":"^[a-c]*$"})", {R"("ab")", R"("abc")"},
                  {R"("a")", R"("abcd")", R"("ax")"});
  expect_language(R"({"type":"object","minProperties":2,"maxProperties":2,"additionalProperties":{"type":"integer"}})",
                  {R"({"a":1,"b":2})"}, {R"({"a":1})", R"({"a":1,"a":2})", R"({"a":1,"b":2,"c":3})"});
}

TEST(JsonSchemaTest, ContainsIsCountedAmongOtherCounts) {
  expect_language(R"({"type":"array","items":{"type":"integer"},"contains":{"minimum":5},"minContains":2})",
                  {"[5,6]", "[1,5,1,7,1]", "[9,9,9]"}, {"[]", "[5]", "[1,5,1]"});
  expect_language(
      R"({"type":"array","items":{"type":"integer"},"contains":{"minimum":5},"minContains":2,"maxContains":2,"minItems":3,"maxItems":4})",
      {"[5,6,1]", "[1,5,1,7]"}, {"[5,6]", "[5,6,7]", "[5,6,1,1,1]", "[5,1,1]"});
  expect_language(
      R"({"type":"array","prefixItems":[{"const":9},{"type":"string"}],"items":{"type":"integer"},"contains":{"minimum":5,"type":"integer"}})",
      {"[9]", "[9,\"a\",1]"}, {"[]", "[5]", "[9,5]"});
  EXPECT_EQ(Grammar::json_schema(R"({"type":"array","maxItems":2,"contains":{"type":"null"},"minContains":3})").error().code,
            ErrorCode::invalid_argument);
}

TEST(JsonSchemaTest, NegatedCountsAreCheckedToo) {
  for (const PropertyOrder order : {PropertyOrder::declared, PropertyOrder::any}) {
    expect_language(R"({"type":"object","not":{"maxProperties":2}})", {R"({"a":1,"b":2,"c":3})"},
                    {R"({"a":1,"b":2})", R"({"a":1,"b":2,"a":3})", "{}"},
                    {.property_order = order, .whitespace = JsonWhitespace::compact});
    expect_language(R"({"type":"object","not":{"minProperties":2}})", {"{}", R"({"a":1})"}, {R"({"a":1,"b":2})"},
                    {.property_order = order, .whitespace = JsonWhitespace::compact});
  }
}

TEST(JsonSchemaTest, NegationsOfRecursiveSchemasEnd) {
  expect_language(R"({"type":"object","additionalProperties":{"type":["object","null"]},
                     "not":{"required":["a"],"properties":{"a":{"$ref":"#"}}}})",
                  {"{}", R"({"a":null})", R"({"a":{"a":{}}})"}, {R"({"a":{}})", R"({"a":{"a":{"a":{}}}})", R"({"b":1})"});
}

// Alternatives that meet in more ways than are written out are checked when the value ends, negated ones as negated.
TEST(JsonSchemaTest, ManyAlternativesMeet) {
  std::string both, none;
  for (int i = 0; i < 16; ++i) {
    const std::string n = std::to_string(i), m = std::to_string(i + 40);
    both += (i > 0 ? "," : "") + (R"({"anyOf":[{"maximum":)" + n + R"(},{"minimum":)" + m + "}]}");
    none += (i > 0 ? "," : "") + (R"({"allOf":[{"minimum":)" + n + R"(},{"maximum":)" + m + "}]}");
  }
  expect_language(R"({"type":"integer","allOf":[)" + both + "]}", {"0", "-3", "55", "60"}, {"1", "15", "54", "30"});
  expect_language(R"({"type":"integer","not":{"anyOf":[)" + none + "]}}", {"-1", "56"}, {"0", "20", "55"});
}

TEST(JsonSchemaTest, SchemasThatExplodeReachALimit) {
  std::string properties;
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    properties +=
        (i > 0 ? "," : "") + ("\"p" + n + R"(":{"anyOf":[{"$ref":"#"},{"properties":{"p)" + n + R"(":{"minimum":)" + n + "}}}]}");
  }
  const auto refused = Grammar::json_schema(
      "{\"properties\":{" + properties + R"(},"patternProperties":{"^p":{"$ref":"#"},"[0-4]$":{"type":"object"}}})",
      {.limits = {.max_expressions = 20'000}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::limit_exceeded) << refused.error().message;
}

TEST(JsonSchemaTest, StopsWhenAsked) {
  std::string schema = R"({"enum":[)";
  for (int i = 0; i < 2000; ++i) schema += (i > 0 ? "," : "") + std::to_string(i);
  StopSource source;
  source.request_stop();
  const auto stopped = Grammar::json_schema(schema + "]}", {.stop = source.token()});
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
}

TEST(JsonSchemaTest, PropertyOrders) {
  constexpr std::string_view kSchema = R"({"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"integer"},
      "c":{"type":"integer"}},"required":["a","c"],"additionalProperties":{"type":"null"}})";
  expect_language(kSchema, {R"({"a":1,"c":2})", R"({"b":1,"a":2,"c":3,"z":null,"y":null})"},
                  {R"({"c":1,"a":2})", R"({"a":1,"b":2,"c":3})", R"({"a":1})", "{}"});
  expect_language(kSchema, {R"({"a":1,"b":2,"c":3})"}, {R"({"b":1,"a":2,"c":3})"},
                  {.property_order = PropertyOrder::alphabetical, .whitespace = JsonWhitespace::compact});
  expect_language(kSchema, {R"({"c":1,"a":2})", R"({"z":null,"c":1,"y":null,"a":2,"b":3,"z":null})", R"({"b":1,"c":1,"a":2})"},
                  {R"({"c":1})", R"({"a":1,"c":1,"a":1})", R"({"b":1,"b":1,"a":1,"c":1})", "{}", R"({"a":1,"c":1,"z":1})"},
                  {.property_order = PropertyOrder::any, .whitespace = JsonWhitespace::compact});
  // Far more orders than could ever be written out.
  std::string schema = R"({"type":"object","additionalProperties":false,"required":[)", text;
  for (int i = 0; i < 60; ++i) schema += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) + '"';
  schema += R"(],"properties":{)";
  for (int i = 0; i < 60; ++i) schema += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) + R"(":{"type":"integer"})";
  for (int i = 60; i-- > 0;) text += (text.empty() ? "{\"p" : ",\"p") + std::to_string(i) + "\":1";
  const Language language(schema + "}}", {.property_order = PropertyOrder::any, .whitespace = JsonWhitespace::compact});
  EXPECT_TRUE(language.has(text + "}"));
  EXPECT_FALSE(language.has(text + R"(,"p7":1})"));
}

TEST(JsonSchemaTest, WhitespaceAsAsked) {
  constexpr std::string_view kSchema =
      R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}},"required":["a"]})";
  expect_language(kSchema, {"{ \"a\" : [ 1 ,\n 2 ] }", R"({"a":[]})"}, {}, {.whitespace = JsonWhitespace::bounded});
  expect_language(kSchema, {"{\n  \"a\": [\n    1,\n    2\n  ]\n}"}, {R"({"a":[1]})"}, {.whitespace = JsonWhitespace::pretty});
  expect_language(kSchema, {R"({"a":[1]})"}, {R"({"a": [1]})"});
}

TEST(JsonSchemaTest, FormatsOfTheirOwnLanguages) {
  const auto of_format = [](std::string_view format) { return R"({"type":"string","format":")" + std::string(format) + "\"}"; };
  expect_language(of_format("date"), {R"("2024-02-29")", R"("2000-02-29")"},
                  {R"("2023-02-29")", R"("1900-02-29")", R"("2024-04-31")"});
  expect_language(of_format("date-time"), {R"("2024-01-01T23:59:60Z")", R"("2024-01-01T00:00:00.5+01:00")"}, {R"("2024-01-01")"});
  expect_language(of_format("ipv6"),
                  {R"("::1")", R"("1:2:3:4:5:6:7:8")", R"("::ffff:1.2.3.4")", R"("1::")", R"("1:2:3:4:5:6:7::")"},
                  {R"("1:2:3")", R"(":::")", R"("1:2:3:4:5:6:7:8:9")", R"("12345::")"});
  expect_language(of_format("uuid"), {R"("2EB8AA08-aa98-11ea-B4Aa-73B441D16380")"}, {R"("2eb8aa08aa9811eab4aa73b441d16380")"});
  expect_language(of_format("duration"), {R"("P4Y")", R"("PT0S")", R"("P1DT12H")", R"("P2W")"},
                  {R"("P")", R"("PT")", R"("P1Y2W")"});
  expect_language(of_format("regex"), {R"("^a+$")"}, {R"_("(")_"});
}

}  // namespace
}  // namespace rill
