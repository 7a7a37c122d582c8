// A JSON value: what message fields, tool definitions and template variables are made of beyond plain text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "rill/export.h"
#include "rill/result.h"

namespace rill {

class JsonValue;
template <typename Value>
struct BasicJsonMember {  // a template, so that it is whole where JsonValue is
  std::string name;
  Value value;
};
using JsonMember = BasicJsonMember<JsonValue>;
using JsonArray = std::vector<JsonValue>;
using JsonObject = std::vector<JsonMember>;  // members in the order of the text

// Plain data, freely copied. Thread-safe for concurrent reads.
class JsonValue {
 public:
  JsonValue() = default;  // null
  JsonValue(std::nullptr_t) {}
  JsonValue(bool value) : data_(value) {}
  template <typename T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= sizeof(std::int64_t) &&
             (std::is_signed_v<T> || sizeof(T) < sizeof(std::int64_t)))
  JsonValue(T value) : data_(static_cast<std::int64_t>(value)) {}
  JsonValue(double value) : data_(value) {}
  JsonValue(std::string value) : data_(std::move(value)) {}
  JsonValue(std::string_view value) : data_(std::string(value)) {}
  JsonValue(const char* value) : data_(std::string(value)) {}
  JsonValue(JsonArray value) : data_(std::move(value)) {}
  JsonValue(JsonObject value) : data_(std::move(value)) {}

  bool is_null() const noexcept { return data_.index() == 0; }
  // The value if it is of that kind, or nullptr.
  const bool* as_bool() const noexcept { return std::get_if<bool>(&data_); }
  const std::int64_t* as_integer() const noexcept { return std::get_if<std::int64_t>(&data_); }
  const double* as_double() const noexcept { return std::get_if<double>(&data_); }
  const std::string* as_string() const noexcept { return std::get_if<std::string>(&data_); }
  const JsonArray* as_array() const noexcept { return std::get_if<JsonArray>(&data_); }
  const JsonObject* as_object() const noexcept { return std::get_if<JsonObject>(&data_); }

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, JsonArray, JsonObject> data_;
};

// Parses one JSON text. An integer that does not fit 64 bits becomes a double; of members with one name the last
// counts, in the place of the first (as Python's json does). Errors: malformed with the byte offset, limit_exceeded
// beyond `max_depth` nested containers.
RILL_EXPORT Result<JsonValue> parse_json(std::string_view text, std::size_t max_depth = 100);

}  // namespace rill
