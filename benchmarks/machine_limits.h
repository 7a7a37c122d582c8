// What the machine can do at most: the denominators of every other benchmark.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

namespace rill::benchmarks {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Least time in seconds of one call work(thread) on each of `threads` threads, over half a second of rounds: other programs
// only ever add. Work of a millisecond fits between two of a busy machine's switches.
template <typename Work>
double least_time(int threads, Work work) {
  double least = 1e30;
  for (double stop = seconds_now() + 0.5, round = 0; round < 3 || seconds_now() < stop; ++round) {
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
    least = std::min(least, *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end()));
  }
  return least;
}

double read_bandwidth(std::size_t bytes, int threads);  // bytes per second, each thread reads its own part
// Multiply-adds per second in registers; 0 where no measurement is written for the processor.
double int8_peak(int threads);  // the instruction that the best available kernel table uses
double f32_peak(int threads);

}  // namespace rill::benchmarks
