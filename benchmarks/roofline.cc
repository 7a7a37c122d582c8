// Limits of this machine: read bandwidth by working set, integer and float multiply-adds in registers.
#include <cstdio>
#include <cstdlib>

#include "machine_limits.h"

int main(int argc, char** argv) {
  using namespace rill::benchmarks;
  const int max_threads = argc > 1 ? std::atoi(argv[1]) : 2;
  double bandwidth = 0, int8 = 0, f32 = 0;
  for (int threads = 1; threads <= max_threads; ++threads) {
    for (std::size_t mib : {16, 64, 100, 256, 1024}) {
      const double rate = read_bandwidth(mib << 20, threads) / 1e9;
      std::printf("read %4zu MiB, %d threads: %6.1f GB/s\n", mib, threads, rate);
      if (mib == 100) bandwidth = rate;
    }
    int8 = int8_peak(threads) / 1e9;
    f32 = f32_peak(threads) / 1e9;
    std::printf("int8 %d threads: %.0f G multiply-adds/s\n", threads, int8);
    std::printf("f32 %d threads: %.0f G multiply-adds/s\n", threads, f32);
  }
  std::printf("threads=%d read_100mib_gb_s=%.1f int8_g_s=%.0f f32_g_s=%.0f\n", max_threads, bandwidth, int8, f32);
}
