// What a run of the thread pool costs beside the work in it. A decode step of a small model makes about 150 runs of
// 15 us. Needs idle cores: with others at work, it measures them.
//
//   pool [--threads 1,2,...] [--json FILE]      by default every number up to the machine's
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_pool.h"
#include "support.h"

namespace {

using namespace rill::benchmarks;
using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

void work_for(std::chrono::nanoseconds time) noexcept {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {}
}

// The median of 50 groups of 150 runs, in microseconds a run.
template <typename Run>
double time_of(Run run) {
  std::vector<double> times;
  for (int group = 0; group < 50; ++group) {
    const auto begin = Clock::now();
    for (int i = 0; i < 150; ++i) run();
    times.push_back(microseconds(Clock::now() - begin) / 150);
  }
  return median(times);
}

Json report(int threads) {
  const auto pool = rill::ThreadPool::create({.threads = threads}).value();
  rill::Workers& workers = pool->workers();
  const double empty_run = time_of([&] { workers.run(8, [](std::size_t, std::size_t) noexcept {}); });

  // One tile for each thread, which ends when all have begun: the way to the last helper and back.
  const double meeting = time_of([&] {
    std::atomic<int> begun = 0;
    workers.run(static_cast<std::size_t>(threads), [&](std::size_t, std::size_t) noexcept {
      begun.fetch_add(1);
      while (begun.load() < threads) {}
    });
  });

  // 8 tiles that take 15 us on all threads together, then 2 us of work on the calling thread alone.
  const std::chrono::nanoseconds tile_time{15'000 * threads / 8};
  const auto decode_run = [&] { workers.run(8, [&](std::size_t, std::size_t) noexcept { work_for(tile_time); }); };
  const double decode = time_of([&] {
    decode_run();
    work_for(std::chrono::microseconds(2));
  });

  std::vector<double> first_runs;  // after the threads have fallen asleep
  for (int i = 0; i < 25; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto begin = Clock::now();
    decode_run();
    first_runs.push_back(microseconds(Clock::now() - begin));
  }
  const double asleep = median(first_runs);
  std::printf(
      "threads=%d empty_run_us=%.2f meeting_run_us=%.2f decode_run_us=%.2f decode_ideal_us=17 asleep_run_us=%.1f "
      "asleep_ideal_us=15\n",
      threads, empty_run, meeting, decode, asleep);
  return {{"threads", threads}, {"empty_run_us", empty_run}, {"meeting_run_us", meeting}, {"decode_run_us", decode},
          {"asleep_run_us", asleep}};
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] {
    std::string all = "1";
    for (unsigned threads = 2; threads <= std::thread::hardware_concurrency(); ++threads) {
      all += ',';
      all += std::to_string(threads);
    }
    const Arguments arguments(argc, argv, "pool [--threads N,...] [--json FILE]", {{"threads", all}, {"json", ""}});
    Json rows = Json::array();
    for (const std::size_t threads : arguments.numbers("threads")) rows.push_back(report(static_cast<int>(threads)));
    write_json(arguments.text("json"), {{"benchmark", "pool"}, {"rows", rows}});
  });
}
