// Files that are not what they claim: each is an error that says why, and none makes the reader allocate what is not
// there.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/format.h"
#include "gguf/open_bytes.h"
#include "support/gguf_writer.h"
#include "support/tiny_model.h"

namespace {

std::atomic<std::size_t> largest_allocation{0};

void* counted_allocation(std::size_t size) {
  std::size_t seen = largest_allocation.load();
  while (size > seen && !largest_allocation.compare_exchange_weak(seen, size)) {
  }
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted_allocation(size); }
void* operator new[](std::size_t size) { return counted_allocation(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace rill::gguf {
namespace {

using test::ByteWriter;
using test::GgufWriter;

constexpr std::uint32_t kF32 = 0, kQ8_0 = 8, kQ4K = 12, kI8 = 24;
constexpr std::uint32_t kString = 8, kArray = 9, kU8 = 0, kBool = 7;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> header(std::uint32_t version, std::uint64_t tensors, std::uint64_t keys) {
  ByteWriter writer;
  writer.put(bytes_of("GGUF")).put(version).put(tensors).put(keys);
  return std::move(writer.bytes());
}

// Opening `bytes` must fail with this code and a message that contains `text`.
void expect_error(std::vector<std::byte> bytes, ErrorCode code, std::string_view text) {
  const Error error = open_error(std::move(bytes));
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_NE(error.message.find(text), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find("test.gguf"), 0u) << error.message;
}

// ---- Wrong kind of file (F18) ----

TEST(GgufReaderTest, TellsWrongFilesApart) {
  expect_error({}, ErrorCode::file_truncated, "the file is empty");
  expect_error(bytes_of("GGU"), ErrorCode::file_truncated, "3 bytes are too short");
  expect_error(bytes_of("abc"), ErrorCode::malformed, "starts with the bytes 616263");
  expect_error(bytes_of("PK\x03\x04 and so on, longer than a header"), ErrorCode::malformed, "504b0304");
  for (const char* magic : {"lmgg", "fmgg", "tjgg", "algg"}) {
    expect_error(bytes_of(std::string(magic) + "and so on, longer than a header"), ErrorCode::unsupported, "old GGML");
  }
  expect_error(bytes_of("<!DOCTYPE html><html><body>404</body></html>"), ErrorCode::malformed, "HTML");
  expect_error(bytes_of("\n  <html><head></head><body>404</body></html>"), ErrorCode::malformed, "HTML");
  expect_error(bytes_of("version https://git-lfs.github.com/spec/v1\noid sha256:00"), ErrorCode::malformed, "Git LFS");
}

TEST(GgufReaderTest, TellsVersionsAndByteOrderApart) {
  expect_error(header(0, 0, 0), ErrorCode::unsupported, "version 0 is not supported");
  expect_error(header(1, 0, 0), ErrorCode::unsupported, "version 1 is not supported");
  expect_error(header(4, 0, 0), ErrorCode::unsupported, "version 4 is not supported");
  expect_error(header(3u << 24, 0, 0), ErrorCode::unsupported, "version 3 in big-endian byte order");
}

// ---- Cut files (F09) ----

TEST(GgufReaderTest, EveryProperPrefixIsAnError) {
  GgufWriter writer;
  writer.add("general.architecture", "llama").add("n", std::uint32_t{1});
  const std::vector<std::string> strings = {"a", "bc"};
  writer.add("s", std::span(strings));
  writer.add_tensor("a", ElementType::f32, {8}, std::vector<std::byte>(32));
  writer.add_tensor("b", ElementType::q8_0, {32, 16}, std::vector<std::byte>(34 * 16));
  const std::vector<std::byte> whole = writer.finish();
  ASSERT_TRUE(open_bytes(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Error error = open_error({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    ASSERT_EQ(error.code, ErrorCode::file_truncated) << size << ": " << error.message;
  }
}

TEST(GgufReaderTest, ATruncatedModelNamesTheExpectedAndTheActualSize) {
  std::vector<std::byte> bytes = test::make_tiny_model({});
  const std::size_t whole = bytes.size();
  for (const std::size_t size : {whole - 1, whole / 2}) {
    bytes.resize(size);
    expect_error(bytes, ErrorCode::file_truncated, rill::format("need {} bytes, and it has {}", whole, size));
  }
}

// ---- Counts and lengths that are not there (F05) ----

void expect_no_large_allocation(std::vector<std::byte> bytes, ErrorCode code, std::string_view text) {
  const std::size_t size = bytes.size();
  largest_allocation = 0;
  const Error error = open_error(std::move(bytes));
  EXPECT_LT(largest_allocation.load(), size + 4096) << error.message;
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_NE(error.message.find(text), std::string::npos) << error.message;
}

TEST(GgufReaderTest, AHugeStringLengthAllocatesNothing) {
  std::vector<std::byte> file = header(3, 0, 1);
  ByteWriter writer;
  writer.bytes() = file;
  writer.put((std::uint64_t{1} << 45) + 7).put(std::uint64_t{0});
  expect_no_large_allocation(writer.bytes(), ErrorCode::file_truncated, "announces 35184372088839 bytes of a key");

  for (const std::uint64_t length : {~std::uint64_t{0} - 7, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    ByteWriter value;
    value.put(length).put(std::uint64_t{0});
    expect_no_large_allocation(GgufWriter().add_raw("k", kString, value.bytes()).finish(), ErrorCode::file_truncated,
                               "bytes of a string");
  }
}

TEST(GgufReaderTest, HugeCountsAllocateNothing) {
  expect_no_large_allocation(header(3, 0, 1000), ErrorCode::file_truncated, "1000 metadata keys");
  expect_no_large_allocation(header(3, 1000, 0), ErrorCode::file_truncated, "1000 tensors");
  expect_no_large_allocation(header(3, 0, ~std::uint64_t{0}), ErrorCode::limit_exceeded,
                             "metadata keys pass the limit of");
  expect_no_large_allocation(header(3, ~std::uint64_t{0}, 0), ErrorCode::limit_exceeded, "tensors pass the limit of");
  for (const std::uint32_t type : {0u, 5u, 7u, 8u, 10u, 12u}) {
    for (const std::uint64_t count : {std::uint64_t{1} << 40, std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
      ByteWriter array;
      array.put(type).put(count).put(std::uint64_t{0});
      expect_no_large_allocation(GgufWriter().add_raw("k", kArray, array.bytes()).finish(), ErrorCode::file_truncated,
                                 "the file has only");
    }
  }
}

// A source can claim any size: then the reader's own limits hold.
TEST(GgufReaderTest, LimitsHoldWhereTheSourceIsHuge) {
  GgufWriter writer;
  ByteWriter value;
  value.put(std::uint64_t{1} << 33);
  const auto open_huge = [](std::vector<std::byte> bytes) {
    const auto read = [bytes](std::uint64_t offset, std::span<std::byte> out) -> Result<std::size_t> {
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = offset + i < bytes.size() ? bytes[offset + i] : std::byte{0};
      return out.size();
    };
    return File::open(std::vector<ByteSourcePtr>{from_callback(std::uint64_t{1} << 62, read).value()});
  };
  const auto expect_limit = [&](std::vector<std::byte> bytes, std::string_view text) {
    largest_allocation = 0;
    const Result<File> file = open_huge(std::move(bytes));
    EXPECT_LT(largest_allocation.load(), std::size_t{1} << 20);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ErrorCode::limit_exceeded) << file.error().message;
    EXPECT_NE(file.error().message.find(text), std::string::npos) << file.error().message;
  };
  expect_limit(GgufWriter().add_raw("k", kString, value.bytes()).finish(),
               "pass the limit of 1073741824 bytes of metadata");
  ByteWriter long_string;
  long_string.put(std::uint64_t{17} << 20);
  expect_limit(GgufWriter().add_raw("k", kString, long_string.bytes()).finish(), "pass the limit of 16777216");
  ByteWriter long_key;
  long_key.put(bytes_of("GGUF")).put(3u).put(std::uint64_t{0}).put(std::uint64_t{1}).put(std::uint64_t{65536});
  expect_limit(long_key.bytes(), "65536 bytes of a key pass the limit of 65535");
}

// ---- Metadata ----

TEST(GgufReaderTest, RefusesWhatMetadataMustNotHold) {
  expect_error(GgufWriter().add("k", true).add("k", false).finish(), ErrorCode::malformed, "key 'k' occurs twice");
  const std::vector<std::byte> two(1, std::byte{2});
  expect_error(GgufWriter().add_raw("k", kBool, two).finish(), ErrorCode::malformed, "a bool of value 2");
  expect_error(GgufWriter().add_raw("k", 13, two).finish(), ErrorCode::malformed, "type number 13");
  ByteWriter bools;
  bools.put(kBool).put(std::uint64_t{2}).put(std::uint8_t{1}).put(std::uint8_t{3});
  expect_error(GgufWriter().add_raw("k", kArray, bools.bytes()).finish(), ErrorCode::malformed, "a bool of value 3");
  ByteWriter unknown;
  unknown.put(std::uint32_t{99}).put(std::uint64_t{0});
  expect_error(GgufWriter().add_raw("k", kArray, unknown.bytes()).finish(), ErrorCode::malformed, "type number 99");
}

std::vector<std::byte> nested_arrays(int depth) {
  ByteWriter array;
  for (int i = 1; i < depth; ++i) array.put(kArray).put(std::uint64_t{1});
  array.put(kU8).put(std::uint64_t{3}).put(std::uint8_t{1}).put(std::uint8_t{2}).put(std::uint8_t{3});
  return GgufWriter().add_raw("k", kArray, array.bytes()).add("after", "ok").finish();
}

TEST(GgufReaderTest, NestedArraysAreSkippedDownToALimit) {
  for (const int depth : {2, 3, 4}) {
    const File file = open_bytes(nested_arrays(depth)).value();
    EXPECT_EQ(file.metadata().get<std::string_view>("after").value(), "ok") << depth;
    EXPECT_EQ(file.metadata().get_array<float>("k").error().code, ErrorCode::malformed);
  }
  expect_error(nested_arrays(5), ErrorCode::limit_exceeded, "deeper than the limit of 4");
  expect_error(nested_arrays(100000), ErrorCode::limit_exceeded, "deeper than the limit of 4");

  ByteWriter mixed;
  mixed.put(kArray).put(std::uint64_t{3});
  mixed.put(kString).put(std::uint64_t{2}).put_string("a").put_string("bc");
  mixed.put(kArray).put(std::uint64_t{0});
  mixed.put(kU8).put(std::uint64_t{1}).put(std::uint8_t{1});
  EXPECT_TRUE(open_bytes(GgufWriter().add_raw("k", kArray, mixed.bytes()).add("after", "ok").finish()));
}

// ---- Tensor table ----

TEST(GgufReaderTest, RefusesShapesThatCannotBe) {
  const auto file = [](std::uint32_t rank, std::vector<std::uint64_t> dims) {
    return GgufWriter().add_raw_tensor("t", rank, std::move(dims), kF32, 0).finish();
  };
  expect_error(file(3, {3, 0, 2}), ErrorCode::malformed, "tensor 't': dimension 1 is 0");  // F01
  expect_error(file(0, {1}), ErrorCode::malformed, "tensor 't': 0 dimensions");            // F08
  expect_error(file(5, {1, 1, 1, 1, 1}), ErrorCode::malformed, "tensor 't': 5 dimensions");
  expect_error(file(0xffffffff, {1, 1}), ErrorCode::malformed, "tensor 't': 4294967295 dimensions");
  const std::uint64_t half = std::uint64_t{1} << 32;
  expect_error(file(2, {half, half}), ErrorCode::malformed, "does not fit 63 bits");
  expect_error(file(2, {half, half / 2}), ErrorCode::malformed, "does not fit 63 bits");
  expect_error(file(2, {~std::uint64_t{0}, 2}), ErrorCode::malformed, "does not fit 63 bits");
  expect_error(file(1, {std::uint64_t{1} << 62}), ErrorCode::malformed,
               "size in bytes does not fit");  // times 4 wraps to 0
  expect_error(GgufWriter().add_raw_tensor("t", 2, {48, 2}, kQ8_0, 0).finish(), ErrorCode::malformed,
               "rows of 48 elements are not whole Q8_0 blocks of 32");
  expect_error(GgufWriter().add_raw_tensor("t", 2, {128, 2}, kQ4K, 0).finish(), ErrorCode::malformed,
               "rows of 128 elements are not whole Q4_K blocks of 256");
}

TEST(GgufReaderTest, NamesTheTypesItDoesNotDecode) {
  const auto file = [](std::uint32_t type) { return GgufWriter().add_raw_tensor("t", 1, {256}, type, 0).finish(); };
  expect_error(file(kI8), ErrorCode::unsupported, "tensor 't': element type I8 is not supported");
  expect_error(file(16), ErrorCode::unsupported, "element type IQ2_XXS is not supported");
  expect_error(file(39), ErrorCode::unsupported, "element type MXFP4 is not supported");
  expect_error(file(41), ErrorCode::unsupported, "element type Q1_0 is not supported");
  expect_error(file(42), ErrorCode::unsupported, "element type number 42 is unknown");
  expect_error(file(0xffffffff), ErrorCode::unsupported, "element type number 4294967295 is unknown");
}

TEST(GgufReaderTest, RefusesSizesWhoseSumWraps) {  // F03, F20
  const std::uint64_t elements = (std::uint64_t{1} << 63) - 64;
  GgufWriter bytes;
  bytes.add_raw_tensor("a", 1, {elements}, kI8, 0).add_raw_tensor("b", 1, {elements}, kI8, elements);
  expect_error(bytes.add_raw_tensor("c", 1, {elements}, kI8, 2 * elements).finish(), ErrorCode::unsupported,
               "tensor 'a'");

  // Sizes that are legal alone, at offsets that match the wrapped sum.
  const std::uint64_t floats = (std::uint64_t{1} << 61) - 64, size = 4 * floats;
  GgufWriter wrapped;
  wrapped.add_raw_tensor("a", 1, {floats}, kF32, 0).add_raw_tensor("b", 1, {floats}, kF32, size);
  expect_error(wrapped.add_raw_tensor("c", 1, {floats}, kF32, 2 * size).finish(), ErrorCode::malformed,
               "tensor 'c': offset 18446744073709551104 and size 9223372036854775552 do not fit 64 bits");

  // Within alignment - 1 of 2^64: the end fits, its padding does not.
  const std::uint64_t nearly = (std::uint64_t{1} << 62) - 1;
  expect_error(GgufWriter().add_raw_tensor("t", 1, {nearly}, kF32, 0).finish(), ErrorCode::malformed,
               "do not fit 64 bits");
}

TEST(GgufReaderTest, RefusesDataInTheWrongPlace) {
  const std::vector<std::byte> data(64);
  const auto with = [&](std::uint64_t offset) {
    GgufWriter writer;
    writer.add_tensor("a", ElementType::f32, {16}, data);
    return writer.add_raw_tensor("b", 1, {8}, kF32, offset).finish();
  };
  expect_error(with(4), ErrorCode::malformed, "tensor 'b': offset 4 is no multiple of the alignment 32");
  expect_error(with(32), ErrorCode::malformed, "overlap those of tensor 'a'");
  expect_error(with(64), ErrorCode::file_truncated, "tensor 'b': the file is truncated");
  expect_error(with(~std::uint64_t{31}), ErrorCode::malformed, "tensor 'b': offset 18446744073709551584");
  GgufWriter twice;
  twice.add_tensor("a", ElementType::f32, {16}, data).add_tensor("a", ElementType::f32, {16}, data);
  expect_error(twice.finish(), ErrorCode::malformed, "tensor 'a' occurs twice");
}

TEST(GgufReaderTest, RefusesAlignmentsThatAreNoPowerOfTwo) {
  for (const std::uint32_t alignment : {0u, 3u, 48u}) {
    expect_error(GgufWriter().add("general.alignment", alignment).finish(), ErrorCode::malformed, "no power of two");
  }
  expect_error(GgufWriter().add("general.alignment", "32").finish(), ErrorCode::malformed, "must be an integer");
  // A power of two far past the end is no error by itself, but the data cannot be there.
  GgufWriter huge;
  huge.add("general.alignment", std::uint32_t{1} << 31).add_raw_tensor("t", 1, {8}, kF32, 0);
  expect_error(huge.finish(), ErrorCode::file_truncated, "need 2147483680 bytes");
}

// Every single byte of the head set to each of a few values: any outcome is fine, except a crash or a large allocation.
TEST(GgufReaderTest, SurvivesAnyWrongByte) {
  GgufWriter writer;
  const std::vector<std::string> strings = {"a", "bc"};
  writer.add("general.alignment", std::uint32_t{32}).add("s", std::span(strings)).add("x", 1.0f);
  writer.add_tensor("a", ElementType::f32, {8, 2}, std::vector<std::byte>(64));
  writer.add_tensor("b", ElementType::q8_0, {32, 16}, std::vector<std::byte>(34 * 16));
  const std::vector<std::byte> whole = writer.finish();
  largest_allocation = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<std::byte> bytes = whole;
      bytes[at] = static_cast<std::byte>(value);
      (void)open_bytes(std::move(bytes));
    }
  }
  EXPECT_LT(largest_allocation.load(), std::size_t{64} << 10);
}

}  // namespace
}  // namespace rill::gguf
