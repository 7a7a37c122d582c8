#include "gguf/reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "gguf/cursor.h"

namespace rill::gguf {
namespace {

static_assert(std::endian::native == std::endian::little, "values are read as they lie in the file");

constexpr std::uint64_t kMaxMetadataBytes = 1 << 30;
constexpr std::uint64_t kMaxKeys = 1 << 16;
constexpr std::uint64_t kMaxTensors = 1 << 20;
constexpr std::uint64_t kMaxNameBytes = 65535;  // the format's own limit on keys
constexpr std::uint64_t kMaxStringBytes = 16 << 20;
constexpr std::size_t kMaxArrayDepth = 4;

constexpr std::uint64_t kMinKeyBytes = 8 + 4 + 1;             // name length, type, value
constexpr std::uint64_t kMinTensorBytes = 8 + 4 + 8 + 4 + 8;  // name length, rank, one dimension, type, offset
constexpr std::uint64_t kHeaderBytes = 4 + 4 + 8 + 8;
constexpr std::uint32_t kDefaultAlignment = 32;

class Reader {
 public:
  explicit Reader(const ByteSource& source) : source_(source), cursor_(source, kMaxMetadataBytes) {}

  Result<Head> read() {
    head_.metadata = Metadata(std::string(source_.name()));
    RILL_TRY(read_header());
    RILL_TRY(read_metadata());
    RILL_TRY(read_tensor_table());
    head_.digest = cursor_.digest();
    RILL_TRY(place_tensors());
    return std::move(head_);
  }

