// Requests that share one budget of pages, and their checks.
#pragma once

#include <gtest/gtest.h>

#include <array>

#include "rill/scheduler.h"
#include "schedule/workload.h"

namespace rill::test {

inline std::shared_ptr<KvPool> pool_of(const std::shared_ptr<const Model>& model, std::size_t pages) {
  const std::uint64_t page_bytes = KvPool::create(model).value()->use().page_bytes;
  return KvPool::create(model, {.budget_bytes = pages * page_bytes}).value();
}

inline Duration dear(const PassShape& pass) { return std::chrono::seconds(1) * (pass.decode_rows + pass.prefill_rows); }
inline Duration cheap(const PassShape& pass) { return Duration(pass.decode_rows + pass.prefill_rows); }

inline void expect_empty(const KvPool& pool) {
  EXPECT_EQ(pool.use().pages, 0u);
  EXPECT_EQ(pool.use().reserved_bytes, 0u);
}

struct Submitted {
  Job job;
  std::shared_ptr<Digests> digests;
  Ticket ticket;
};

inline Submitted submit(Scheduler& scheduler, const Job& job, std::string domain = "") {
  const auto digests = std::make_shared<Digests>();
  Request request{.prompt = job.prompt, .options = job.options(digests), .domain = std::move(domain), .priority = job.priority};
  return {job, digests, scheduler.submit(std::move(request)).value()};
}

inline void expect_as_alone(const std::shared_ptr<const Model>& model, const Submitted& one) {
  const auto result = one.ticket.result();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ((Outcome{result->tokens, result->text, *one.digests}), alone(model, one.job));
}

// Requests of all kinds at random moments, some cancelled, in a pool that is too small for them together: `least_pages` must do
// for each of them.
inline SchedulerMetrics run_mix(const std::shared_ptr<const Model>& model, unsigned seed, std::size_t least_pages) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto pool = pool_of(model, least_pages + below(6));
  SchedulerOptions options{.kv_pool = pool, .max_sequences = 3 + below(10), .prefill_chunk = 16 + below(20)};
  options.admission = below(4) == 0 ? Admission::guaranteed : Admission::overcommit;
  if (options.admission == Admission::overcommit && below(2) == 0) {
    options.swap = {.memory_bytes = pool->use().page_bytes * below(10), .file_bytes = pool->use().page_bytes * 20 * below(2)};
    options.cost_model = below(3) == 0 ? cheap : dear;
  }
  if (below(2) == 0) options.prefix_cache = PrefixCache::create(pool).value();
  Scheduler scheduler = Scheduler::create(model, options).value();
  std::vector<Submitted> all;
  std::vector<std::size_t> cancel_at;
  const std::size_t requests = 8 + below(8);
  for (std::size_t step = 0;; ++step) {
    while (all.size() < requests && below(2) == 0) {
      Job job = random_job(random, 50, 40);
      job.max_tokens = 5 + job.max_tokens;
      all.push_back(submit(scheduler, job, std::array{"", "a", "b"}[below(3)]));
      cancel_at.push_back(below(8) == 0 ? step + below(30) : ~std::size_t{0});
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (cancel_at[i] == step) all[i].ticket.cancel();
    }
    const StepReport report = scheduler.step().value();
    if (report.idle() && all.size() == requests) break;
    EXPECT_TRUE(report.progress() || report.idle());
    if (step == 3000) throw std::runtime_error("no end");
  }
  if (options.admission == Admission::guaranteed) {
    EXPECT_EQ(scheduler.metrics().preemptions, 0u);
  }
  for (const Submitted& one : all) {
    const auto result = one.ticket.result();
    if (result && result->finish_reason == FinishReason::cancelled) continue;
    expect_as_alone(model, one);
  }
  if (options.prefix_cache != nullptr) {
    for (const std::string& domain : options.prefix_cache->domains()) options.prefix_cache->drop(domain);
  }
  expect_empty(*pool);
  return scheduler.metrics();
}

}  // namespace rill::test
