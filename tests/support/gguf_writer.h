// Writes GGUF files to memory: well-formed by default, and malformed wherever a test asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gguf/metadata.h"
#include "tensor/element_type.h"

namespace rill::test {

// Appends little-endian values; a GGUF file is nothing else.
class ByteWriter {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T> ByteWriter& put(T value) { return put(std::as_bytes(std::span(&value, 1))); }
  ByteWriter& put(std::span<const std::byte> bytes);
  ByteWriter& put_string(std::string_view text);  // length in 8 bytes, then the bytes
  ByteWriter& pad_to(std::size_t alignment);

  std::vector<std::byte>& bytes() { return bytes_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class GgufWriter {
 public:
  // Metadata of each type the format has. A key that is added twice is written twice.
  GgufWriter& add(std::string_view key, std::uint8_t value);
  GgufWriter& add(std::string_view key, std::int8_t value);
  GgufWriter& add(std::string_view key, std::uint16_t value);
  GgufWriter& add(std::string_view key, std::int16_t value);
  GgufWriter& add(std::string_view key, std::uint32_t value);
  GgufWriter& add(std::string_view key, std::int32_t value);
  GgufWriter& add(std::string_view key, std::uint64_t value);
  GgufWriter& add(std::string_view key, std::int64_t value);
  GgufWriter& add(std::string_view key, float value);
  GgufWriter& add(std::string_view key, double value);
  GgufWriter& add(std::string_view key, bool value);
  GgufWriter& add(std::string_view key, std::string_view value);
  GgufWriter& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  GgufWriter& add(std::string_view key, std::span<const std::string> values);
  GgufWriter& add(std::string_view key, std::span<const std::int32_t> values);
  GgufWriter& add(std::string_view key, std::span<const float> values);
  // Any value: a type number and the bytes that follow it.
  GgufWriter& add_raw(std::string_view key, std::uint32_t type, std::span<const std::byte> bytes);

  // `data` is as long as the shape asks for. Offsets follow the order of the calls.
  GgufWriter& add_tensor(std::string_view name, ElementType type, std::vector<std::uint64_t> dims,
                         std::vector<std::byte> data);
  // A table entry with any numbers in it, and no data.
  GgufWriter& add_raw_tensor(std::string_view name, std::uint32_t rank, std::vector<std::uint64_t> dims,
                             std::uint32_t type, std::uint64_t offset);

  GgufWriter& version(std::uint32_t version) { return version_ = version, *this; }
  // Of the tensors added from here on; writes general.alignment.
  GgufWriter& alignment(std::uint32_t alignment);

  std::vector<std::byte> finish() const;

 private:
  struct Tensor {
    std::string name;
    std::uint32_t rank;
    std::vector<std::uint64_t> dims;
    std::uint32_t type;
    std::uint64_t offset;
    std::vector<std::byte> data;
  };
  template <typename T>
  GgufWriter& add_scalar(std::string_view key, gguf::ValueType type, T value);
  template <typename T>
  GgufWriter& add_array(std::string_view key, gguf::ValueType type, std::span<const T> values);

  std::uint32_t version_ = 3;
  std::uint32_t alignment_ = 32;
  std::uint64_t key_count_ = 0;
  ByteWriter metadata_;
  std::vector<Tensor> tensors_;
  std::uint64_t data_bytes_ = 0;
};

}  // namespace rill::test
