#include "schema/json_document.h"

#include <gtest/gtest.h>

#include <string>

namespace rill::schema {
namespace {

TEST(JsonDocumentTest, KeepsNumbersAndTheOrderOfMembers) {
  const auto document = JsonDocument::parse(R"({"b":1.50,"a":[null,true,"x\u00e9"],"c":123456789012345678901234567890})").value();
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
}

TEST(JsonDocumentTest, EqualIsByValue) {
  const auto equals = [](std::string_view a, std::string_view b) {
    const auto left = JsonDocument::parse(a).value(), right = JsonDocument::parse(b).value();
    return equal(left.root(), right.root());
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
  EXPECT_EQ(JsonDocument::parse("1e999").error().code, ErrorCode::limit_exceeded);
  EXPECT_EQ(JsonDocument::parse(std::string(100'000, '[')).error().code, ErrorCode::limit_exceeded);
  EXPECT_EQ(JsonDocument::parse("[1]", {.max_bytes = 2}).error().code, ErrorCode::limit_exceeded);
}

}  // namespace
}  // namespace rill::schema
