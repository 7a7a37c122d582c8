// Random schemas and random instances: the grammar in any order holds what the validator holds valid, and in declared
// order nothing else.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "rill/grammar.h"
#include "schema/validator.h"

namespace rill {
namespace {

class Chance {
 public:
  explicit Chance(std::uint32_t seed) : random_(seed) {}

  std::string instance(int depth) {
    switch (below(depth > 0 ? 6 : 4)) {
      case 0: return pick({"null", "true", "false"});
      case 1: return std::to_string(static_cast<int>(below(7)) - 3);
      case 2: return pick({"0.5", "1.5", "-2.5", "2.0"});
      case 3: return '"' + pick({"", "a", "b", "ab", "ba", "abc"}) + '"';
      case 4: return '[' + list(below(4), [&](std::size_t) { return instance(depth - 1); }) + ']';
      default: {
        std::vector<std::string> names{"a", "b", "c", "ab"};
        std::shuffle(names.begin(), names.end(), random_);
        return '{' + list(below(4), [&](std::size_t i) { return '"' + names[i] + "\":" + instance(depth - 1); }) + '}';
      }
    }
  }

  std::string schema(int depth) {
    if (below(12) == 0) return pick({"true", "false", "{}"});
    return '{' + list(1 + below(3), [&](std::size_t i) { return keyword(depth, i); }) + '}';
  }

 private:
  std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_); }
  std::string pick(std::initializer_list<const char*> choices) { return choices.begin()[below(choices.size())]; }
  std::string number() { return std::to_string(static_cast<int>(below(7)) - 3); }
  std::string count() { return std::to_string(below(4)); }

  template <typename Make>
  std::string list(std::size_t size, Make make) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += (i > 0 ? "," : "") + make(i);
    return text;
  }
  std::string schemas(int depth) {
    return '[' + list(1 + below(3), [&](std::size_t) { return schema(depth - 1); }) + ']';
  }
  std::string named(int depth, std::initializer_list<const char*> names) {
    return '{' + list(1 + below(2), [&](std::size_t i) {
      return '"' + std::string(names.begin()[i]) + "\":" + schema(depth - 1);
    }) + '}';
  }

  // `place` keeps a schema from having one keyword twice: the third of the keywords that it is drawn from.
  std::string keyword(int depth, std::size_t place) {
    const auto member = [](const std::string& name, const std::string& value) { return '"' + name + "\":" + value; };
    if (place == 0 || depth == 0) {
      if (place > 0) return member(pick({"minimum", "maxLength", "minItems"}), count());
      switch (below(3)) {
        case 0: return member("type", '"' + pick({"integer", "number", "string", "array", "object", "boolean"}) + '"');
        case 1: return member("enum", '[' + list(1 + below(3), [&](std::size_t) { return instance(1); }) + ']');
        default: return member("const", instance(1));
      }
    }
    if (place == 1) {
      switch (below(9)) {
        case 0: return member(pick({"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}), number());
        case 1: return member("multipleOf", pick({"1", "2", "0.5", "3"}));
        case 2:
          return member(pick({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}), count());
        case 3: return member("pattern", '"' + pick({"^a", "b$", "^(ab)*$", "a.?b"}) + '"');
        case 4: return member("uniqueItems", "true");
        case 5: return member("required", pick({R"(["a"])", R"(["a","c"])", R"(["b"])"}));
        case 6: return member("items", schema(depth - 1));
        case 7: return member("additionalProperties", schema(depth - 1));
        default: return member("dependentRequired", pick({R"({"a":["b"]})", R"({"b":["c","a"]})"}));
      }
    }
    switch (below(12)) {
      case 0: return member("properties", named(depth, {"a", "b"}));
      case 1: return member("patternProperties", named(depth, {"^a", "b$"}));
      case 2: return member("prefixItems", schemas(depth));
      case 3: return member("contains", schema(depth - 1)) + (below(2) ? ",\"maxContains\":1" : "");
      case 4: return member("allOf", schemas(depth));
      case 5: return member("anyOf", schemas(depth));
      case 6: return member("oneOf", schemas(depth));
      case 7: return member("not", schema(depth - 1));
      case 8:
        return member("if", schema(depth - 1)) + ',' + member("then", schema(depth - 1)) + ',' +
               member("else", schema(depth - 1));
      case 9: return member("propertyNames", schema(depth - 1));
      case 10: return member("dependentSchemas", named(depth, {"a", "b"}));
      default: return member(pick({"unevaluatedProperties", "unevaluatedItems"}), schema(depth - 1));
    }
  }

  std::mt19937 random_;
};

TEST(JsonSchemaRandom, GrammarsHoldWhatTheValidatorHoldsValid) {
  int valid = 0, invalid = 0, empty = 0;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    Chance chance(seed);
    const std::string text = chance.schema(3);
    const auto document = schema::SchemaDocument::parse(text).value();
    const auto validator = schema::Validator::create(document).value();
    const auto compile = [&](PropertyOrder order) {
      return Grammar::json_schema(text, {.property_order = order, .whitespace = JsonWhitespace::compact});
    };
    const auto any = compile(PropertyOrder::any), declared = compile(PropertyOrder::declared);
    if (!any) {  // of which the instances below may prove that it is wrong
      ASSERT_EQ(any.error().code, ErrorCode::invalid_argument) << text << ": " << any.error().message;
      ++empty;
    }
    for (int i = 0; i < 60; ++i) {
      const std::string instance = chance.instance(2);
      const bool is_valid = validator->is_valid(schema::SchemaId{}, schema::JsonDocument::parse(instance).value().root());
      ++(is_valid ? valid : invalid);
      ASSERT_EQ(any && any->match(instance).value().matches, is_valid) << "seed " << seed << ": " << text << " and " << instance;
      if (declared && declared->match(instance).value().matches) {
        ASSERT_TRUE(is_valid) << "seed " << seed << ": " << text << " and " << instance;
      }
    }
  }
  EXPECT_GT(valid, 10'000);
  EXPECT_GT(invalid, 10'000);
  EXPECT_LT(empty, 1000);
}

}  // namespace
}  // namespace rill
