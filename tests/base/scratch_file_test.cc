#include "base/scratch_file.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/temp_dir.h"

namespace rill::os {
namespace {

std::vector<std::byte> bytes_of(std::size_t count, int seed) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(seed));
  return bytes;
}

TEST(ScratchFile, HoldsWhatWasWrittenAndHasNoName) {
  const test::TempDir directory;
  ScratchFile file = ScratchFile::create(directory.path()).value();
#if !defined(_WIN32)
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
#endif
  file.write(0, bytes_of(1000, 1)).value();
  file.write(5000, bytes_of(100, 2)).value();
  file.write(200, bytes_of(10, 3)).value();
  std::vector<std::byte> expected = bytes_of(1000, 1), got(1000);
  const auto middle = bytes_of(10, 3);
  std::copy(middle.begin(), middle.end(), expected.begin() + 200);
  ScratchFile moved = std::move(file);
  moved.read(0, got).value();
  EXPECT_EQ(got, expected);
  got.resize(100);
  moved.read(5000, got).value();
  EXPECT_EQ(got, bytes_of(100, 2));
  const auto beyond = moved.read(5001, got);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::io);
}

TEST(ScratchFile, AFolderThatIsNotThere) {
  const test::TempDir directory;
  const auto file = ScratchFile::create(directory.path() / "missing");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::io);
}

}  // namespace
}  // namespace rill::os
