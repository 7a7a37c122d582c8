#include "schema/json_document.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "schema/decimal.h"
#include "schema/json_reader.h"

namespace rill::schema {
namespace {

bool equal_texts(JsonView a, JsonView b) {
  if (a.kind() != JsonKind::number || a.text() == b.text()) return a.text() == b.text();
  const auto left = Decimal::parse(a.text()), right = Decimal::parse(b.text());
  return left && right && *left == *right;
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

bool equal(JsonView a, JsonView b, StepBudget& budget) {
  std::vector<std::pair<JsonView, JsonView>> todo{{a, b}};
  while (!todo.empty()) {
    const auto [left, right] = todo.back();
    todo.pop_back();
    budget.spend(kStepsOfValue + left.text().size() / kBytesOfStep);
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
        const auto number = Decimal::parse(value->text());
        if (!number) {
          text += value->text();
        } else {
          text += format("#{}{}e{}", number->negative ? "-" : "", number->digits, number->exponent);
        }
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
