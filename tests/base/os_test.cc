#include "base/os.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace rill::os {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::set<fs::path> names_in(const fs::path& folder) {
  std::set<fs::path> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

TEST(NewFileTest, AppearsWholeOrNotAtAll) {
  const test::TempDir folder;
  const fs::path path = folder.write(u8"kept ключ.bin", bytes_of("old"));
  {
    NewFile file = NewFile::create(path).value();
    file.append(bytes_of("half")).value();
    EXPECT_EQ(content(path), "old");
    EXPECT_EQ(names_in(folder.path()).size(), 2u);
  }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(names_in(folder.path()), std::set<fs::path>{path.filename()});

  NewFile file = NewFile::create(path).value();
  file.append(bytes_of("new ")).value();
  file.append({}).value();
  file.append(bytes_of("content")).value();
  NewFile moved = std::move(file);
  moved.commit().value();
  EXPECT_EQ(content(path), "new content");
  EXPECT_EQ(names_in(folder.path()), std::set<fs::path>{path.filename()});
}

TEST(NewFileTest, OfTwoWritersTheLaterOneWins) {
  const test::TempDir folder;
  const fs::path path = folder.path() / "both.bin";
  NewFile first = NewFile::create(path).value(), second = NewFile::create(path).value();
  first.append(bytes_of("first, and longer")).value();
  second.append(bytes_of("second")).value();
  first.commit().value();
  EXPECT_EQ(content(path), "first, and longer");
  second.commit().value();
  EXPECT_EQ(content(path), "second");
}

TEST(NewFileTest, SaysWhyItCannotBe) {
  const test::TempDir folder;
  const auto missing = NewFile::create(folder.path() / "no such folder" / "a.bin");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::io);
  EXPECT_NE(missing.error().message.find("a.bin"), std::string::npos);

  const fs::path path = folder.path() / "a folder";  // one that is not empty cannot be replaced by a file
  NewFile file = NewFile::create(path).value();
  fs::create_directories(path / "inner");
  {
    NewFile late = std::move(file);
    const auto done = late.commit();
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("a folder"), std::string::npos);
  }
  EXPECT_EQ(names_in(folder.path()), std::set<fs::path>{"a folder"});
  EXPECT_EQ(NewFile::create(path).error().message, path.string() + ": is not a regular file");
}

#if defined(__unix__)
TEST(NewFileTest, NeverReplacesADevice) {
  const auto refused = NewFile::create("/dev/full");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "/dev/full: is not a regular file");
}

TEST(NewFileTest, OnlyTheUserMayReadWhatIsTheirs) {
  const test::TempDir folder;
  const fs::path path = folder.write("open to all", bytes_of("old"));
  fs::permissions(path, fs::perms(0644));
  NewFile file = NewFile::create(path, {.only_user = true, .on_disk = true}).value();
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path() == path) continue;
    EXPECT_EQ(fs::status(entry.path()).permissions(), fs::perms(0600));
  }
  file.append(bytes_of("secret")).value();
  file.commit().value();
  EXPECT_EQ(content(path), "secret");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0600));
}
#endif

TEST(FileTest, KnowsWhenItWasModified) {
  const test::TempDir folder;
  const fs::path path = folder.write("a.bin", bytes_of("content"));
  const auto time = fs::last_write_time(path);
  const std::int64_t before = File::open(path).value().modified();
  EXPECT_EQ(File::open(path).value().modified(), before);
  fs::last_write_time(path, time + std::chrono::milliseconds(1));
  EXPECT_GT(File::open(path).value().modified(), before);
  fs::last_write_time(path, time);
  EXPECT_EQ(File::open(path).value().modified(), before);
}

std::vector<std::byte> numbers(std::size_t count, int seed) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(seed));
  return bytes;
}

TEST(ScratchFileTest, HoldsWhatWasWrittenAndHasNoName) {
  const test::TempDir directory;
  ScratchFile file = ScratchFile::create(directory.path()).value();
#if !defined(_WIN32)
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
#endif
  file.write(0, numbers(1000, 1)).value();
  file.write(5000, numbers(100, 2)).value();
  file.write(200, numbers(10, 3)).value();
  std::vector<std::byte> expected = numbers(1000, 1), got(1000);
  const auto middle = numbers(10, 3);
  std::copy(middle.begin(), middle.end(), expected.begin() + 200);
  ScratchFile moved = std::move(file);
  moved.read(0, got).value();
  EXPECT_EQ(got, expected);
  got.resize(100);
  moved.read(5000, got).value();
  EXPECT_EQ(got, numbers(100, 2));
  const auto beyond = moved.read(5001, got);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::io);
}

TEST(ScratchFileTest, AFolderThatIsNotThere) {
  const test::TempDir directory;
  const auto file = ScratchFile::create(directory.path() / "missing");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::io);
}

}  // namespace
}  // namespace rill::os
