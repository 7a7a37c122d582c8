#include "sampling/truncate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "sampling/softmax.h"

namespace rill::sampling {
namespace {

struct Ranked {
  float rank;  // lower is better
  std::uint32_t index;
  std::uint64_t weight;
};

bool better(const Ranked& a, const Ranked& b) { return a.rank != b.rank ? a.rank < b.rank : a.index < b.index; }

// The last of the smallest set of best-ranked items whose weights reach `target`. Halves the range that it can lie in
// by selection, so the cost is linear and nothing is sorted. Reorders `items`.
Ranked last_within(std::span<Ranked> items, std::uint64_t target) {
  while (items.size() > 1) {
    const std::size_t half = items.size() / 2;
    std::nth_element(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(half), items.end(), better);
    std::uint64_t sum = 0;
    for (const Ranked& item : items.first(half)) sum += item.weight;
    if (sum >= target) {
      items = items.first(half);
    } else {
      target -= sum;
      items = items.subspan(half);
    }
  }
  return items.front();
}

}  // namespace

Result<void> apply_temperature(Candidates& candidates, float temperature) {
  if (temperature == 1.0f) return {};
  RILL_ASSIGN(const Peak peak, find_peak(candidates));
  // A temperature so low that the quotient overflows: the same distribution, written relative to its peak.
  const float shift = std::isfinite(peak.value / temperature) ? 0.0f : peak.value;
  for (float& value : candidates.values()) value = (value - shift) / temperature;
  return {};
}

Result<void> keep_top_p(Candidates& candidates, float top_p) {
  if (top_p == 1.0f) return {};
  RILL_ASSIGN(const Softmax softmax, Softmax::of(candidates));
  const std::uint64_t target = share(softmax.total(), top_p);
  // Candidates this light weigh no more than the tail together, so none of them is needed to reach the target.
  const std::uint64_t negligible = (softmax.total() - target) / candidates.size();
  std::vector<Ranked> items;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::uint64_t weight = softmax.weight(i);
    if (weight > negligible) items.push_back({-candidates.value(i), static_cast<std::uint32_t>(i), weight});
  }
  const Ranked last = last_within(items, target);
  candidates.keep_if(
      [&](std::size_t i) { return !better(last, {-candidates.value(i), static_cast<std::uint32_t>(i), 0}); });
  return {};
}

}  // namespace rill::sampling
