#include "sampling/truncate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/math.h"
#include "sampling/softmax.h"

namespace rill::sampling {
namespace {

struct Ranked {
  double rank;  // lower is better
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

Result<void> keep_top_k(Candidates& candidates, int k) {
  if (k <= 0 || static_cast<std::size_t>(k) >= candidates.size()) return {};
  RILL_TRY(find_peak(candidates));
  std::vector<std::size_t> best = candidates.best(static_cast<std::size_t>(k));
  std::sort(best.begin(), best.end());
  candidates.keep(best);
  return {};
}

Result<void> keep_top_p(Candidates& candidates, float p) {
  if (p == 1.0f) return {};
  RILL_ASSIGN(const Softmax softmax, Softmax::of(candidates));
  const std::uint64_t target = share(softmax.total(), p);
  // Candidates this light weigh no more than the tail together, so none of them is needed to reach the target.
  const std::uint64_t negligible = (softmax.total() - target) / candidates.size();
  const auto ranked = [&](std::size_t i) {
    return Ranked{-static_cast<double>(candidates.value(i)), static_cast<std::uint32_t>(i), softmax.weight(i)};
  };
  std::vector<Ranked> items;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (softmax.weight(i) > negligible) items.push_back(ranked(i));
  }
  const Ranked last = last_within(items, target);
  candidates.keep_if([&](std::size_t i) { return !better(last, ranked(i)); });
  return {};
}

Result<void> keep_min_p(Candidates& candidates, float p) {
  if (p == 0.0f) return {};
  RILL_ASSIGN(const Peak peak, find_peak(candidates));
  const double lowest = static_cast<double>(peak.value) + math::log(static_cast<double>(p));
  candidates.keep_if([&](std::size_t i) { return static_cast<double>(candidates.value(i)) >= lowest; });
  return {};
}

Result<void> keep_typical(Candidates& candidates, float p) {
  if (p == 1.0f) return {};
  RILL_ASSIGN(const Softmax softmax, Softmax::of(candidates));
  const auto depth = [&](std::size_t i) {  // below the peak
    return static_cast<double>(softmax.peak().value) - static_cast<double>(candidates.value(i));
  };
  // The entropy is the mean depth plus the log of the total, the surprise of a candidate its depth plus the same log:
  // what separates them is the depth from the mean depth. The sum is of integers, as are the weights.
  std::uint64_t weighted_depth = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::uint64_t weight = softmax.weight(i);
    if (weight > 0) weighted_depth += static_cast<std::uint64_t>(static_cast<double>(weight) * depth(i));
  }
  const double mean_depth = static_cast<double>(weighted_depth) / static_cast<double>(softmax.total());
  const auto ranked = [&](std::size_t i) {
    return Ranked{std::fabs(depth(i) - mean_depth), static_cast<std::uint32_t>(i), softmax.weight(i)};
  };
  std::vector<Ranked> items;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (softmax.weight(i) > 0) items.push_back(ranked(i));
  }
  const Ranked last = last_within(items, share(softmax.total(), p));
  candidates.keep_if([&](std::size_t i) { return softmax.weight(i) > 0 && !better(last, ranked(i)); });
  return {};
}

Result<void> keep_top_n_sigma(Candidates& candidates, float n) {
  if (n == 0.0f) return {};
  RILL_ASSIGN(const Peak peak, find_peak(candidates));
  // Lanes by id, so that a masked token adds nothing to any order of summation whether it is absent or -inf.
  constexpr std::size_t kLanes = 8;
  double sums[kLanes] = {};
  double squares[kLanes] = {};
  std::size_t count = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates.value(i) == -std::numeric_limits<float>::infinity()) continue;
    const double depth = static_cast<double>(peak.value) - static_cast<double>(candidates.value(i));
    const std::size_t lane = static_cast<std::size_t>(candidates.id(i)) % kLanes;
    sums[lane] += depth;
    squares[lane] += depth * depth;
    ++count;
  }
  const double mean = std::accumulate(std::begin(sums), std::end(sums), 0.0) / static_cast<double>(count);
  const double square = std::accumulate(std::begin(squares), std::end(squares), 0.0) / static_cast<double>(count);
  const double deepest = static_cast<double>(n) * std::sqrt(std::max(square - mean * mean, 0.0));
  candidates.keep_if([&](std::size_t i) {
    return static_cast<double>(peak.value) - static_cast<double>(candidates.value(i)) <= deepest;
  });
  return {};
}

Result<void> exclude_top_choices(Candidates& candidates, float threshold) {
  RILL_ASSIGN(const Softmax softmax, Softmax::of(candidates));
  const std::uint64_t bar = share(softmax.total(), threshold);
  std::size_t last = candidates.size();  // the least likely that reaches the bar; of equal ones the highest id
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (softmax.weight(i) < bar) continue;
    if (last == candidates.size() || candidates.value(i) <= candidates.value(last)) last = i;
  }
  if (last == candidates.size()) return {};
  candidates.keep_if([&](std::size_t i) { return i == last || softmax.weight(i) < bar; });
  return {};
}

Result<Token> pick_best(Candidates& candidates) {
  RILL_ASSIGN(const Peak peak, find_peak(candidates));
  return candidates.id(peak.index);
}

Result<Token> draw(Candidates& candidates, Draws& draws) {
  RILL_ASSIGN(const Softmax softmax, Softmax::of(candidates));
  return candidates.id(softmax.pick(draws.next()));
}

}  // namespace rill::sampling
