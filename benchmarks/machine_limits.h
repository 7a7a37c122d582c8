// What the machine can do at most: the denominators of every other benchmark.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "base/buffer.h"

namespace rill::benchmarks {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds from the first begin to the last end of one call work(thread) on each of `threads` threads.
template <typename Work>
double time_together(int threads, Work work) {
  std::vector<double> begin(static_cast<std::size_t>(threads)), end(begin.size());
  std::vector<std::thread> others;
  const auto run = [&](int thread) {
    const auto i = static_cast<std::size_t>(thread);
    begin[i] = seconds_now();
    work(thread);
    end[i] = seconds_now();
  };
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  for (auto& other : others) other.join();
  return *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
}

// The least of half a second of rounds: other programs only ever add. Work of a millisecond fits between two of a busy
// machine's switches.
template <typename Measure>
double least_of(Measure measure) {
  double least = 1e30;
  for (double stop = seconds_now() + 0.5, round = 0; round < 3 || seconds_now() < stop; ++round) {
    least = std::min(least, measure());
  }
  return least;
}
template <typename Work>
double least_time(int threads, Work work) {
  return least_of([&] { return time_together(threads, work); });
}

// Memory to read, and nothing else: what the time of a decode step is held against.
class ReadProbe {
 public:
  explicit ReadProbe(std::size_t bytes);
  // Seconds to read the first `bytes` `times` times over, each thread its own part.
  double seconds(std::size_t bytes, int threads, std::size_t times) const;

 private:
  Buffer memory_;
};

double read_bandwidth(std::size_t bytes, int threads);  // the highest seen, in bytes per second
// Multiply-adds per second in registers; 0 where no measurement is written for the processor.
double int8_peak(int threads);  // the instruction that the best available kernel table uses
double f32_peak(int threads);

}  // namespace rill::benchmarks
