// Limits of this machine: read bandwidth by working set, integer and float multiply-adds in registers.
//
//   roofline [--threads 2] [--json FILE]      for 1 to so many threads
#include <cstdio>

#include "machine_limits.h"
#include "support.h"

namespace {

using namespace rill::benchmarks;

void run(const Arguments& arguments) {
  const int max_threads = static_cast<int>(arguments.number("threads"));
  double bandwidth = 0, int8 = 0, f32 = 0;
  Json rows = Json::array();
  for (int threads = 1; threads <= max_threads; ++threads) {
    Json read = Json::object();
    for (const std::size_t mib : {16, 64, 100, 256, 1024}) {
      const double rate = read_bandwidth(mib << 20, threads) / 1e9;
      std::printf("read %4zu MiB, %d threads: %6.1f GB/s\n", mib, threads, rate);
      read[std::to_string(mib)] = rate;
      if (mib == 100) bandwidth = rate;
    }
    int8 = int8_peak(threads) / 1e9;
    f32 = f32_peak(threads) / 1e9;
    std::printf("int8 %d threads: %.0f G multiply-adds/s\n", threads, int8);
    std::printf("f32 %d threads: %.0f G multiply-adds/s\n", threads, f32);
    rows.push_back({{"threads", threads}, {"read_gb_s_by_mib", read}, {"int8_g_s", int8}, {"f32_g_s", f32}});
  }
  write_json(arguments.text("json"), {{"benchmark", "roofline"}, {"rows", rows}});
  std::printf("threads=%d read_100mib_gb_s=%.1f int8_g_s=%.0f f32_g_s=%.0f\n", max_threads, bandwidth, int8, f32);
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] {
    run(Arguments(argc, argv, "roofline [--threads N] [--json FILE]", {{"threads", "2"}, {"json", ""}}));
  });
}
