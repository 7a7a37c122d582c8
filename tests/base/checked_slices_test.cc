#include "base/checked_slices.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"

namespace rill {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t size) {
  std::mt19937 random(1);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

Bytes written(const Bytes& bytes, std::size_t piece) {
  Bytes out;
  SliceWriter writer([&](std::span<const std::byte> slice) {
    out.insert(out.end(), slice.begin(), slice.end());
    return Result<void>();
  });
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    writer.write(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at))).value();
  }
  writer.finish().value();
  return out;
}

Result<Bytes> read(const Bytes& stream, std::size_t size, std::size_t piece) {
  const ByteSourcePtr source = borrow_buffer(stream, "it").value();
  SliceReader reader(*source);
  Bytes bytes(size);
  for (std::size_t at = 0; at < size; at += piece) {
    RILL_TRY(reader.read(std::span(bytes).subspan(at, std::min(piece, size - at))));
  }
  return bytes;
}

TEST(CheckedSlicesTest, GiveBackWhatWasWritten) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, kSliceBytes - 1, kSliceBytes, kSliceBytes + 1,
                                 2 * kSliceBytes + 5}) {
    const Bytes bytes = random_bytes(size);
    const Bytes stream = written(bytes, size / 3 + 1);
    EXPECT_EQ(stream.size(), checked_size(size));
    EXPECT_EQ(written(bytes, size), stream);
    EXPECT_EQ(read(stream, size, size / 7 + 1).value(), bytes);
    EXPECT_EQ(read(stream, size + 1, size + 1).error().message, "it: cut short");
  }
  EXPECT_EQ(checked_size(0), 0u);
}

TEST(CheckedSlicesTest, NoDamagedSliceIsRead) {
  const Bytes bytes = random_bytes(kSliceBytes + 100);
  const Bytes good = written(bytes, bytes.size());
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    Bytes stream = good;
    const std::size_t place = round < 8 ? good.size() - 1 - static_cast<std::size_t>(round) : random() % good.size();
    stream[place] ^= static_cast<std::byte>(1 << random() % 8);
    const auto done = read(stream, bytes.size(), 4096);
    ASSERT_FALSE(done) << place;
    EXPECT_EQ(done.error().message, place < kSliceBytes + 8 ? "it: MiB 0 is damaged, or cut short"
                                                            : "it: MiB 1 is damaged, or cut short");
  }
  for (const std::size_t cut : {1u, 8u, 99u, 100u, 107u, 108u, 109u}) {
    EXPECT_FALSE(read(Bytes(good.begin(), good.end() - static_cast<std::ptrdiff_t>(cut)), bytes.size(), 4096)) << cut;
  }
}

TEST(CheckedSlicesTest, StopsBetweenSlices) {
  const Bytes bytes = random_bytes(3 * kSliceBytes);
  int polls = 0;
  const StopToken stop([&] { return ++polls == 2; });
  int slices = 0;
  SliceWriter writer([&](auto) { return ++slices, Result<void>(); }, stop);
  EXPECT_EQ(writer.write(bytes).error().code, ErrorCode::cancelled);
  EXPECT_EQ(slices, 1);
  polls = 0;
  const ByteSourcePtr source = own_buffer(written(bytes, bytes.size())).value();
  SliceReader reader(*source, stop);
  Bytes out(bytes.size());
  EXPECT_EQ(reader.read(out).error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace rill
