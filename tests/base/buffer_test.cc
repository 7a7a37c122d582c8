#include "base/buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "base/checked.h"

// Read by the address and the thread sanitizer, which end the program where an allocation fails unless told otherwise.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace rill {
namespace {

TEST(BufferTest, IsAlignedAndWritable) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{4096}, (std::size_t{8} << 20) + 3}) {
    Buffer buffer = Buffer::allocate(size).value();
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % Buffer::kAlignment, 0u);
    std::memset(buffer.data(), 0x5a, size);
    EXPECT_EQ(buffer.bytes().back(), std::byte{0x5a});
  }
  EXPECT_EQ(Buffer::allocate(0).value().size(), 0u);
}

TEST(BufferTest, MovesItsMemory) {
  Buffer first = Buffer::allocate(64).value();
  const std::byte* data = first.data();
  Buffer second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.size(), 0u);
  EXPECT_EQ(first.data(), nullptr);
  Buffer third;
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  EXPECT_EQ(third.size(), 64u);
}

TEST(BufferTest, MemoryThatIsNotThereIsAnError) {
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX / 2, std::size_t{1} << 60}) {
    const Result<Buffer> buffer = Buffer::allocate(size);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().code, ErrorCode::out_of_memory);
    EXPECT_NE(buffer.error().message.find(std::to_string(size)), std::string::npos);
  }
}

TEST(CheckedTest, GivesNothingInsteadOfAWrappedNumber) {
  constexpr std::uint64_t kMax = UINT64_MAX;
  EXPECT_EQ(checked_add(kMax - 1, 1), kMax);
  EXPECT_EQ(checked_add(kMax, 1), std::nullopt);
  EXPECT_EQ(checked_add(kMax, kMax), std::nullopt);
  EXPECT_EQ(checked_mul(kMax, 1), kMax);
  EXPECT_EQ(checked_mul(kMax, 0), 0u);
  EXPECT_EQ(checked_mul(0, kMax), 0u);
  EXPECT_EQ(checked_mul(std::uint64_t{1} << 32, (std::uint64_t{1} << 32) - 1), kMax - 0xffffffff);
  EXPECT_EQ(checked_mul(std::uint64_t{1} << 32, std::uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(checked_align(0, 32), 0u);
  EXPECT_EQ(checked_align(1, 32), 32u);
  EXPECT_EQ(checked_align(64, 32), 64u);
  EXPECT_EQ(checked_align(kMax - 31, 32), kMax - 31);
  EXPECT_EQ(checked_align(kMax - 30, 32), std::nullopt);
  EXPECT_EQ(checked_align(kMax, 1), kMax);
}

}  // namespace
}  // namespace rill
