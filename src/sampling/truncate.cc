#include "sampling/truncate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/math.h"
#include "sampling/softmax.h"

namespace rill::sampling {
namespace {

// Where a truncation ends: a candidate is kept if its rank is lower, or equal and its index not higher.
struct Boundary {
  double rank;
  std::size_t index;
  bool keeps(double other_rank, std::size_t other_index) const {
    return other_rank < rank || (other_rank == rank && other_index <= index);
  }
};

// Integers in the order of the doubles. -0 must not occur.
std::uint64_t order_key(double rank) {
  const auto bits = std::bit_cast<std::uint64_t>(rank);
  return (bits >> 63) != 0 ? ~bits : bits | (std::uint64_t{1} << 63);
}

// The end of the smallest set of best-ranked `members` (ascending indices) whose weights reach `target`. Radix
// selection: each pass adds up the weights by the next digit of the rank and goes on with the digit in which the target
// falls, so the cost is linear and nothing is sorted.
template <typename Rank>
Boundary last_within(std::vector<std::uint32_t> members, const Softmax& softmax, std::uint64_t target, Rank rank) {
  constexpr int kDigitBits = 11;
  constexpr std::uint64_t kDigits = std::uint64_t{1} << kDigitBits;
  for (int shift = 64 - kDigitBits; members.size() > 1; shift = std::max(shift - kDigitBits, 0)) {
    const auto digit = [&](std::uint32_t member) { return (order_key(rank(member)) >> shift) & (kDigits - 1); };
    std::array<std::uint64_t, kDigits> sums = {};
    for (const std::uint32_t member : members) sums[digit(member)] += softmax.weight(member);
    std::uint64_t reached = 0;
    while (sums[reached] < target) target -= sums[reached++];
    std::size_t kept = 0;
    for (const std::uint32_t member : members) {
      members[kept] = member;
      kept += digit(member) == reached ? 1 : 0;
    }
    members.resize(kept);
    if (shift == 0) break;
  }
  std::size_t last = 0;  // of equal rank now: in order of id
  while (softmax.weight(members[last]) < target) target -= softmax.weight(members[last++]);
  return {rank(members[last]), members[last]};
}

// Keeps those `members` that stand before the end of the smallest set of best-ranked ones whose weights reach `target`.
template <typename Rank>
void keep_best_ranked(Candidates& candidates, const std::vector<std::uint32_t>& members, const Softmax& softmax,
                      std::uint64_t target, Rank rank) {
  const Boundary last = last_within(members, softmax, target, rank);
  std::vector<std::size_t> kept;
  for (const std::uint32_t member : members) {
    if (last.keeps(rank(member), member)) kept.push_back(member);
  }
  candidates.keep(kept);
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
  const auto rank = [&](std::size_t i) { return 0.0 - static_cast<double>(candidates.value(i)); };
  keep_best_ranked(candidates, softmax.heavier_than(negligible), softmax, target, rank);
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
  const auto rank = [&](std::size_t i) { return std::fabs(depth(i) - mean_depth); };
  keep_best_ranked(candidates, softmax.heavier_than(0), softmax, share(softmax.total(), p), rank);
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
