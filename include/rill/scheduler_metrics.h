// What a scheduler has done so far, as numbers and in Prometheus' text format.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rill/export.h"

namespace rill {

// Counts values by size: bucket i holds those up to bound(i), four buckets for each doubling, the last one all others.
class Histogram {
 public:
  static constexpr std::size_t kBuckets = 96;

  // `first`: the bound of the first bucket.
  explicit constexpr Histogram(double first) : first_(first) {}

  RILL_EXPORT void add(double value) noexcept;
  double bound(std::size_t bucket) const noexcept { return first_ * std::exp2(static_cast<double>(bucket) / 4); }
  std::uint64_t count() const noexcept { return count_; }
  double sum() const noexcept { return sum_; }
  std::uint64_t in_bucket(std::size_t bucket) const noexcept { return buckets_[bucket]; }
  // The bound below which a share q of all values lies, or nothing if there are none. At most 19 % too large.
  RILL_EXPORT std::optional<double> quantile(double q) const noexcept;
  std::optional<double> mean() const noexcept {
    return count_ == 0 ? std::nullopt : std::optional(sum_ / static_cast<double>(count_));
  }

 private:
  double first_;
  double sum_ = 0;
  std::uint64_t count_ = 0;
  std::array<std::uint64_t, kBuckets> buckets_ = {};
};

// A snapshot. Times in seconds.
struct SchedulerMetrics {
  std::uint64_t submitted = 0;  // requests that were accepted
  std::uint64_t refused = 0;    // by submit()
  std::uint64_t finished = 0;   // answers, those below included
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;  // their deadlines included
  std::uint64_t preemptions = 0;
  std::uint64_t swaps = 0;      // of those
  std::uint64_t steps = 0;
  std::uint64_t generated_tokens = 0;
  std::uint64_t prompt_tokens = 0;      // of admitted requests
  std::uint64_t reused_tokens = 0;      // of those, not computed
  std::uint64_t recomputed_tokens = 0;  // after preemptions

  std::size_t queued = 0;   // now: answers that wait to be admitted, the preempted ones included
  std::size_t running = 0;  // now
  std::uint64_t pool_used_bytes = 0;
  std::uint64_t pool_budget_bytes = 0;  // 0: without limit
  std::uint64_t swapped_bytes = 0;      // kept outside of the pool

  Histogram queue_time{1e-5};
  Histogram ttft{1e-5};
  Histogram tpot{1e-5};
  Histogram step_time{1e-5};
  Histogram batch_size{1};  // sequences in a pass
  Histogram pool_share{0.001};  // of the budget in use, after each step

  // reused_tokens of prompt_tokens; absent before the first.
  std::optional<double> hit_rate() const {
    if (prompt_tokens == 0) return std::nullopt;
    return static_cast<double>(reused_tokens) / static_cast<double>(prompt_tokens);
  }
};

// Prometheus' text exposition format, version 0.0.4; each name begins with `prefix` and "_". What is absent is left out.
RILL_EXPORT std::string prometheus_text(const SchedulerMetrics& metrics, std::string_view prefix = "rill");

}  // namespace rill
