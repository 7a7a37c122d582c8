// The key-value part of a GGUF file, with typed access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/flat_strings.h"
#include "rill/result.h"

namespace rill::gguf {

// Numbers of the file format.
enum class ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
inline constexpr std::uint32_t kValueTypeCount = 13;

const char* to_string(ValueType type);
std::size_t byte_width(ValueType type);  // of a number or boolean; 0 for string and array

// Numbers or booleans as they lie in the file, little-endian.
struct NumberArray {
  ValueType type = ValueType::u8;
  std::vector<std::byte> bytes;

  std::size_t size() const { return bytes.size() / byte_width(type); }
};

// An array of arrays: checked and skipped, as no key that rill knows holds one.
struct NestedArray {
  std::uint64_t size = 0;
};

struct Value {
  ValueType type = ValueType::u8;
  // Integers are widened; f32 is kept apart from f64 so that it prints as it was written.
  std::variant<std::uint64_t, std::int64_t, float, double, bool, std::string, FlatStrings, NumberArray, NestedArray>
      data;
};

// Immutable once read: thread-safe. Every error names the file, the key, and the types or the value.
class Metadata {
 public:
  using Map = std::map<std::string, Value, std::less<>>;

  explicit Metadata(std::string source_name = {}) : source_name_(std::move(source_name)) {}

  const Value* find(std::string_view key) const;  // null if there is none
  const Map& values() const { return values_; }   // ordered by key
  const std::string& source_name() const { return source_name_; }

  // T is bool, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float or std::string_view (valid as long as
  // the metadata). Integers are taken from any integer type that the value fits, float from f32 or f64. not_found: no
  // such key. malformed: another type, or out of T's range.
  template <typename T>
  Result<T> get(std::string_view key) const;

  // The same, with `fallback` where the key is absent. A key of the wrong type is an error all the same.
  template <typename T>
  Result<T> get_or(std::string_view key, T fallback) const {
    return find(key) == nullptr ? Result<T>(fallback) : get<T>(key);
  }

  Result<const FlatStrings*> get_strings(std::string_view key) const;

  // T is bool, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t or float; elements convert as in get().
  template <typename T>
  Result<std::vector<T>> get_array(std::string_view key) const;

  // Of the values, as they are kept.
  std::size_t memory_bytes() const;

  // False if the key is there already.
  bool insert(std::string key, Value value);

 private:
  Result<const Value*> require(std::string_view key) const;

  std::string source_name_;
  Map values_;
};

}  // namespace rill::gguf
