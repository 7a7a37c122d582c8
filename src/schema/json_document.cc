#include "schema/json_document.h"

#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "schema/decimal.h"

namespace rill::schema {
namespace {

constexpr std::size_t kMaxScanned = 8;  // up to here a search beats a table

class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(JsonNodes& nodes, std::size_t max_depth) : nodes_(nodes), max_depth_(max_depth) {}

  bool null() override { return add(JsonKind::null), true; }
  bool boolean(bool value) override { return nodes_.nodes[add(JsonKind::boolean)].truth = value, true; }
  bool number_integer(number_integer_t value) override { return add(JsonKind::number, std::to_string(value)), true; }
  bool number_unsigned(number_unsigned_t value) override { return add(JsonKind::number, std::to_string(value)), true; }
  bool number_float(number_float_t, const string_t& text) override { return add(JsonKind::number, text), true; }
  bool string(string_t& value) override { return add(JsonKind::string, value), true; }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& name) override { return levels_.back().name = std::move(name), true; }
  bool start_object(std::size_t) override { return open(JsonKind::object); }
  bool start_array(std::size_t) override { return open(JsonKind::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& exception) override {
    // Its parser reports a number beyond a double's range as an error of its own kind.
    if (exception.id == 406) {
      error_ = make_error(ErrorCode::limit_exceeded, "JSON: the number before byte {} is beyond the range of a double",
                          position);
    } else {
      error_ = make_error(ErrorCode::malformed, "JSON is malformed at byte {}", position > 0 ? position - 1 : 0);
    }
    return false;
  }

  std::optional<Error> take_error() { return std::move(error_); }

 private:
  struct Level {
    std::uint32_t node;
    std::string name = {};
    std::vector<std::uint32_t> children = {};
    std::unordered_map<std::string, std::size_t> places = {};  // of an object with many members
  };

  std::uint32_t append(JsonKind kind, std::string_view text) {
    JsonNodes::Node& node = nodes_.nodes.emplace_back();
    node.kind = kind;
    node.text = static_cast<std::uint32_t>(nodes_.text.size());
    node.text_size = static_cast<std::uint32_t>(text.size());
    nodes_.text += text;
    return static_cast<std::uint32_t>(nodes_.nodes.size() - 1);
  }

  std::uint32_t add(JsonKind kind, std::string_view text = {}) {
    const std::uint32_t number = append(kind, text);
    if (levels_.empty()) return number;
    Level& parent = levels_.back();
    if (nodes_.nodes[parent.node].kind == JsonKind::array) return parent.children.push_back(number), number;
    const std::uint32_t name = append(JsonKind::string, parent.name);
    nodes_.nodes[number].name = name;
    place_of(parent) = number;
    return number;
  }

  // Where the member goes that has the name at hand.
  std::uint32_t& place_of(Level& object) {
    const auto named = [&](std::uint32_t child) { return JsonView(nodes_, child).name() == object.name; };
    if (object.children.size() < kMaxScanned) {
      for (std::uint32_t& child : object.children) {
        if (named(child)) return child;
      }
      return object.children.emplace_back();
    }
    if (object.places.empty()) {
      for (std::size_t i = 0; i < object.children.size(); ++i) {
        object.places.emplace(JsonView(nodes_, object.children[i]).name(), i);
      }
    }
    const auto [place, is_new] = object.places.emplace(object.name, object.children.size());
    if (is_new) object.children.emplace_back();
    return object.children[place->second];
  }

  bool open(JsonKind kind) {
    if (levels_.size() >= max_depth_) {
      error_ = make_error(ErrorCode::limit_exceeded, "JSON is nested deeper than max_depth = {}", max_depth_);
      return false;
    }
    const std::uint32_t node = add(kind);
    levels_.push_back({node});
    return true;
  }

  bool close() {
    const Level& level = levels_.back();
    JsonNodes::Node& node = nodes_.nodes[level.node];
    node.first = static_cast<std::uint32_t>(nodes_.children.size());
    node.count = static_cast<std::uint32_t>(level.children.size());
    nodes_.children.insert(nodes_.children.end(), level.children.begin(), level.children.end());
    levels_.pop_back();
    return true;
  }

  JsonNodes& nodes_;
  std::size_t max_depth_;
  std::vector<Level> levels_;
  std::optional<Error> error_;
};

bool equal_texts(JsonView a, JsonView b) {
  if (a.kind() != JsonKind::number || a.text() == b.text()) return a.text() == b.text();
  const auto left = Decimal::parse(a.text()), right = Decimal::parse(b.text());
  return left && right && *left == *right;
}

}  // namespace

std::optional<JsonView> JsonView::find(std::string_view name) const {
  if (!is(JsonKind::object)) return std::nullopt;
  for (std::size_t i = 0; i < size(); ++i) {
    if ((*this)[i].name() == name) return (*this)[i];
  }
  return std::nullopt;
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return make_error(ErrorCode::limit_exceeded, "a JSON text of {} bytes, max_bytes = {}", text.size(), limits.max_bytes);
  }
  return guarded([&]() -> Result<JsonDocument> {
    auto nodes = std::make_shared<JsonNodes>();
    Builder builder(*nodes, limits.max_depth);
    if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
      if (auto error = builder.take_error()) return std::move(*error);
      return Error{ErrorCode::malformed, "JSON is malformed"};
    }
    return JsonDocument(std::move(nodes));
  });
}

JsonDocument JsonDocument::of_string(std::string_view value) {
  auto nodes = std::make_shared<JsonNodes>();
  nodes->text = value;
  nodes->nodes.push_back({.kind = JsonKind::string, .text_size = static_cast<std::uint32_t>(value.size())});
  return JsonDocument(std::move(nodes));
}

bool equal(JsonView a, JsonView b) {
  std::vector<std::pair<JsonView, JsonView>> todo{{a, b}};
  while (!todo.empty()) {
    const auto [left, right] = todo.back();
    todo.pop_back();
    if (left.kind() != right.kind() || left.size() != right.size() || left.truth() != right.truth()) return false;
    if (!equal_texts(left, right)) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (left.is(JsonKind::array)) {
        todo.emplace_back(left[i], right[i]);
      } else if (const auto other = right.find(left[i].name())) {
        todo.emplace_back(left[i], *other);
      } else {
        return false;
      }
    }
  }
  return true;
}

}  // namespace rill::schema
