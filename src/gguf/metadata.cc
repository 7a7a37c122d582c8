#include "gguf/metadata.h"

#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace rill::gguf {
namespace {

struct TypeInfo {
  const char* name;
  std::size_t width;
};
constexpr TypeInfo kTypes[kValueTypeCount] = {
    {"uint8", 1}, {"int8", 1},   {"uint16", 2}, {"int16", 2},  {"uint32", 4}, {"int32", 4},  {"float32", 4},
    {"bool", 1},  {"string", 0}, {"array", 0},  {"uint64", 8}, {"int64", 8},  {"float64", 8}};

template <typename T>
constexpr const char* kWanted = "an integer";
template <>
constexpr const char* kWanted<bool> = "a bool";
template <>
constexpr const char* kWanted<float> = "a float";
template <>
constexpr const char* kWanted<std::string_view> = "a string";

template <typename T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// Calls `visit` with element `i` as the C++ type that the file stores.
template <typename Visit>
auto visit_element(const NumberArray& array, std::size_t i, Visit&& visit) {
  const std::byte* at = array.bytes.data() + i * byte_width(array.type);
  switch (array.type) {
    case ValueType::u8: return visit(load<std::uint8_t>(at));
    case ValueType::i8: return visit(load<std::int8_t>(at));
    case ValueType::u16: return visit(load<std::uint16_t>(at));
    case ValueType::i16: return visit(load<std::int16_t>(at));
    case ValueType::u32: return visit(load<std::uint32_t>(at));
    case ValueType::i32: return visit(load<std::int32_t>(at));
    case ValueType::u64: return visit(load<std::uint64_t>(at));
    case ValueType::i64: return visit(load<std::int64_t>(at));
    case ValueType::f32: return visit(load<float>(at));
    case ValueType::f64: return visit(load<double>(at));
    case ValueType::boolean: return visit(*at != std::byte{0});
    case ValueType::string:
    case ValueType::array: break;  // never the type of a NumberArray
  }
  return visit(false);
}

template <typename T>
constexpr bool kIsInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <typename To, typename From>
constexpr bool kConverts = std::is_same_v<To, From> || (kIsInteger<To> && kIsInteger<From>) ||
                           (std::is_same_v<To, float> && std::is_same_v<From, double>) ||
                           (std::is_same_v<To, std::string_view> && std::is_same_v<From, std::string>);

// Nothing if the value is out of the range of To.
template <typename To, typename From>
std::optional<To> convert(const From& value) {
  if constexpr (kIsInteger<To> && kIsInteger<From>) {
    if (!std::in_range<To>(value)) return std::nullopt;
    return static_cast<To>(value);
  } else if constexpr (std::is_same_v<To, float> && std::is_same_v<From, double>) {
    return static_cast<float>(value);
  } else {
    return To(value);
  }
}

template <typename T>
constexpr int kBits = static_cast<int>(sizeof(T) * 8);

}  // namespace

const char* to_string(ValueType type) { return kTypes[static_cast<std::size_t>(type)].name; }
std::size_t byte_width(ValueType type) { return kTypes[static_cast<std::size_t>(type)].width; }

const Value* Metadata::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::size_t Metadata::memory_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [key, value] : values_) {
    bytes += sizeof(Map::value_type) + key.size();
    if (const auto* text = std::get_if<std::string>(&value.data)) bytes += text->capacity();
    if (const auto* strings = std::get_if<FlatStrings>(&value.data)) bytes += strings->memory_bytes();
    if (const auto* numbers = std::get_if<NumberArray>(&value.data)) bytes += numbers->bytes.capacity();
  }
  return bytes;
}

bool Metadata::insert(std::string key, Value value) {
  return values_.try_emplace(std::move(key), std::move(value)).second;
}

Result<const Value*> Metadata::require(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return make_error(ErrorCode::not_found, "{}: key '{}' is missing", source_name_, key);
  return value;
}

template <typename T>
Result<T> Metadata::get(std::string_view key) const {
  RILL_ASSIGN(const Value* value, require(key));
  return std::visit(
      [&]<typename From>(const From& data) -> Result<T> {
        if constexpr (kConverts<T, From>) {
          if (const std::optional<T> converted = convert<T>(data)) return *converted;
          return make_error(ErrorCode::malformed, "{}: key '{}' is {}, which does not fit {} {} bits", source_name_,
                            key, data, std::is_signed_v<T> ? "signed" : "unsigned", kBits<T>);
        } else {
          return make_error(ErrorCode::malformed, "{}: key '{}' has type {}, but must be {}", source_name_, key,
                            to_string(value->type), kWanted<T>);
        }
      },
      value->data);
}

template <typename T>
Result<std::vector<T>> Metadata::get_array(std::string_view key) const {
  RILL_ASSIGN(const Value* value, require(key));
  const auto* array = std::get_if<NumberArray>(&value->data);
  if (array == nullptr) {
    const bool strings = std::holds_alternative<FlatStrings>(value->data);
    return make_error(ErrorCode::malformed,
                      "{}: key '{}' has type {}{}, but must be an array of which each element is {}", source_name_, key,
                      strings ? "string " : "", to_string(value->type), kWanted<T>);
  }
  std::vector<T> elements(array->size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    RILL_TRY(visit_element(*array, i, [&]<typename From>(From data) -> Result<void> {
      if constexpr (kConverts<T, From>) {
        const std::optional<T> converted = convert<T>(data);
        if (!converted) {
          return make_error(ErrorCode::malformed, "{}: element {} of key '{}' is {}, which does not fit {} {} bits",
                            source_name_, i, key, data, std::is_signed_v<T> ? "signed" : "unsigned", kBits<T>);
        }
        elements[i] = *converted;
        return {};
      } else {
        return make_error(ErrorCode::malformed, "{}: key '{}' is an array of {}, but each element must be {}",
                          source_name_, key, to_string(array->type), kWanted<T>);
      }
    }));
  }
  return elements;
}

Result<const FlatStrings*> Metadata::get_strings(std::string_view key) const {
  RILL_ASSIGN(const Value* value, require(key));
  const auto* array = std::get_if<FlatStrings>(&value->data);
  if (array == nullptr) {
    return make_error(ErrorCode::malformed, "{}: key '{}' has type {}, but must be an array of strings", source_name_,
                      key, to_string(value->type));
  }
  return array;
}

template Result<bool> Metadata::get(std::string_view) const;
template Result<std::int32_t> Metadata::get(std::string_view) const;
template Result<std::uint32_t> Metadata::get(std::string_view) const;
template Result<std::int64_t> Metadata::get(std::string_view) const;
template Result<std::uint64_t> Metadata::get(std::string_view) const;
template Result<float> Metadata::get(std::string_view) const;
template Result<std::string_view> Metadata::get(std::string_view) const;
template Result<std::vector<bool>> Metadata::get_array(std::string_view) const;
template Result<std::vector<std::int32_t>> Metadata::get_array(std::string_view) const;
template Result<std::vector<std::uint32_t>> Metadata::get_array(std::string_view) const;
template Result<std::vector<std::int64_t>> Metadata::get_array(std::string_view) const;
template Result<std::vector<std::uint64_t>> Metadata::get_array(std::string_view) const;
template Result<std::vector<float>> Metadata::get_array(std::string_view) const;

}  // namespace rill::gguf
