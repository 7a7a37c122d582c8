// Answers of JSON Schemas, drawn at random under a budget, are whole and valid.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "grammar/closing_schemas.h"
#include "grammar/json_schema_suite.h"
#include "grammar/toy_tokenizer.h"

namespace rill::grammar {
namespace {

namespace fs = std::filesystem;

// Every byte, and tokens across what a schema tells apart.
Tokenizer vocabulary() {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  for (const char* text : {"\"}",     "\":", "\",",  "{\"",  "[[",    "]]",   "[{",   "}]",    "1,",          "11",     ",\"",
                           "[]",      "{}",  "\"\"", "true", "false", "null", "    ", "aaaa",  "abc",         "\"a\":", "\"foo\"",
                           "\"bar\"", "é",   "},{",  "0.",   "00",    "-0",   "\n  ", "\\u00", "\"name\": \""}) {
    texts.emplace_back(text);
  }
  return toy_tokenizer(texts);
}

TEST(ClosingOfSchemas, AnswersAreWholeAndValidWithinEveryBudget) {
  const Tokenizer tokenizer = vocabulary();
  for (const PropertyOrder order : {PropertyOrder::declared, PropertyOrder::any}) {
    for (const std::string_view schema : kClosingSchemas) {
      const auto shortest = finishes_within_budgets(schema, {.property_order = order}, tokenizer, 3);
      EXPECT_TRUE(shortest) << schema << ": " << shortest.error().message;
    }
  }
}

TEST(ClosingOfSchemas, UniqueItemsWithinSmallBudgets) {
  const Tokenizer tokenizer = vocabulary();
  for (const std::string_view schema : kUniqueItems) {
    const auto shortest = finishes_within_budgets(schema, {}, tokenizer, 3, false);
    EXPECT_TRUE(shortest) << schema << ": " << shortest.error().message;
  }
}

// Of schemas that nothing is valid for as nothing that is short is.
TEST(ClosingOfSchemas, WhatHasNoEndIsAnError) {
  const Tokenizer tokenizer = vocabulary();
  for (const char* schema :
       {R"({"oneOf":[true,true]})", R"({"type":"array","uniqueItems":true,"minItems":3,"items":{"type":"boolean"}})"}) {
    const auto grammar = Grammar::json_schema(schema).value();
    const auto shortest = GrammarMatcher::create(grammar, tokenizer).value().shortest_tokens();
    ASSERT_FALSE(shortest) << schema;
    EXPECT_EQ(shortest.error().code, ErrorCode::unsupported);
  }
}

TEST(ClosingOfSchemas, SameForTheTestSuite) {
  RILL_REQUIRE_MODEL(suite, "json-schema-test-suite");
  const Tokenizer tokenizer = vocabulary();
  const auto documents = test::remotes();
  std::size_t finished = 0;
  std::string unknown;
  for (const char* draft : {"draft7", "draft2020-12"}) {
    for (const auto& entry : fs::directory_iterator(suite / "tests" / draft)) {
      if (entry.path().extension() != ".json") continue;
      const auto file = schema::JsonDocument::parse(test::text_of(entry.path())).value();
      for (std::size_t i = 0; i < file.root().size(); ++i) {
        const schema::JsonView group = file.root()[i];
        const std::string schema = test::compact(*group.find("schema"));
        const auto shortest = finishes_within_budgets(schema, {.documents = documents}, tokenizer, 1);
        if (shortest) {
          ++finished;
        } else if (shortest.error().message.find("no tokens are known") != std::string::npos) {
          unknown += std::string(group.find("description")->text()) + "\n";
        }
      }
    }
  }
  EXPECT_GT(finished, 500u);
  // Nothing is valid for them.
  std::istringstream lines(unknown);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("oneOf with boolean schemas, ") || line == "unevaluatedProperties with not") << line;
  }
}

}  // namespace
}  // namespace rill::grammar
