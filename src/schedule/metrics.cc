#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "rill/scheduler_metrics.h"

namespace rill {

void Histogram::add(double value) noexcept {
  std::size_t bucket = 0;
  while (bucket + 1 < kBuckets && value > bound(bucket)) ++bucket;
  ++buckets_[bucket];
  ++count_;
  sum_ += value;
}

std::optional<double> Histogram::quantile(double q) const noexcept {
  if (count_ == 0) return std::nullopt;
  const double wanted = std::clamp(q, 0.0, 1.0) * static_cast<double>(count_);
  std::uint64_t below = 0;
  std::size_t bucket = 0;
  for (; bucket + 1 < kBuckets; ++bucket) {
    below += buckets_[bucket];
    if (below > 0 && static_cast<double>(below) >= wanted) break;
  }
  return bound(bucket);
}

namespace {

class PrometheusWriter {
 public:
  explicit PrometheusWriter(std::string_view prefix) : prefix_(prefix) {}

  template <typename Value>
  void number(std::string_view name, const char* type, const char* help, Value value) {
    head(name, type, help);
    text_ += format("{}_{} {}\n", prefix_, name, value);
  }

  // Buckets are cumulative there. Empty ones at either end are left out, which the format allows.
  void histogram(std::string_view name, const char* help, const Histogram& values) {
    head(name, "histogram", help);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i + 1 < Histogram::kBuckets && below < values.count(); ++i) {
      below += values.in_bucket(i);
      if (below > 0) text_ += format("{}_{}_bucket{{le=\"{:.6g}\"}} {}\n", prefix_, name, values.bound(i), below);
    }
    text_ += format("{0}_{1}_bucket{{le=\"+Inf\"}} {2}\n{0}_{1}_sum {3}\n{0}_{1}_count {2}\n", prefix_, name,
                    values.count(), values.sum());
  }

  std::string take() { return std::move(text_); }

 private:
  void head(std::string_view name, const char* type, const char* help) {
    text_ += format("# HELP {0}_{1} {2}\n# TYPE {0}_{1} {3}\n", prefix_, name, help, type);
  }

  std::string_view prefix_;
  std::string text_;
};

}  // namespace

std::string prometheus_text(const SchedulerMetrics& m, std::string_view prefix) {
  PrometheusWriter out(prefix);
  out.number("requests_total", "counter", "Requests that were accepted.", m.submitted);
  out.number("requests_refused_total", "counter", "Requests that were refused.", m.refused);
  out.number("answers_finished_total", "counter", "Answers that ended, in whatever way.", m.finished);
  out.number("answers_failed_total", "counter", "Answers that ended with an error.", m.failed);
  out.number("answers_cancelled_total", "counter", "Answers that were cancelled or reached their deadline.", m.cancelled);
  out.number("preemptions_total", "counter", "Answers that lost their pages for a while.", m.preemptions);
  out.number("swaps_total", "counter", "Preemptions whose keys and values were kept elsewhere.", m.swaps);
  out.number("steps_total", "counter", "Steps with work.", m.steps);
  out.number("generated_tokens_total", "counter", "Tokens chosen.", m.generated_tokens);
  out.number("prompt_tokens_total", "counter", "Tokens of admitted prompts.", m.prompt_tokens);
  out.number("reused_tokens_total", "counter", "Prompt tokens that had been computed before.", m.reused_tokens);
  out.number("recomputed_tokens_total", "counter", "Tokens computed again after preemptions.", m.recomputed_tokens);
  out.number("queued", "gauge", "Answers that wait.", m.queued);
  out.number("running", "gauge", "Answers that run.", m.running);
  out.number("pool_used_bytes", "gauge", "Bytes of pages in use.", m.pool_used_bytes);
  if (m.pool_budget_bytes != 0) out.number("pool_budget_bytes", "gauge", "Bytes of pages there may be.", m.pool_budget_bytes);
  out.number("swapped_bytes", "gauge", "Bytes kept outside of the pool.", m.swapped_bytes);
  if (const auto rate = m.hit_rate()) {
    out.number("prefix_hit_ratio", "gauge", "Share of prompt tokens that were reused.", *rate);
  }
  out.histogram("queue_seconds", "From submission to admission.", m.queue_time);
  out.histogram("ttft_seconds", "From submission to the first token.", m.ttft);
  out.histogram("tpot_seconds", "Mean time per token after the first, of an answer.", m.tpot);
  out.histogram("step_seconds", "Duration of a step.", m.step_time);
  out.histogram("batch_size", "Sequences in a pass.", m.batch_size);
  if (m.pool_budget_bytes != 0) out.histogram("pool_share", "Share of the pool in use after a step.", m.pool_share);
  return out.take();
}

}  // namespace rill
