#include "gguf/metadata.h"

#include <gtest/gtest.h>

#include <limits>

#include "gguf/open_bytes.h"
#include "support/gguf_writer.h"

namespace rill::gguf {
namespace {

Metadata read(const test::GgufWriter& writer) { return open_bytes(writer.finish()).value().metadata(); }

TEST(MetadataTest, IntegersComeFromAnyWidthThatFits) {
  test::GgufWriter writer;
  writer.add("u8", std::uint8_t{200}).add("i8", std::int8_t{-100}).add("u16", std::uint16_t{60000});
  writer.add("i16", std::int16_t{-30000}).add("u32", std::uint32_t{4000000000}).add("i32", std::int32_t{-7});
  writer.add("u64", std::numeric_limits<std::uint64_t>::max()).add("i64", std::numeric_limits<std::int64_t>::min());
  const Metadata metadata = read(writer);
  EXPECT_EQ(metadata.get<std::uint32_t>("u8").value(), 200u);
  EXPECT_EQ(metadata.get<std::int32_t>("i8").value(), -100);
  EXPECT_EQ(metadata.get<std::int32_t>("u16").value(), 60000);
  EXPECT_EQ(metadata.get<std::int64_t>("i16").value(), -30000);
  EXPECT_EQ(metadata.get<std::uint32_t>("u32").value(), 4000000000u);
  EXPECT_EQ(metadata.get<std::int64_t>("u32").value(), 4000000000);
  EXPECT_EQ(metadata.get<std::int32_t>("i32").value(), -7);
  EXPECT_EQ(metadata.get<std::uint64_t>("u64").value(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(metadata.get<std::int64_t>("i64").value(), std::numeric_limits<std::int64_t>::min());

  EXPECT_EQ(metadata.get<std::int32_t>("u32").error().message,
            "test.gguf: key 'u32' is 4000000000, which does not fit signed 32 bits");
  EXPECT_EQ(metadata.get<std::uint64_t>("i32").error().message,
            "test.gguf: key 'i32' is -7, which does not fit unsigned 64 bits");
  EXPECT_FALSE(metadata.get<std::int64_t>("u64"));
}

TEST(MetadataTest, OtherTypesDoNotMix) {
  test::GgufWriter writer;
  writer.add("f32", 0.1f).add("f64", 0.1).add("yes", true).add("text", "t\0t").add("one", std::uint32_t{1});
  const Metadata metadata = read(writer);
  EXPECT_EQ(metadata.get<float>("f32").value(), 0.1f);
  EXPECT_EQ(metadata.get<float>("f64").value(), 0.1f);
  EXPECT_EQ(metadata.get<bool>("yes").value(), true);
  EXPECT_EQ(metadata.get<std::string_view>("text").value(), "t");
  EXPECT_EQ(metadata.get<bool>("one").error().message, "test.gguf: key 'one' has type uint32, but must be a bool");
  EXPECT_EQ(metadata.get<float>("one").error().message, "test.gguf: key 'one' has type uint32, but must be a float");
  EXPECT_EQ(metadata.get<std::uint32_t>("text").error().message,
            "test.gguf: key 'text' has type string, but must be an integer");
  EXPECT_EQ(metadata.get<std::string_view>("yes").error().code, ErrorCode::malformed);
  EXPECT_EQ(metadata.get<std::uint32_t>("f64").error().code, ErrorCode::malformed);
}

TEST(MetadataTest, AbsentKeysAreNamedOrFallBack) {
  const Metadata metadata = read(test::GgufWriter().add("text", "t"));
  EXPECT_EQ(metadata.find("none"), nullptr);
  EXPECT_EQ(metadata.get<bool>("none").error().code, ErrorCode::not_found);
  EXPECT_EQ(metadata.get<bool>("none").error().message, "test.gguf: key 'none' is missing");
  EXPECT_EQ(metadata.get_or<std::uint32_t>("none", 7).value(), 7u);
  EXPECT_EQ(metadata.get_or<std::uint32_t>("text", 7).error().code, ErrorCode::malformed);
}

TEST(MetadataTest, StringArraysAreFlat) {
  const std::vector<std::string> strings = {"a", "", std::string("b\0c", 3), "\xff"};
  const Metadata metadata = read(test::GgufWriter().add("s", std::span(strings)).add("i", std::uint32_t{1}));
  const FlatStrings& array = *metadata.get_strings("s").value();
  ASSERT_EQ(array.size(), strings.size());
  for (std::size_t i = 0; i < strings.size(); ++i) EXPECT_EQ(array[i], strings[i]);
  EXPECT_EQ(array.bytes.size(), 5u);
  EXPECT_EQ(metadata.get_strings("i").error().message,
            "test.gguf: key 'i' has type uint32, but must be an array of strings");
}

TEST(MetadataTest, NumberArraysConvertElementByElement) {
  const std::vector<std::int32_t> integers = {3, -1, 70000};
  const std::vector<float> floats = {0.5f, -2};
  const std::vector<std::string> strings = {"x"};
  test::GgufWriter writer;
  writer.add("i", std::span(integers)).add("f", std::span(floats)).add("s", std::span(strings));
  const Metadata metadata = read(writer);
  EXPECT_EQ(metadata.get_array<std::int32_t>("i").value(), integers);
  EXPECT_EQ(metadata.get_array<std::int64_t>("i").value(), (std::vector<std::int64_t>{3, -1, 70000}));
  EXPECT_EQ(metadata.get_array<std::uint32_t>("i").error().message,
            "test.gguf: element 1 of key 'i' is -1, which does not fit unsigned 32 bits");
  EXPECT_EQ(metadata.get_array<float>("f").value(), floats);
  EXPECT_EQ(metadata.get_array<float>("i").error().message,
            "test.gguf: key 'i' is an array of int32, but each element must be a float");
  EXPECT_EQ(metadata.get_array<float>("s").error().code, ErrorCode::malformed);
}

TEST(MetadataTest, EmptyArraysHaveNoElements) {
  test::GgufWriter writer;
  writer.add("s", std::span<const std::string>()).add("i", std::span<const std::int32_t>());
  const Metadata metadata = read(writer);
  EXPECT_EQ(metadata.get_strings("s").value()->size(), 0u);
  EXPECT_TRUE(metadata.get_array<std::int32_t>("i").value().empty());
}

TEST(MetadataTest, KeepsALargeVocabularyInTwoAllocations) {
  std::vector<std::string> strings;
  for (int i = 0; i < 262144; ++i) strings.push_back("token" + std::to_string(i));
  const Metadata metadata = read(test::GgufWriter().add("s", std::span(strings)));
  const FlatStrings& array = *metadata.get_strings("s").value();
  ASSERT_EQ(array.size(), strings.size());
  EXPECT_EQ(array[262143], "token262143");
  EXPECT_LE(array.offsets.capacity(), strings.size() + 1);
}

}  // namespace
}  // namespace rill::gguf
