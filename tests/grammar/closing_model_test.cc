// Budgets with SmolLM2's vocabulary: what the shortest text takes, and that answers keep to it.
#include <gtest/gtest.h>

#include "grammar/closing_schemas.h"
#include "rill/model.h"
#include "support/real_models.h"

namespace rill::grammar {
namespace {

TEST(ClosingOfSchemas, AnswersAreWholeAndValidWithARealVocabulary) {
  RILL_REQUIRE_MODEL(path, "SmolLM2-135M-Instruct.Q4_1.gguf");
  const auto model = Model::load(path).value();
  for (const std::string_view schema : kClosingSchemas) {
    const auto shortest = finishes_within_budgets(schema, {}, model->tokenizer(), 1);
    EXPECT_TRUE(shortest) << schema << ": " << shortest.error().message;
  }
}

// Shortest texts, written by hand.
TEST(ClosingOfSchemas, ShortestTokensAreHardlyMoreThanTheTokenizerMakes) {
  RILL_REQUIRE_MODEL(path, "SmolLM2-135M-Instruct.Q4_1.gguf");
  const auto model = Model::load(path).value();
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "0"},
      {R"({"type":"object","required":["name","age"],"properties":{"name":{"type":"string"},"age":{"type":"integer"}}})",
       R"({"name":"","age":0})"},
      {R"({"enum":["a rather long text","another text that is longer still"]})", R"("a rather long text")"},
      {R"({"type":"array","minItems":3,"items":{"type":"object","required":["temperature"],"properties":{"temperature":{"type":"number"}}}})",
       R"([{"temperature":0},{"temperature":0},{"temperature":0}])"},
      {R"({"type":"object","required":["when"],"properties":{"when":{"type":"string","format":"date"}}})",
       R"({"when":"0000-01-01"})"},
      {R"({"oneOf":[{"properties":{"bar":{"type":"integer"}},"required":["bar"]},{"properties":{"foo":{"type":"string"}},"required":["foo"]}]})",
       R"({"bar":0})"},
      {R"({"type":"object","properties":{"in":{"type":"object","minProperties":1,"additionalProperties":{"type":"string"}}},"required":["in"]})",
       R"({"in":{"":""}})"},
      {R"({"type":"integer","minimum":123456})", "123456"},
  };
  for (const auto& [schema, text] : cases) {
    const auto grammar = Grammar::json_schema(schema).value();
    ASSERT_TRUE(grammar.match(text).value().matches) << schema << " lacks " << text;
    const auto encoded = model->tokenizer().encode(text, {.add_special = AddSpecial::never}).value();
    const auto shortest = GrammarMatcher::create(grammar, model->tokenizer()).value().shortest_tokens().value();
    EXPECT_LE(static_cast<double>(shortest), 1.1 * static_cast<double>(encoded.size() + 1)) << schema;
  }
}

}  // namespace
}  // namespace rill::grammar
