// JSON: the tojson filter (Python's json.dumps) and parse_json.
#include "rill/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "chat/runtime.h"
#include "chat/unicode.h"

namespace rill {
namespace {

// Builds the value from nlohmann's events. The stack holds what is open.
class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonBuilder(std::size_t max_depth) : max_depth_(max_depth) {}

  bool null() override { return add(JsonValue()); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<number_unsigned_t>(INT64_MAX)) return add(static_cast<std::int64_t>(value));
    return add(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(true); }
  bool key(string_t& value) override {
    stack_.back().key = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    error_ = make_error(ErrorCode::malformed, "JSON is malformed at byte {}", position > 0 ? position - 1 : 0);
    return false;
  }

  Result<JsonValue> result() && {
    if (error_) return std::move(*error_);
    return std::move(root_);
  }

 private:
  struct Level {
    bool is_object = false;
    std::string key;
    JsonArray array;
    JsonObject object;
    std::unordered_map<std::string, std::size_t> places;  // of the object's names
  };

  bool open(bool is_object) {
    if (stack_.size() >= max_depth_) {
      error_ = make_error(ErrorCode::limit_exceeded, "JSON is nested deeper than the limit max_depth = {}", max_depth_);
      return false;
    }
    stack_.emplace_back().is_object = is_object;
    return true;
  }

  bool close() {
    Level level = std::move(stack_.back());
    stack_.pop_back();
    return level.is_object ? add(std::move(level.object)) : add(std::move(level.array));
  }

  bool add(JsonValue value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Level& level = stack_.back();
    if (!level.is_object) {
      level.array.push_back(std::move(value));
      return true;
    }
    const auto [place, is_new] = level.places.try_emplace(level.key, level.object.size());
    if (is_new) {
      level.object.push_back({std::move(level.key), std::move(value)});
    } else {
      level.object[place->second].value = std::move(value);
    }
    return true;
  }

  std::size_t max_depth_;
  std::vector<Level> stack_;
  JsonValue root_;
  std::optional<Error> error_;
};

}  // namespace

Result<JsonValue> parse_json(std::string_view text, std::size_t max_depth) {
  return guarded([&]() -> Result<JsonValue> {
    JsonBuilder builder(max_depth);
    nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
    return std::move(builder).result();
  });
}

}  // namespace rill

namespace rill::chat {
namespace {

class JsonWriter {
 public:
  explicit JsonWriter(Builder& out) : out_(out) {}

  bool ensure_ascii = false;
  bool sort_keys = false;
  bool has_indent = false;
  Text indent;
  Text item_separator{", ", {}};
  Text key_separator{": ", {}};

  void write(const Value& value, std::size_t level) {
    const Budget::Depth depth(out_.budget());
    out_.budget().step();
    switch (value.kind) {
      case Kind::string: return write_string(value.text());
      case Kind::list:
      case Kind::tuple: return write_array(value, level);
      case Kind::dict: return write_object(value, level);
      default: out_.add(scalar(value), value.untrusted);
    }
  }

 private:
  std::string scalar(const Value& value) {
    switch (value.kind) {
      case Kind::none: return "null";
      case Kind::boolean: return value.boolean ? "true" : "false";
      case Kind::integer: return format("{}", value.integer);
      case Kind::real:
        if (std::isnan(value.real)) return "NaN";
        if (std::isinf(value.real)) return value.real < 0 ? "-Infinity" : "Infinity";
        return format_real(value.real);
      default: fail(ErrorCode::malformed, "Object of type {} is not JSON serializable", type_name(value));
    }
  }

  void punctuate(const Text& text, bool untrusted) { out_.add(text.bytes, untrusted || text.tainted()); }

  void new_line(std::size_t level, bool untrusted) {
    if (!has_indent) return;
    out_.add("\n", untrusted);
    for (std::size_t i = 0; i < level; ++i) punctuate(indent, untrusted);
  }

