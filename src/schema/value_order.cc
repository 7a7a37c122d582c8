#include "schema/value_order.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "schema/decimal.h"

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
  return compare(*Decimal::parse(a.text()), *Decimal::parse(b.text()));  // a document has no others
}

}  // namespace

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

}  // namespace rill::schema