 private:
  template <typename... Args>
  Error error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) const {
    return make_error(code, "{}: {}", source_.name(), rill::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  Error tensor_error(ErrorCode code, const TensorInfo& tensor, fmt::format_string<Args...> format,
                     Args&&... args) const {
    return make_error(code, "{}: tensor '{}': {}", source_.name(), tensor.name,
                      rill::format(format, std::forward<Args>(args)...));
  }

  Result<void> read_header();
  Error wrong_magic(std::string_view start) const;

  Result<void> read_metadata();
  Result<Value> read_value(std::string_view key);
  Result<Value> read_array(std::string_view key);
  Result<ValueType> read_type(std::string_view key);
  Result<void> check_booleans(std::string_view key, std::span<const std::byte> values) const;
  Result<FlatStrings> read_strings(std::uint64_t count);
  Result<void> skip_nested(std::string_view key, std::uint64_t count);

  Result<void> read_tensor_table();
  Result<TensorInfo> read_tensor();
  Result<void> read_shape(TensorInfo& tensor);
  Result<void> place_tensors();
  Result<void> check_overlaps() const;

  const ByteSource& source_;
  Cursor cursor_;
  Head head_;
  std::uint64_t key_count_ = 0;
  std::uint64_t tensor_count_ = 0;
};

// ---- Header ----

Result<void> Reader::read_header() {
  if (source_.size() == 0) return error(ErrorCode::file_truncated, "the file is empty");
  std::array<char, 16> start{};
  const std::size_t available = static_cast<std::size_t>(std::min<std::uint64_t>(source_.size(), start.size()));
  RILL_TRY(source_.read(0, std::as_writable_bytes(std::span(start).first(available))));
  if (std::string_view("GGUF").substr(0, available) !=
      std::string_view(start.data(), std::min<std::size_t>(available, 4))) {
    return wrong_magic({start.data(), available});
  }
  if (source_.size() < kHeaderBytes) {
    return error(ErrorCode::file_truncated, "{} bytes are too short for a GGUF file, whose header alone has {}",
                 source_.size(), kHeaderBytes);
  }

  RILL_TRY(cursor_.skip(4));
  RILL_ASSIGN(head_.version, cursor_.read<std::uint32_t>());
  const std::uint32_t swapped = head_.version >> 24 | (head_.version >> 8 & 0xff00);
  if ((head_.version & 0xffff) == 0 && swapped != 0) {
    return error(ErrorCode::unsupported,
                 "GGUF version {} in big-endian byte order; only little-endian files are supported", swapped);
  }
  if (head_.version != 2 && head_.version != 3) {
    return error(ErrorCode::unsupported, "GGUF version {} is not supported, only 2 and 3", head_.version);
  }
  RILL_ASSIGN(tensor_count_, cursor_.read<std::uint64_t>());
  RILL_ASSIGN(key_count_, cursor_.read<std::uint64_t>());
  if (key_count_ > kMaxKeys)
    return error(ErrorCode::limit_exceeded, "{} metadata keys pass the limit of {}", key_count_, kMaxKeys);
  if (tensor_count_ > kMaxTensors)
    return error(ErrorCode::limit_exceeded, "{} tensors pass the limit of {}", tensor_count_, kMaxTensors);
  RILL_TRY(cursor_.expect(key_count_, kMinKeyBytes, "metadata keys"));
  return cursor_.expect(tensor_count_, kMinTensorBytes, "tensors");
}

Error Reader::wrong_magic(std::string_view start) const {
  for (const char* magic : {"lmgg", "fmgg", "tjgg", "algg"}) {
    if (start.starts_with(magic)) {
      return error(ErrorCode::unsupported, "an old GGML file (magic '{}'), which must be converted to GGUF", magic);
    }
  }
  if (start.starts_with("version https://")) {
    return error(ErrorCode::malformed, "a Git LFS pointer, not a GGUF file: fetch the file it stands for");
  }
  const std::size_t text = start.find_first_not_of(" \t\r\n");
  if (text != std::string_view::npos && start[text] == '<') {
    return error(ErrorCode::malformed, "an HTML or XML page, not a GGUF file: the download has failed");
  }
  std::string hex;
  for (const char byte : start.substr(0, 4)) hex += format("{:02x}", static_cast<unsigned char>(byte));
  return error(ErrorCode::malformed, "not a GGUF file: it starts with the bytes {}", hex);
}

// ---- Metadata ----

Result<void> Reader::read_metadata() {
  for (std::uint64_t i = 0; i < key_count_; ++i) {
    std::string key;
    RILL_TRY(cursor_.append_string(key, kMaxNameBytes, "bytes of a key"));
    RILL_ASSIGN(Value value, read_value(key));
    if (head_.metadata.find(key) != nullptr) return error(ErrorCode::malformed, "key '{}' occurs twice", key);
    head_.metadata.insert(std::move(key), std::move(value));
  }
  return {};
}

Result<ValueType> Reader::read_type(std::string_view key) {
  RILL_ASSIGN(const std::uint32_t number, cursor_.read<std::uint32_t>());
  if (number >= kValueTypeCount) {
    return error(ErrorCode::malformed, "key '{}' has type number {}, which does not exist", key, number);
  }
  return static_cast<ValueType>(number);
}

Result<Value> Reader::read_value(std::string_view key) {
  const auto scalar = [this]<typename Stored, typename Kept>(ValueType type, Stored, Kept) -> Result<Value> {
    RILL_ASSIGN(const Stored stored, cursor_.read<Stored>());
    return Value{type, Kept{stored}};
  };
  RILL_ASSIGN(const ValueType type, read_type(key));
  switch (type) {
    case ValueType::u8: return scalar(type, std::uint8_t{}, std::uint64_t{});
    case ValueType::u16: return scalar(type, std::uint16_t{}, std::uint64_t{});
    case ValueType::u32: return scalar(type, std::uint32_t{}, std::uint64_t{});
    case ValueType::u64: return scalar(type, std::uint64_t{}, std::uint64_t{});
    case ValueType::i8: return scalar(type, std::int8_t{}, std::int64_t{});
    case ValueType::i16: return scalar(type, std::int16_t{}, std::int64_t{});
    case ValueType::i32: return scalar(type, std::int32_t{}, std::int64_t{});
    case ValueType::i64: return scalar(type, std::int64_t{}, std::int64_t{});
    case ValueType::f32: return scalar(type, float{}, float{});
    case ValueType::f64: return scalar(type, double{}, double{});
    case ValueType::boolean: {
      RILL_ASSIGN(const std::byte stored, cursor_.read<std::byte>());
      RILL_TRY(check_booleans(key, std::span(&stored, 1)));
      return Value{type, stored == std::byte{1}};
    }
    case ValueType::string: {
      std::string text;
      RILL_TRY(cursor_.append_string(text, kMaxStringBytes, "bytes of a string"));
      return Value{type, std::move(text)};
    }
    case ValueType::array: return read_array(key);
  }
  return error(ErrorCode::internal, "key '{}' has a type that was not checked", key);
}

Result<void> Reader::check_booleans(std::string_view key, std::span<const std::byte> values) const {
  const auto bad = std::find_if(values.begin(), values.end(), [](std::byte value) { return value > std::byte{1}; });
  if (bad == values.end()) return {};
  return error(ErrorCode::malformed, "key '{}' holds a bool of value {}", key, std::to_integer<int>(*bad));
}

Result<Value> Reader::read_array(std::string_view key) {
  RILL_ASSIGN(const ValueType type, read_type(key));
  RILL_ASSIGN(const std::uint64_t count, cursor_.read<std::uint64_t>());
  if (type == ValueType::array) {
    RILL_TRY(skip_nested(key, count));
    return Value{ValueType::array, NestedArray{count}};
  }
  if (type == ValueType::string) {
    RILL_ASSIGN(FlatStrings strings, read_strings(count));
    return Value{ValueType::array, std::move(strings)};
  }
  RILL_TRY(cursor_.expect(count, byte_width(type), "array elements"));
  NumberArray numbers{type, std::vector<std::byte>(static_cast<std::size_t>(count) * byte_width(type))};
  RILL_TRY(cursor_.read(numbers.bytes));
  if (type == ValueType::boolean) RILL_TRY(check_booleans(key, numbers.bytes));
  return Value{ValueType::array, std::move(numbers)};
}

// kMaxMetadataBytes keeps the offsets within 32 bits.
Result<FlatStrings> Reader::read_strings(std::uint64_t count) {
  static_assert(kMaxMetadataBytes <= std::numeric_limits<std::uint32_t>::max());
  RILL_TRY(cursor_.expect(count, sizeof(std::uint64_t), "strings"));
  FlatStrings strings;
  strings.offsets.reserve(static_cast<std::size_t>(count) + 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    RILL_TRY(cursor_.append_string(strings.bytes, kMaxStringBytes, "bytes of a string"));
    strings.end_string();
  }
  return strings;
}

// `left[d]` counts the arrays still to come at depth d; no recursion, so that the file cannot choose the stack's depth.
Result<void> Reader::skip_nested(std::string_view key, std::uint64_t count) {
  std::vector<std::uint64_t> left = {count};
  while (!left.empty()) {
    if (left.back()-- == 0) {
      left.pop_back();
      continue;
    }
    RILL_ASSIGN(const ValueType type, read_type(key));
    RILL_ASSIGN(const std::uint64_t inner, cursor_.read<std::uint64_t>());
    if (type == ValueType::array) {
      if (left.size() + 1 == kMaxArrayDepth) {
        return error(ErrorCode::limit_exceeded, "key '{}' nests arrays deeper than the limit of {}", key,
                     kMaxArrayDepth);
      }
      left.push_back(inner);
    } else if (type == ValueType::string) {
      std::string text;
      for (std::uint64_t i = 0; i < inner; ++i) {
        text.clear();
        RILL_TRY(cursor_.append_string(text, kMaxStringBytes, "bytes of a string"));
      }
    } else {
      RILL_TRY(cursor_.expect(inner, byte_width(type), "array elements"));
      RILL_TRY(cursor_.skip(inner * byte_width(type)));
    }
  }
  return {};
}

// ---- Tensors ----

// Types that the format defines and rill does not decode, for the error text.
const char* unsupported_type_name(std::uint32_t number) {
  constexpr const char* kNames[] = {nullptr, nullptr,      nullptr,      nullptr,      "Q4_2",     "Q4_3",     nullptr,
                                    nullptr, nullptr,      "Q8_1",       "Q2_K",       "Q3_K",     nullptr,    nullptr,
                                    nullptr, "Q8_K",       "IQ2_XXS",    "IQ2_XS",     "IQ3_XXS",  "IQ1_S",    "IQ4_NL",
                                    "IQ3_S", "IQ2_S",      "IQ4_XS",     "I8",         "I16",      "I32",      "I64",
                                    "F64",   "IQ1_M",      nullptr,      "Q4_0_4_4",   "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",
                                    "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4",    "NVFP4",    "Q1_0"};
  return number < std::size(kNames) ? kNames[number] : nullptr;
}

Result<void> Reader::read_tensor_table() {
  for (std::uint64_t i = 0; i < tensor_count_; ++i) {
    RILL_ASSIGN(TensorInfo tensor, read_tensor());
    head_.tensors.push_back(std::move(tensor));
  }
  return {};
}

Result<TensorInfo> Reader::read_tensor() {
  TensorInfo tensor;
  RILL_TRY(cursor_.append_string(tensor.name, kMaxNameBytes, "bytes of a tensor's name"));
  RILL_TRY(read_shape(tensor));
  RILL_ASSIGN(const std::uint32_t number, cursor_.read<std::uint32_t>());
  const std::optional<ElementType> type = element_type_from_gguf(number);
  if (!type) {
    const char* name = unsupported_type_name(number);
    return name != nullptr ? tensor_error(ErrorCode::unsupported, tensor, "element type {} is not supported", name)
                           : tensor_error(ErrorCode::unsupported, tensor, "element type number {} is unknown", number);
  }
  tensor.type = *type;
  RILL_ASSIGN(tensor.offset, cursor_.read<std::uint64_t>());

  const ElementTypeInfo& layout = info(tensor.type);
  if (tensor.cols() % layout.block_elements != 0) {
    return tensor_error(ErrorCode::malformed, tensor, "rows of {} elements are not whole {} blocks of {}",
                        tensor.cols(), layout.name, layout.block_elements);
  }
  const auto bytes = checked_mul(tensor.elements() / layout.block_elements, layout.block_bytes);
  if (!bytes) return tensor_error(ErrorCode::malformed, tensor, "the size in bytes does not fit 64 bits");
  tensor.bytes = *bytes;
  return tensor;
}

Result<void> Reader::read_shape(TensorInfo& tensor) {
  RILL_ASSIGN(const std::uint32_t rank, cursor_.read<std::uint32_t>());
  if (rank == 0 || rank > kMaxDims) {
    return tensor_error(ErrorCode::malformed, tensor, "{} dimensions; 1 to {} are possible", rank, kMaxDims);
  }
  tensor.rank = rank;
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < tensor.rank; ++i) {
    RILL_ASSIGN(tensor.dims[i], cursor_.read<std::uint64_t>());
    if (tensor.dims[i] == 0) return tensor_error(ErrorCode::malformed, tensor, "dimension {} is 0", i);
    const auto product = checked_mul(elements, tensor.dims[i]);
    if (!product || *product > std::numeric_limits<std::int64_t>::max()) {
      return tensor_error(ErrorCode::malformed, tensor, "the number of elements does not fit 63 bits");
    }
    elements = *product;
  }
  return {};
}

Result<void> Reader::place_tensors() {
  RILL_ASSIGN(const auto alignment, head_.metadata.get_or<std::uint32_t>("general.alignment", kDefaultAlignment));
  if (!std::has_single_bit(alignment))
    return error(ErrorCode::malformed, "general.alignment is {}, which is no power of two", alignment);
  // The position lies within kMaxMetadataBytes, so that this cannot wrap.
  const std::uint64_t data_start = *checked_align(cursor_.position(), alignment);

  std::uint64_t needed = 0;
  const TensorInfo* beyond = nullptr;
  for (TensorInfo& tensor : head_.tensors) {
    if (tensor.offset % alignment != 0) {
      return tensor_error(ErrorCode::malformed, tensor, "offset {} is no multiple of the alignment {}", tensor.offset,
                          alignment);
    }
    const auto offset = checked_add(data_start, tensor.offset);
    const auto end = offset ? checked_add(*offset, tensor.bytes) : std::nullopt;
    if (!end || !checked_align(*end, alignment)) {
      return tensor_error(ErrorCode::malformed, tensor, "offset {} and size {} do not fit 64 bits", tensor.offset,
                          tensor.bytes);
    }
    tensor.offset = *offset;
    needed = std::max(needed, *end);
    if (beyond == nullptr && *end > source_.size()) beyond = &tensor;
  }
  if (beyond != nullptr) {
    return tensor_error(ErrorCode::file_truncated, *beyond,
                        "the file is truncated: its tensors need {} bytes, and it has {}", needed, source_.size());
  }
  return check_overlaps();
}

Result<void> Reader::check_overlaps() const {
  std::vector<const TensorInfo*> by_offset;
  for (const TensorInfo& tensor : head_.tensors) by_offset.push_back(&tensor);
  std::sort(by_offset.begin(), by_offset.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    const TensorInfo &before = *by_offset[i - 1], &after = *by_offset[i];
    if (before.offset + before.bytes > after.offset) {
      return tensor_error(ErrorCode::malformed, after, "its data overlap those of tensor '{}'", before.name);
    }
  }
  return {};
}

}  // namespace

Result<Head> read_head(const ByteSource& source) { return Reader(source).read(); }

}  // namespace rill::gguf
