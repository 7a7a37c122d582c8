#include "schema/json_document.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/ascii.h"
#include "base/error.h"
#include "schema/json_reader.h"

namespace rill::schema {
namespace {

// 0, 1, 2 and so on, as they are written mostly: their texts say which is greater.
bool is_natural(std::string_view number) { return std::all_of(number.begin(), number.end(), ascii::is_digit); }

std::strong_ordering order_texts(JsonView a, JsonView b) {
  const auto by_text = a.text() <=> b.text();
  if (by_text == 0 || a.kind() != JsonKind::number) return by_text;
  if (is_natural(a.text()) && is_natural(b.text())) {
    return a.text().size() != b.text().size() ? a.text().size() <=> b.text().size() : by_text;
  }
  return compare(number_of(a), number_of(b));
}

}  // namespace

std::optional<JsonView> JsonView::find(std::string_view name) const {
  if (!is(JsonKind::object)) return std::nullopt;
  const auto begin = nodes_->by_name.begin() + node().by_name, end = begin + node().count;
  const auto found = std::lower_bound(begin, end, name, [&](std::uint32_t member, std::string_view wanted) {
    return JsonView(*nodes_, member).name() < wanted;
  });
  if (found == end || JsonView(*nodes_, *found).name() != name) return std::nullopt;
  return JsonView(*nodes_, *found);
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, const JsonLimits& limits, bool* cut_off) {
  const std::size_t most = std::min<std::size_t>(limits.max_bytes, std::numeric_limits<std::uint32_t>::max());
  if (text.size() > most) {
    return make_error(ErrorCode::limit_exceeded, "a JSON text of {} bytes, max_bytes = {}", text.size(), most);
  }
  return guarded([&]() -> Result<JsonDocument> {
    auto nodes = std::make_shared<JsonNodes>();
    JsonReader reader(text, limits, *nodes);
    const Result<void> read = reader.read();
    if (cut_off != nullptr) *cut_off = reader.cut_off();
    if (!read) return read.error();
    return JsonDocument(std::move(nodes));
  });
}

JsonDocument JsonDocument::of_string(std::string_view value) {
  auto nodes = std::make_shared<JsonNodes>();
  nodes->text = value;
  nodes->nodes.push_back({.kind = JsonKind::string, .text_size = static_cast<std::uint32_t>(value.size())});
  return JsonDocument(std::move(nodes));
}

Decimal number_of(JsonView value) { return *Decimal::parse(value.text()); }

std::strong_ordering order(JsonView left, JsonView right, StepBudget& budget) {
  std::vector<std::pair<JsonView, JsonView>> todo;
  while (true) {
    budget.spend(kStepsOfValue);
    if (const auto by_kind = left.kind() <=> right.kind(); by_kind != 0) return by_kind;
    if (const auto by_truth = left.truth() <=> right.truth(); by_truth != 0) return by_truth;
    if (const auto by_size = left.size() <=> right.size(); by_size != 0) return by_size;
    const std::size_t size = left.text().size(), other_size = right.text().size();
    budget.spend((left.is(JsonKind::number) ? std::max(size, other_size) : std::min(size, other_size)) / kBytesOfStep);
    if (const auto by_text = order_texts(left, right); by_text != 0) return by_text;
    const bool object = left.is(JsonKind::object);
    for (std::size_t i = 0; object && i < left.size(); ++i) {
      const std::string_view name = left.by_name(i).name(), other = right.by_name(i).name();
      budget.spend(1 + std::min(name.size(), other.size()) / kBytesOfStep);
      if (const auto by_name = name <=> other; by_name != 0) return by_name;
    }
    for (std::size_t i = left.size(); i-- > 0;) {
      todo.emplace_back(object ? left.by_name(i) : left[i], object ? right.by_name(i) : right[i]);
    }
    if (todo.empty()) return std::strong_ordering::equal;
    std::tie(left, right) = todo.back();
    todo.pop_back();
  }
}

bool is_among(std::span<const JsonView> values, JsonView value, StepBudget& budget) {
  return std::binary_search(values.begin(), values.end(), value,
                            [&](JsonView a, JsonView b) { return order(a, b, budget) < 0; });
}

std::string canonical(JsonView root, StepBudget& budget) {
  std::string text;
  std::vector<std::pair<std::optional<JsonView>, std::string>> todo{{root, {}}};
  while (!todo.empty()) {
    const auto [value, literal] = std::move(todo.back());
    todo.pop_back();
    text += literal;
    if (!value) continue;
    budget.spend(kStepsOfValue + value->text().size() / kBytesOfStep);
    switch (value->kind()) {
      case JsonKind::null: text += 'n'; break;
      case JsonKind::boolean: text += value->truth() ? 't' : 'f'; break;
      case JsonKind::string: text += format("\"{}:{}", value->text().size(), value->text()); break;
      case JsonKind::number: {
        const Decimal number = number_of(*value);
        text += format("#{}{}e{}", number.negative ? "-" : "", number.digits, number.exponent);
        break;
      }
      case JsonKind::array:
        text += '[';
        todo.emplace_back(std::nullopt, "]");
        for (std::size_t i = value->size(); i-- > 0;) todo.emplace_back((*value)[i], ",");
        break;
      case JsonKind::object:
        text += '{';
        todo.emplace_back(std::nullopt, "}");
        for (std::size_t i = value->size(); i-- > 0;) {
          const std::string_view name = value->by_name(i).name();
          todo.emplace_back(value->by_name(i), format("\"{}:{}", name.size(), name));
        }
        break;
    }
  }
  return text;
}

}  // namespace rill::schema
