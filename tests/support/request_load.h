// A load of requests for a scheduler: seeded, some cancelled, some that can never fit, over a pool that is too small
// for all; and what came of it, against each request alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "rill/scheduler.h"

namespace rill::test {

struct RequestLoad {
  std::size_t requests = 1000;
  std::size_t longest = 1500;  // tokens of a request, spread evenly over the logarithm of their number from 1 on
  std::size_t longest_answer = 64;
  double cancelled = 0.10;         // share of the requests, each at some step after it came
  double impossible = 0.05;        // share of those that no pool of this size could ever hold, or no window
  double pool_share = 0.20;        // of what the longest requests take that could run at a time
  std::size_t compared = 100;      // finished requests that are run again, alone
  double arrivals_per_step = 1.0;  // on average
  std::uint64_t seed = 1;
  bool background = false;  // a BackgroundScheduler, fed by four threads, instead of steps here
};

struct LoadReport {
  std::size_t requests = 0;
  std::size_t finished = 0;  // to the end of their answers
  std::size_t cancelled = 0;
  std::size_t refused = 0;          // at submit()
  std::size_t wrongly_refused = 0;  // though they could fit, or with another error, or without its numbers; or admitted
                                    // though they never could
  std::size_t lost = 0;             // accepted, but neither finished nor cancelled by us
  std::size_t leaked_pages = 0;     // that somebody holds when all is over
  std::size_t compared = 0;
  std::size_t bit_differences = 0;  // of those: requests whose tokens or log-probabilities differ
  std::size_t preempted = 0;
  std::size_t generated_tokens = 0;
  std::uint64_t pool_bytes = 0;
  std::uint64_t demand_bytes = 0;  // of which the pool is a share
};

// `options` as the scheduler shall have them; its pool is made here. Throws what goes wrong beyond single requests.
LoadReport run_load(const std::shared_ptr<const Model>& model, const RequestLoad& load, SchedulerOptions options);

// "requests=... lost=... leaked_pages=... bit_differences=... refused=... preempted=...": what must be right, and then
// more.
std::string summary(const LoadReport& report);

}  // namespace rill::test
