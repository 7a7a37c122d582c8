#include "schema/validator.h"

#include <gtest/gtest.h>

#include <string>

namespace rill::schema {
namespace {

std::shared_ptr<const Validator> validator_of(std::string_view schema) {
  return Validator::create(SchemaDocument::parse(schema).value()).value();
}

bool is_valid(std::string_view schema, std::string_view json) {
  return validator_of(schema)->is_valid(SchemaId{}, JsonDocument::parse(json).value().root());
}

TEST(ValidatorTest, WhatIsDeepOrWideTakesNoStackAndNoSquare) {
  constexpr std::string_view kTree = R"({"$ref":"#/$defs/t","$defs":{"t":{"type":"array","items":{"$ref":"#/$defs/t"}}}})";
  EXPECT_TRUE(is_valid(kTree, std::string(500, '[') + std::string(500, ']')));
  EXPECT_FALSE(is_valid(kTree, std::string(499, '[') + '1' + std::string(499, ']')));
  std::string wide = "[0";
  for (int i = 1; i < 100'000; ++i) wide += ',' + std::to_string(i);
  EXPECT_TRUE(is_valid(R"({"uniqueItems":true})", wide + "]"));
  EXPECT_FALSE(is_valid(R"({"uniqueItems":true})", wide + ",7.0]"));
  // Each level holds for two alternatives, 2^60 ways in all for one that goes them one by one.
  std::string schema = R"({"$ref":"#/$defs/d0","$defs":{)";
  for (int i = 0; i < 60; ++i) {
    const std::string next = R"({"$ref":"#/$defs/d)" + std::to_string(i + 1) + "\"}";
    schema += "\"d" + std::to_string(i) + R"(":{"anyOf":[)" + next + ',' + next + "]},";
  }
  schema += R"("d60":{"type":"integer"}}})";
  EXPECT_TRUE(is_valid(schema, "1"));
  EXPECT_FALSE(is_valid(schema, "\"1\""));
}

TEST(ValidatorTest, EnumsHoldEqualValuesOnly) {
  constexpr std::string_view kValues[] = {
      "null", "true", "false", "0", "-1.5", "1e2", "1e9999", "1e10000", "\"\"", "\"a\"", "[]", "[1,[2]]", "[1,[3]]", "[[1],2]",
      "{}", R"({"a":1,"b":2})", R"({"a":1,"b":3})", R"({"a":1,"c":2})", R"([{"a":[1]}])", R"([{"a":[2]}])"};
  constexpr std::size_t kCount = std::size(kValues);
  for (std::size_t left_out = 0; left_out <= kCount; ++left_out) {
    std::string list;
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::size_t place = i * 7 % kCount;
      if (place != left_out) list += ',' + std::string(kValues[place]);
    }
    const auto validator = validator_of("{\"items\":{\"enum\":[" + list.substr(1) + "]}}");
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto document = JsonDocument::parse('[' + std::string(kValues[i]) + ']').value();
      EXPECT_EQ(validator->is_valid(SchemaId{}, document.root()), i != left_out) << list << ' ' << kValues[i];
    }
  }
  EXPECT_TRUE(is_valid(R"({"enum":[{"a":1,"b":[2]},100]})", R"({"b":[2.0],"a":10e-1})"));
  EXPECT_TRUE(is_valid(R"({"enum":[{"a":1,"b":[2]},100]})", "1e2"));
  EXPECT_FALSE(is_valid(R"({"enum":[]})", "1"));
}

TEST(ValidatorTest, MalformedSchemasAreRefused) {
  const auto code = [](std::string_view schema) { return SchemaDocument::parse(schema).error().code; };
  for (const std::string_view schema : {"1", R"({"type":"int"})", R"({"minimum":"3"})", R"({"required":[1]})", R"({"allOf":[]})",
                                        R"({"maxLength":-1})", R"({"properties":[]})", R"({"multipleOf":0})"}) {
    EXPECT_EQ(code(schema), ErrorCode::malformed) << schema;
  }
  EXPECT_EQ(code(R"({"$ref":"#/$defs/none"})"), ErrorCode::not_found);
  EXPECT_EQ(code(R"({"anyOf":[{"$ref":"#"}]})"), ErrorCode::malformed);
  EXPECT_NE(SchemaDocument::parse(R"({"properties":{"a":{"minimum":"3"}}})").error().message.find("/properties/a/minimum"),
            std::string::npos);
}

}  // namespace
}  // namespace rill::schema
