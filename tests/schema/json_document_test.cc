#include "schema/json_document.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "rill/grammar.h"

namespace rill::schema {
namespace {

TEST(JsonDocumentTest, KeepsNumbersAndTheOrderOfMembers) {
  const auto document =
      JsonDocument::parse(R"({"b":1.50,"a":[null,true,"x\u00e9"],"c":123456789012345678901234567890})").value();
  const JsonView root = document.root();
  ASSERT_EQ(root.size(), 3u);
  EXPECT_EQ(root[0].name(), "b");
  EXPECT_EQ(root[0].text(), "1.50");
  EXPECT_EQ(root.find("a")->size(), 3u);
  EXPECT_EQ((*root.find("a"))[2].text(), "xé");
  EXPECT_EQ(root.find("c")->text(), "123456789012345678901234567890");
  EXPECT_FALSE(root.find("d"));
}

TEST(JsonDocumentTest, OfMembersWithOneNameTheLastCounts) {
  std::string text = "{";
  for (int i = 0; i < 20; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  const auto document = JsonDocument::parse(text + R"("k3":1,"k15":2})").value();
  ASSERT_EQ(document.root().size(), 20u);
  EXPECT_EQ(document.root()[3].text(), "1");
  EXPECT_EQ(document.root()[15].text(), "2");
  EXPECT_EQ(document.root().find("k3")->text(), "1");
  EXPECT_EQ(document.root().find("k4")->text(), "0");
  const auto thrice = JsonDocument::parse(R"({"b":1,"a":2,"b":3,"c":4,"a":5,"b":6})").value();
  ASSERT_EQ(thrice.root().size(), 3u);
  for (const auto& [place, name, value] : {std::tuple(0u, "b", "6"), std::tuple(1u, "a", "5"), std::tuple(2u, "c", "4")}) {
    EXPECT_EQ(thrice.root()[place].name(), name);
    EXPECT_EQ(thrice.root()[place].text(), value);
    EXPECT_EQ(thrice.root().find(name)->text(), value);
  }
}

TEST(JsonDocumentTest, EqualIsByValue) {
  const auto equals = [](std::string_view a, std::string_view b) {
    const auto left = JsonDocument::parse(a).value(), right = JsonDocument::parse(b).value();
    StepBudget unlimited;
    const bool same = equal(left.root(), right.root(), unlimited);
    EXPECT_EQ(canonical(left.root(), unlimited) == canonical(right.root(), unlimited), same) << a << " and " << b;
    return same;
  };
  EXPECT_TRUE(equals(R"({"a":1,"b":[2.0]})", R"({"b":[2],"a":1e0})"));
  EXPECT_FALSE(equals("[1,2]", "[2,1]"));
  EXPECT_FALSE(equals("0", "false"));
  EXPECT_FALSE(equals("\"1\"", "1"));
  EXPECT_FALSE(equals(R"({"a":1})", R"({"b":1})"));
}

TEST(JsonDocumentTest, DamageAndDepthAreErrors) {
  EXPECT_EQ(JsonDocument::parse("{\"a\":}").error().code, ErrorCode::malformed);
  EXPECT_EQ(JsonDocument::parse("").error().code, ErrorCode::malformed);
  EXPECT_EQ(JsonDocument::parse("1e999").value().root().text(), "1e999");
  EXPECT_EQ(JsonDocument::parse(std::string(100'000, '[')).error().code, ErrorCode::limit_exceeded);
  EXPECT_EQ(JsonDocument::parse("[1]", {.max_bytes = 2}).error().code, ErrorCode::limit_exceeded);
  EXPECT_EQ(JsonDocument::parse("{\"a\":1,\"b\":2}", {.max_values = 4}).error().message,
            "JSON has more than max_values = 4 values and names");
  EXPECT_TRUE(JsonDocument::parse("{\"a\":1,\"b\":2}", {.max_values = 5}));
  EXPECT_EQ(JsonDocument::parse("[1, 2").error().message, "JSON ends after 5 bytes, where \",\" or \"]\" is expected");
  EXPECT_EQ(JsonDocument::parse("[1, x").error().message, "JSON is malformed at byte 4: a value is expected");
}

TEST(JsonDocumentTest, KeepsWhereValuesStand) {
  const std::string_view text = R"( {"a" : [1, "\n\u00e9"] , "b":null} )";
  const auto document = JsonDocument::parse(text).value();
  EXPECT_EQ(document.root().spelled(text), R"({"a" : [1, "\n\u00e9"] , "b":null})");
  EXPECT_EQ(document.root()[0].spelled(text), R"([1, "\n\u00e9"])");
  EXPECT_EQ(document.root()[0][1].spelled(text), R"("\n\u00e9")");
  EXPECT_EQ(document.root()[1].spelled(text), "null");
}

enum class Fate { whole, begun, broken };

Fate fate_of(std::string_view text) {
  bool cut_off = false;
  if (JsonDocument::parse(text, {}, &cut_off)) return Fate::whole;
  return cut_off ? Fate::begun : Fate::broken;
}

TEST(JsonDocumentTest, WhatIsCutOffIsToldFromWhatIsMalformed) {
  constexpr std::string_view kWhole =
      R"( [{"a\u00e9\ud83d\ude00\n": -0.5e+10, "é😀": [true, false, null, {}, []]}, 10, "" ] )";
  for (std::size_t end = 0; end < kWhole.size() - 1; ++end)
    EXPECT_EQ(fate_of(kWhole.substr(0, end)), Fate::begun) << end;
  EXPECT_EQ(fate_of(kWhole), Fate::whole);
  for (const std::string_view text : {"",
                                      " ",
                                      "-",
                                      "1.",
                                      "1e",
                                      "1e-",
                                      "tru",
                                      "nul",
                                      "[",
                                      "[1,",
                                      "{",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{\"a\":1,",
                                      "\"",
                                      "\"\\",
                                      "\"\\u",
                                      "\"\\u00",
                                      "\"\\ud8",
                                      "\"\\ud800",
                                      "\"\\ud800\\",
                                      "\"\\ud800\\u",
                                      "\"\\ud800\\udc0",
                                      "\"\xF0\x9F"}) {
    EXPECT_EQ(fate_of(text), Fate::begun) << text;
  }
  for (const std::string_view text : {"x",
                                      "01",
                                      "-x",
                                      "1.x",
                                      "+1",
                                      "trux",
                                      "nulll",
                                      "]",
                                      "[,",
                                      "[1,]",
                                      "[1 2",
                                      "[1}",
                                      "{1",
                                      "{tru",
                                      "{\"a\" 1",
                                      "{\"a\":1,}",
                                      "{\"a\":}",
                                      "1 \"a",
                                      "\"\n",
                                      "\"\\x",
                                      "\"\\ug",
                                      "\"\\udc",
                                      "\"\\ud800x",
                                      "\"\\ud800\\n",
                                      "\"\\ud800\\ud8",
                                      "\"\\ud800\\ue",
                                      "\"\xFF",
                                      "\"\xC0",
                                      "\"\xED\xA0",
                                      "[1]]",
                                      "'a'",
                                      "NaN",
                                      "\xEF\xBB\xBF"
                                      "1"}) {
    EXPECT_EQ(fate_of(text), Fate::broken) << text;
  }
}

// nlohmann's parser is another one; the mask of any JSON tells the begins.
TEST(JsonDocumentTest, AgreesWithOthersOnAllShortTexts) {
  constexpr std::string_view kBytes = "[]{},:\"\\0-.eut ";
  const Grammar json = Grammar::json().value();
  std::vector<std::string> open{""};
  std::size_t whole = 0;
  for (int length = 1; length <= 5; ++length) {
    std::vector<std::string> next;
    for (const std::string& begin : open) {
      for (const char c : kBytes) {
        const std::string text = begin + c;
        const Fate fate = fate_of(text);
        const GrammarMatch match = json.match(text).value();
        ASSERT_EQ(fate == Fate::whole, match.matches) << text;
        ASSERT_EQ(fate == Fate::broken, match.matching_bytes < text.size()) << text;
        ASSERT_EQ(fate == Fate::whole, nlohmann::json::accept(text)) << text;
        whole += fate == Fate::whole ? 1 : 0;
        if (fate != Fate::broken) next.push_back(text);
      }
    }
    open = std::move(next);
  }
  EXPECT_GT(whole, 500u);
}

}  // namespace
}  // namespace rill::schema
