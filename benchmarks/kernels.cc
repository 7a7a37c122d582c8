// Matrix products alone: bytes of weights and multiply-adds per second for each element type, against the machine's
// limits.
//
//   kernels [--table NAME] [--type NAME] [--format q8] [--tokens 1,8,64] [--threads 1,2] [--mib 64] [--json FILE]
//
// By default all types on the best table. --mib: packed weights for one token, more than the last-level cache holds; 2
// for more tokens.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/buffer.h"
#include "kernels/kernel_table.h"
#include "machine_limits.h"
#include "support.h"

namespace {

using namespace rill;
using namespace rill::benchmarks;

Buffer allocate(std::size_t bytes) { return Buffer::allocate(bytes).value(); }

struct Rates {
  double bytes, multiply_adds;  // per second
};

Rates measure(const kernels::KernelTable& table, ElementType type, ActivationFormat quantized, std::size_t tokens,
              int threads, std::size_t mib) {
  constexpr std::size_t kCols = 1536;
  PackedMatrix w = {type, 0, kCols, packed_group_bytes(type, kCols), nullptr};
  const std::size_t groups = ((tokens == 1 ? mib : 2) << 20) / w.group_bytes;
  w.rows = groups * kRowsPerGroup;
  Buffer weights = allocate(groups * w.group_bytes);
  std::memset(weights.data(), 0x15, groups * w.group_bytes);  // finite scales
  w.data = weights.data();

  const auto format = is_quantized(type) ? quantized : ActivationFormat::f32;
  const std::vector<float> floats(tokens * kCols, 0.5f);
  Buffer activations = allocate(tokens * activation_row_bytes(format, kCols));
  table.prepare_activations(format, floats.data(), kCols, tokens, kCols, activations.data());
  const ActivationView x = {format, tokens, kCols, activations.data()};
  std::vector<float> y(tokens * w.rows);

  const auto count = static_cast<std::size_t>(threads);
  const double time = least_time(threads, [&](int thread) {
    const auto own = static_cast<std::size_t>(thread);
    table.matmul(w, x, groups * own / count, groups * (own + 1) / count, y.data(), w.rows);
  });
  return {static_cast<double>(groups * w.group_bytes) / time, static_cast<double>(w.rows * kCols * tokens) / time};
}

void run(const Arguments& arguments) {
  const kernels::KernelTable* table = kernels::find_table(arguments.text("table"));
  if (table == nullptr) throw std::invalid_argument("no such table here: " + arguments.text("table"));
  const auto format = arguments.text("format") == "q16" ? ActivationFormat::q16 : ActivationFormat::q8;
  const std::size_t mib = arguments.number("mib");
  const std::string only = arguments.text("type");
  std::string last;
  Json rows = Json::array();
  for (const std::size_t threads_wide : arguments.numbers("threads")) {
    const int threads = static_cast<int>(threads_wide);
    const double bandwidth = read_bandwidth(mib << 20, threads), int8 = int8_peak(threads), f32 = f32_peak(threads);
    std::printf("%s, %d threads: read %.1f GB/s, int8 %.0f G/s, f32 %.0f G/s\n", table->name, threads, bandwidth / 1e9,
                int8 / 1e9, f32 / 1e9);
    std::printf("type   tokens    GB/s  of read    G multiply-adds/s  of peak\n");
    for (std::size_t i = 0; i < kElementTypeCount; ++i) {
      const auto type = static_cast<ElementType>(i);
      if (!only.empty() && only != info(type).name) continue;
      for (const std::size_t tokens : arguments.numbers("tokens")) {
        const Rates rates = measure(*table, type, format, tokens, threads, mib);
        const double peak = is_quantized(type) ? int8 : f32;
        std::printf("%-6s %6zu  %6.1f   %5.2f   %14.1f         %5.2f\n", info(type).name, tokens, rates.bytes / 1e9,
                    rates.bytes / bandwidth, rates.multiply_adds / 1e9, peak > 0 ? rates.multiply_adds / peak : 0.0);
        std::fflush(stdout);
        last += std::string(info(type).name) + "_m" + std::to_string(tokens) + "_t" + std::to_string(threads) + "=" +
                std::to_string(static_cast<int>(rates.multiply_adds / 1e9)) + " ";
        rows.push_back({{"type", info(type).name}, {"tokens", tokens}, {"threads", threads},
                        {"bytes_s", rates.bytes}, {"read_bytes_s", bandwidth},
                        {"multiply_adds_s", rates.multiply_adds}, {"peak_s", peak}});
      }
    }
  }
  write_json(arguments.text("json"), {{"benchmark", "kernels"}, {"table", table->name}, {"rows", rows}});
  std::printf("%s\n", last.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] {
    run(Arguments(argc, argv,
                  "kernels [--table NAME] [--type NAME] [--format q8|q16] [--tokens N,...] [--threads N,...] "
                  "[--mib N] [--json FILE]",
                  {{"table", ""},
                   {"type", ""},
                   {"format", "q8"},
                   {"tokens", "1,8,64"},
                   {"threads", "1,2"},
                   {"mib", "64"},
                   {"json", ""}}));
  });
}
