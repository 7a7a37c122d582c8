#include "support/gguf_writer.h"

#include <utility>

namespace rill::test {

using gguf::ValueType;

ByteWriter& ByteWriter::put(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

ByteWriter& ByteWriter::put_string(std::string_view text) {
  put(std::uint64_t{text.size()});
  return put(std::as_bytes(std::span(text)));
}

ByteWriter& ByteWriter::pad_to(std::size_t alignment) {
  bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
  return *this;
}

template <typename T>
GgufWriter& GgufWriter::add_scalar(std::string_view key, ValueType type, T value) {
  return add_raw(key, static_cast<std::uint32_t>(type), std::as_bytes(std::span(&value, 1)));
}

template <typename T>
GgufWriter& GgufWriter::add_array(std::string_view key, ValueType type, std::span<const T> values) {
  ByteWriter array;
  array.put(static_cast<std::uint32_t>(type)).put(std::uint64_t{values.size()}).put(std::as_bytes(values));
  return add_raw(key, static_cast<std::uint32_t>(ValueType::array), array.bytes());
}

GgufWriter& GgufWriter::add(std::string_view key, std::uint8_t value) { return add_scalar(key, ValueType::u8, value); }
GgufWriter& GgufWriter::add(std::string_view key, std::int8_t value) { return add_scalar(key, ValueType::i8, value); }
GgufWriter& GgufWriter::add(std::string_view key, std::uint16_t value) {
  return add_scalar(key, ValueType::u16, value);
}
GgufWriter& GgufWriter::add(std::string_view key, std::int16_t value) { return add_scalar(key, ValueType::i16, value); }
GgufWriter& GgufWriter::add(std::string_view key, std::uint32_t value) {
  return add_scalar(key, ValueType::u32, value);
}
GgufWriter& GgufWriter::add(std::string_view key, std::int32_t value) { return add_scalar(key, ValueType::i32, value); }
GgufWriter& GgufWriter::add(std::string_view key, std::uint64_t value) {
  return add_scalar(key, ValueType::u64, value);
}
GgufWriter& GgufWriter::add(std::string_view key, std::int64_t value) { return add_scalar(key, ValueType::i64, value); }
GgufWriter& GgufWriter::add(std::string_view key, float value) { return add_scalar(key, ValueType::f32, value); }
GgufWriter& GgufWriter::add(std::string_view key, double value) { return add_scalar(key, ValueType::f64, value); }
GgufWriter& GgufWriter::add(std::string_view key, bool value) { return add_scalar(key, ValueType::boolean, value); }

GgufWriter& GgufWriter::add(std::string_view key, std::string_view value) {
  ByteWriter text;
  text.put_string(value);
  return add_raw(key, static_cast<std::uint32_t>(ValueType::string), text.bytes());
}

GgufWriter& GgufWriter::add(std::string_view key, std::span<const std::string> values) {
  ByteWriter array;
  array.put(static_cast<std::uint32_t>(ValueType::string)).put(std::uint64_t{values.size()});
  for (const std::string& value : values) array.put_string(value);
  return add_raw(key, static_cast<std::uint32_t>(ValueType::array), array.bytes());
}

GgufWriter& GgufWriter::add(std::string_view key, std::span<const std::int32_t> values) {
  return add_array(key, ValueType::i32, values);
}
GgufWriter& GgufWriter::add(std::string_view key, std::span<const float> values) {
  return add_array(key, ValueType::f32, values);
}

GgufWriter& GgufWriter::add_raw(std::string_view key, std::uint32_t type, std::span<const std::byte> bytes) {
  metadata_.put_string(key).put(type).put(bytes);
  ++key_count_;
  return *this;
}

GgufWriter& GgufWriter::add_tensor(std::string_view name, ElementType type, std::vector<std::uint64_t> dims,
                                   std::vector<std::byte> data) {
  const auto rank = static_cast<std::uint32_t>(dims.size());
  const std::uint64_t size = data.size();
  tensors_.push_back({std::string(name), rank, std::move(dims), info(type).gguf_type, data_bytes_, std::move(data)});
  data_bytes_ += (size + alignment_ - 1) / alignment_ * alignment_;
  return *this;
}

GgufWriter& GgufWriter::add_raw_tensor(std::string_view name, std::uint32_t rank, std::vector<std::uint64_t> dims,
                                       std::uint32_t type, std::uint64_t offset) {
  tensors_.push_back({std::string(name), rank, std::move(dims), type, offset, {}});
  return *this;
}

GgufWriter& GgufWriter::alignment(std::uint32_t alignment) {
  alignment_ = alignment;
  return add("general.alignment", alignment);
}

std::vector<std::byte> GgufWriter::finish() const {
  ByteWriter out;
  out.put(std::as_bytes(std::span(std::string_view("GGUF"))));
  out.put(version_).put(std::uint64_t{tensors_.size()}).put(key_count_);
  out.put(metadata_.bytes());
  for (const Tensor& tensor : tensors_) {
    out.put_string(tensor.name).put(tensor.rank);
    for (const std::uint64_t dim : tensor.dims) out.put(dim);
    out.put(tensor.type).put(tensor.offset);
  }
  if (!tensors_.empty()) out.pad_to(alignment_);
  for (const Tensor& tensor : tensors_) out.put(tensor.data).pad_to(alignment_);
  return std::move(out.bytes());
}

}  // namespace rill::test
