// Verdicts of PyPI jsonschema (tests/golden/make_json_schema.py).
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "rill/json_schema.h"
#include "schema/json_document.h"

namespace rill {
namespace {

using schema::JsonKind;
using schema::JsonView;

std::set<std::string> errors_of(const Validation& validation) {
  std::set<std::string> errors;
  for (const ValidationError& error : validation.errors) {
    errors.insert(error.instance + ' ' + error.schema.substr(error.schema.rfind('/') + 1));
  }
  return errors;
}

TEST(JsonSchemaGolden, AgreesWithAnotherLibrary) {
  std::ifstream file(RILL_TEST_DATA_DIR "/golden/json_schema.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto golden = schema::JsonDocument::parse(text).value();
  std::size_t schemas = 0, valid = 0, invalid = 0, explained = 0;
  for (; schemas < golden.root().size(); ++schemas) {
    const JsonView line = golden.root()[schemas];
    const std::string_view schema_text = line[0].spelled(text);
    const auto schema = JsonSchema::compile(schema_text);
    ASSERT_TRUE(schema) << schema_text << ": " << schema.error().message;
    for (std::size_t i = 0; i < line[1].size(); ++i, ++valid) {
      const std::string_view json = line[1][i].spelled(text);
      const Validation validation = schema->validate(json).value();
      EXPECT_EQ(validation.status, Validity::valid)
          << schema_text << " and " << json << ": " << validation.errors[0].schema;
      EXPECT_TRUE(validation.errors.empty());
    }
    for (std::size_t i = 0; i < line[2].size(); ++i, ++invalid) {
      const std::string_view json = line[2][i].spelled(text);
      const Validation validation = schema->validate(json).value();
      EXPECT_EQ(validation.status, Validity::invalid) << schema_text << " and " << json;
      EXPECT_FALSE(validation.errors.empty()) << schema_text << " and " << json;
      if (i > 0 || !line[3].is(JsonKind::array)) continue;
      std::set<std::string> expected;
      for (std::size_t e = 0; e < line[3].size(); ++e) expected.emplace(line[3][e].text());
      EXPECT_EQ(errors_of(validation), expected) << schema_text << " and " << json;
      ++explained;
    }
  }
  EXPECT_EQ(schemas, 800u);
  EXPECT_GT(valid, 2000u);
  EXPECT_GT(invalid, 2000u);
  EXPECT_GT(explained, 400u);
}

}  // namespace
}  // namespace rill
