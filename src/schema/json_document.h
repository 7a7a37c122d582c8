// One JSON text, with its numbers as they were written and its members in their order.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/step_budget.h"
#include "rill/result.h"
#include "schema/decimal.h"

namespace rill::schema {

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };

inline constexpr std::size_t kStepsOfValue = 8;  // to look at one, whatever it is

struct JsonLimits {
  std::size_t max_bytes = std::size_t{16} << 20;  // below 4 GiB
  std::size_t max_depth = 512;
  std::size_t max_values = 4'000'000;  // names of members among them; about 50 bytes each
};

// The values of a JSON text by number, in one vector; strings and numbers in one buffer.
struct JsonNodes {
  struct Node {
    JsonKind kind = JsonKind::null;
    bool truth = false;
    std::uint32_t text = 0, text_size = 0;  // of a string, decoded, or of a number, as written
    std::uint32_t name = 0;  // of a member: the number of a string
    std::uint32_t first = 0, count = 0;  // children: children[first], ...
    std::uint32_t by_name = 0;  // of an object: by_name[by_name], ... are its members, ascending
    std::uint32_t begin = 0, end = 0;  // bytes of the JSON text
  };
  std::vector<Node> nodes;
  std::vector<std::uint32_t> children, by_name;
  std::string text;
};

// A value. Cheap to copy; valid as long as the document it comes from.
class JsonView {
 public:
  JsonView(const JsonNodes& nodes, std::uint32_t number) : nodes_(&nodes), number_(number) {}

  JsonKind kind() const { return node().kind; }
  bool is(JsonKind kind) const { return node().kind == kind; }
  bool truth() const { return node().truth; }
  std::string_view text() const { return part(node().text, node().text_size); }  // of a string or number
  bool is_member() const { return node().name != 0; }  // of an object: the root is no name
  // Of a member of an object: its name, also as a value.
  std::string_view name() const { return name_value().text(); }
  JsonView name_value() const { return {*nodes_, node().name}; }

  std::size_t size() const { return node().count; }  // of elements or members
  JsonView operator[](std::size_t i) const { return {*nodes_, nodes_->children[node().first + i]}; }
  // Of an object: its members in the order of their names.
  JsonView by_name(std::size_t i) const { return {*nodes_, nodes_->by_name[node().by_name + i]}; }
  std::optional<JsonView> find(std::string_view name) const;  // nothing, too, in what is no object

  // The part of the document's text that spells it.
  std::string_view spelled(std::string_view json) const { return json.substr(node().begin, node().end - node().begin); }

  // Tells the values of one document apart.
  std::uint32_t number() const { return number_; }

 private:
  const JsonNodes::Node& node() const { return nodes_->nodes[number_]; }
  std::string_view part(std::size_t begin, std::size_t size) const {
    return std::string_view(nodes_->text).substr(begin, size);
  }

  const JsonNodes* nodes_;
  std::uint32_t number_;
};

// Immutable; thread-safe. A copy shares the values.
class JsonDocument {
 public:
  // Of members with one name the last counts, in the place of the first. Errors: malformed with the byte offset, where
  // `cut_off` tells whether all that is wrong is that the text ends too early; limit_exceeded.
  static Result<JsonDocument> parse(std::string_view text, const JsonLimits& limits = {}, bool* cut_off = nullptr);

  static JsonDocument of_string(std::string_view value);

  JsonView root() const { return {*nodes_, 0}; }

 private:
  explicit JsonDocument(std::shared_ptr<const JsonNodes> nodes) : nodes_(std::move(nodes)) {}
  std::shared_ptr<const JsonNodes> nodes_;
};

// Of a number: no document has one that cannot be counted with.
Decimal number_of(JsonView value);

// A total order, for looking values up, in which they are equal as JSON Schema means it: numbers by value, objects in any
// order. Ends at the first difference. Each value is a few steps, and so are some of its bytes.
std::strong_ordering order(JsonView left, JsonView right, StepBudget& budget);
inline bool equal(JsonView a, JsonView b, StepBudget& budget) { return order(a, b, budget) == 0; }

// Whether an equal value is among those, which ascend.
bool is_among(std::span<const JsonView> values, JsonView value, StepBudget& budget);

// The same text for all values that are equal, and for no others. Steps as above.
std::string canonical(JsonView value, StepBudget& budget);

}  // namespace rill::schema
