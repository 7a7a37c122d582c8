#include "rill/byte_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "support/temp_dir.h"

namespace rill {
namespace {

std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

void expect_reads(const ByteSource& source, const std::vector<std::byte>& bytes) {
  ASSERT_EQ(source.size(), bytes.size());
  std::vector<std::byte> all(bytes.size());
  source.read(0, all).value();
  EXPECT_EQ(all, bytes);
  std::vector<std::byte> part(bytes.size() / 3);
  source.read(bytes.size() / 2, part).value();
  EXPECT_TRUE(std::equal(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2)));
  source.read(bytes.size(), {}).value();
}

void expect_past_the_end(const ByteSource& source) {
  std::vector<std::byte> out(2);
  for (const std::uint64_t offset : {source.size() - 1, source.size() + 1, ~std::uint64_t{0}}) {
    const Result<void> done = source.read(offset, out);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::file_truncated);
    EXPECT_EQ(done.error().message, format("{}: 2 bytes at offset {} are needed, but it has only {} bytes",
                                                source.name(), offset, source.size()));
  }
}

TEST(ByteSourceTest, ReadsFilesWithNamesInAnyScript) {
  const test::TempDir dir;
  const std::vector<std::byte> bytes = pattern(1000);
  const auto path = dir.write(path_from_utf8("mod\xc3\xa8le \xe6\xa8\xa1\xe5\x9e\x8b \xf0\x9f\x99\x82.gguf"), bytes);
  const ByteSourcePtr source = open_file(path).value();
  expect_reads(*source, bytes);
  expect_past_the_end(*source);

  const std::u8string utf8 = path.u8string();
  const std::string text(utf8.begin(), utf8.end());
  expect_reads(*open_file(text).value(), bytes);
  expect_reads(*open_file(text.c_str()).value(), bytes);
  EXPECT_EQ(open_file(text).value()->name(), text);
}

TEST(ByteSourceTest, SaysWhyAFileCannotBeOpened) {
  const test::TempDir dir;
  const Result<ByteSourcePtr> missing = open_file(dir.path() / "missing.gguf");
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message.find("missing.gguf: cannot be opened: "), std::string::npos);
  EXPECT_EQ(open_file(dir.path()).error().code, ErrorCode::io);
}

TEST(ByteSourceTest, AFileThatShrinksIsAnError) {
  const test::TempDir dir;
  const auto path = dir.write("model.gguf", pattern(1000));
  const ByteSourcePtr source = open_file(path).value();
  std::filesystem::resize_file(path, 600);
  std::vector<std::byte> out(200);
  EXPECT_TRUE(source->read(400, out));
  const Result<void> done = source->read(500, out);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::file_truncated);
  EXPECT_NE(done.error().message.find("it ends at offset 600, but had 1000 bytes when it was opened"),
            std::string::npos)
      << done.error().message;
  EXPECT_EQ(source->read(700, out).error().code, ErrorCode::file_truncated);
}

TEST(ByteSourceTest, AFileThatIsRemovedStaysReadable) {
  const test::TempDir dir;
  const std::vector<std::byte> bytes = pattern(100);
  const auto path = dir.write("model.gguf", bytes);
  const ByteSourcePtr source = open_file(path).value();
#if !defined(_WIN32)
  std::filesystem::remove(path);
#endif
  expect_reads(*source, bytes);
}

TEST(ByteSourceTest, ReadsBuffers) {
  const std::vector<std::byte> bytes = pattern(999);
  expect_reads(*borrow_buffer(bytes).value(), bytes);
  expect_reads(*own_buffer(bytes).value(), bytes);
  expect_past_the_end(*borrow_buffer(bytes, "memory").value());
}

TEST(ByteSourceTest, JoinsTheShortReadsOfACallback) {
  const std::vector<std::byte> bytes = pattern(1000);
  const auto read = [&](std::uint64_t offset, std::span<std::byte> out) -> Result<std::size_t> {
    const std::size_t count = std::min<std::size_t>(out.size(), 7);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), count, out.begin());
    return count;
  };
  const ByteSourcePtr source = from_callback(bytes.size(), read, "net").value();
  expect_reads(*source, bytes);
  expect_past_the_end(*source);
}

Error callback_error(ReadCallback callback) {
  std::vector<std::byte> out(50);
  return from_callback(100, std::move(callback), "net").value()->read(10, out).error();
}

TEST(ByteSourceTest, WhatACallbackDoesWrongIsAnError) {
  using Out = std::span<std::byte>;
  Error error = callback_error([](std::uint64_t, Out) -> Result<std::size_t> {
    return Error{ErrorCode::cancelled, "no"};
  });
  EXPECT_EQ(error.code, ErrorCode::cancelled);
  EXPECT_EQ(error.message, "net: offset 10: no");
  error = callback_error([](std::uint64_t, Out) -> Result<std::size_t> { throw std::runtime_error("lost"); });
  EXPECT_EQ(error.code, ErrorCode::io);
  EXPECT_EQ(error.message, "net: offset 10: reading threw: lost");
  error = callback_error([](std::uint64_t, Out) -> Result<std::size_t> { throw 7; });
  EXPECT_EQ(error.code, ErrorCode::io);
  error = callback_error([](std::uint64_t, Out out) -> Result<std::size_t> { return out.size() + 1; });
  EXPECT_EQ(error.code, ErrorCode::io);
  EXPECT_EQ(error.message, "net: offset 10: 50 bytes were asked for and 51 reported");
  error = callback_error([](std::uint64_t offset, Out) -> Result<std::size_t> { return offset == 10 ? 5 : 0; });
  EXPECT_EQ(error.code, ErrorCode::file_truncated);
  EXPECT_EQ(error.message, "net: it ends at offset 15, but had 100 bytes when it was opened");
  EXPECT_EQ(from_callback(100, nullptr).error().code, ErrorCode::invalid_argument);
}

TEST(ByteSourceTest, SeveralThreadsReadAtOnce) {
  const test::TempDir dir;
  const std::vector<std::byte> bytes = pattern(100000);
  const ByteSourcePtr source = open_file(dir.write("model.gguf", bytes)).value();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::byte> out(1000);
      for (std::size_t at = t * 1000; at + out.size() <= bytes.size(); at += 1777) {
        const bool same = source->read(at, out).has_value() &&
                          std::equal(out.begin(), out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
        wrong[t] += same ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace rill