  void write_array(const Value& value, std::size_t level) {
    const auto& items = value.sequence().items;
    if (items.empty()) {
      out_.add("[]", value.untrusted);
      return;
    }
    out_.add("[", value.untrusted);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) punctuate(item_separator, value.untrusted);
      new_line(level + 1, value.untrusted);
      write(items[i], level + 1);
    }
    new_line(level, value.untrusted);
    out_.add("]", value.untrusted);
  }

  void write_object(const Value& value, std::size_t level) {
    auto items = value.dict().items;
    out_.budget().memory(items.size() * sizeof(items[0]));
    if (items.empty()) {
      out_.add("{}", value.untrusted);
      return;
    }
    if (sort_keys) {
      std::stable_sort(items.begin(), items.end(), [this](const auto& a, const auto& b) {
        return compare(out_.budget(), a.first, b.first) < 0;
      });
    }
    out_.add("{", value.untrusted);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) punctuate(item_separator, value.untrusted);
      new_line(level + 1, value.untrusted);
      write_key(items[i].first);
      punctuate(key_separator, value.untrusted);
      write(items[i].second, level + 1);
    }
    new_line(level, value.untrusted);
    out_.add("}", value.untrusted);
  }

  void write_key(const Value& key) {
    if (key.is(Kind::string)) return write_string(key.text());
    if (key.is(Kind::tuple)) fail(ErrorCode::malformed, "keys must be str, int, float, bool or None, not tuple");
    out_.add("\"", key.untrusted).add(scalar(key), key.untrusted).add("\"", key.untrusted);
  }

  void write_string(const Text& text) {
    const std::string& bytes = text.bytes;
    out_.add("\"", text.tainted());
    for (std::size_t i = 0; i < bytes.size();) {
      const CodePoint c = decode(bytes, i);
      const std::string escape = escaped(c.value);
      if (escape.empty()) {
        out_.add(text, i, i + c.length);
      } else {
        out_.add(escape, text.tainted(i, i + c.length));
      }
      i += c.length;
    }
    out_.add("\"", text.tainted());
  }

  // Empty if the code point stands for itself.
  std::string escaped(std::uint32_t c) const {
    switch (c) {
      case '"': return "\\\"";
      case '\\': return "\\\\";
      case '\n': return "\\n";
      case '\r': return "\\r";
      case '\t': return "\\t";
      case '\b': return "\\b";
      case '\f': return "\\f";
      default: break;
    }
    const bool keeps = c >= 0x20 && (c < 0x7F || c >= kInvalid || !ensure_ascii);
    if (keeps) return "";
    if (c < 0x10000) return format("\\u{:04x}", c);
    return format("\\u{:04x}\\u{:04x}", 0xD800 + ((c - 0x10000) >> 10), 0xDC00 + ((c - 0x10000) & 0x3FF));
  }

  Builder& out_;
};

}  // namespace

// Parameters: ensure_ascii, indent, separators, sort_keys.
Value tojson(Runtime& runtime, const Value& self, const Params& params) {
  Builder out(runtime.budget());
  JsonWriter writer(out);
  writer.ensure_ascii = params.flag(0);
  writer.sort_keys = params.flag(3);
  if (params.given(1) && !params[1].is(Kind::none)) {
    writer.has_indent = true;
    writer.item_separator = {",", {}};
    if (params[1].is(Kind::string)) {
      writer.indent = params[1].text();
    } else {
      const std::int64_t width = params.integer(1, 0);
      if (width > 1000) fail(ErrorCode::unsupported, "an indent of more than 1000 is unsupported");
      writer.indent.bytes.assign(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
    }
  }
  if (params.given(2) && !params[2].is(Kind::none)) {
    const std::vector<Value> pair = runtime.items(params[2]);
    if (pair.size() != 2 || !pair[0].is(Kind::string) || !pair[1].is(Kind::string)) {
      fail(ErrorCode::malformed, "separators must be two strings");
    }
    writer.item_separator = pair[0].text();
    writer.key_separator = pair[1].text();
  }
  writer.write(self, 0);
  return runtime.heap().string(out.take());
}

}  // namespace rill::chat
