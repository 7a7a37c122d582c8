#include "base/archive.h"

#include <gtest/gtest.h>

#include <limits>

namespace rill {
namespace {

enum class Colour : std::uint8_t { red, green };

struct Inner {
  std::string name;
  std::optional<float> weight;
  friend bool operator==(const Inner&, const Inner&) = default;
};
struct Outer {
  std::int32_t number = 0;
  std::size_t size = 0;
  bool flag = false;
  Colour colour = Colour::red;
  std::chrono::nanoseconds time{};
  std::vector<Inner> inners;
  std::vector<double> values;
  friend bool operator==(const Outer&, const Outer&) = default;
};

}  // namespace

template <>
inline constexpr Colour kLastOf<Colour> = Colour::green;

namespace {

template <typename Archive>
void fields(Archive& archive, Inner& inner) {
  archive(inner.name, inner.weight);
}
template <typename Archive>
void fields(Archive& archive, Outer& outer) {
  archive(outer.number, outer.size, outer.flag, outer.colour, outer.time, outer.inners, outer.values);
}

const Outer kOuter = {-7, 1u << 31, true, Colour::green, std::chrono::nanoseconds(-5),
                      {{"a", 1.5f}, {std::string("\0b", 2), std::nullopt}}, {0.1, -std::numeric_limits<double>::infinity()}};

std::vector<std::byte> written(const Outer& outer) {
  ArchiveWriter archive;
  archive(outer);
  return archive.take();
}

TEST(ArchiveTest, ReadsWhatWasWritten) {
  const std::vector<std::byte> bytes = written(kOuter);
  EXPECT_EQ(bytes.size(), 4u + 8 + 1 + 1 + 8 + (8 + (8 + 1 + 1 + 4) + (8 + 2 + 1)) + (8 + 16));
  ArchiveReader archive(bytes);
  Outer outer;
  archive(outer);
  EXPECT_TRUE(archive.finish("outer"));
  EXPECT_EQ(outer, kOuter);
}

TEST(ArchiveTest, RefusesEveryPrefixAndWhatIsTooLong) {
  std::vector<std::byte> bytes = written(kOuter);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ArchiveReader archive({bytes.data(), size});
    Outer outer;
    archive(outer);
    EXPECT_EQ(archive.finish("outer").error().message, "outer: not what was saved") << size;
  }
  bytes.push_back(std::byte{0});
  ArchiveReader archive(bytes);
  Outer outer;
  archive(outer);
  EXPECT_EQ(archive.finish("outer").error().code, ErrorCode::malformed);
}

TEST(ArchiveTest, RefusesValuesThatTheTypeDoesNotHave) {
  for (const std::size_t place : {12u, 13u}) {  // the bool and the enumeration
    std::vector<std::byte> bytes = written(kOuter);
    bytes[place] = std::byte{2};
    ArchiveReader archive(bytes);
    Outer outer;
    archive(outer);
    EXPECT_TRUE(archive.failed());
  }
}

TEST(ArchiveTest, BelievesNoCountBeyondWhatFollows) {
  for (const std::uint64_t count : {std::uint64_t{9}, std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
    ArchiveWriter writer;
    writer(count, std::uint64_t{0});
    const auto bytes = writer.take();
    ArchiveReader archive(bytes);
    std::vector<double> values;
    archive(values);
    EXPECT_TRUE(archive.failed());
    EXPECT_EQ(values.capacity(), 0u) << count;
    ArchiveReader strings(bytes);
    std::vector<std::string> texts;
    strings(texts);
    EXPECT_TRUE(strings.failed());
    EXPECT_LE(texts.size(), 2u);
  }
}

TEST(ArchiveTest, ExpectTellsAnotherValueFromDamage) {
  ArchiveWriter writer;
  writer.expect(std::vector<std::int32_t>{1, 2});
  const auto bytes = writer.take();
  const auto read = [](std::span<const std::byte> from, std::vector<std::int32_t> expected) {
    ArchiveReader archive(from);
    archive.expect(expected);
    const auto done = archive.finish("options");
    return done ? std::string() : to_string(done.error().code) + (": " + done.error().message);
  };
  EXPECT_EQ(read(bytes, {1, 2}), "");
  EXPECT_EQ(read(bytes, {1, 3}), "incompatible: options: saved with other options");
  EXPECT_EQ(read({bytes.data(), 9}, {1, 2}), "malformed: options: not what was saved");
}

}  // namespace
}  // namespace rill
