// Matrix products alone: bytes of weights and multiply-adds per second for each element type, against the machine's limits.
// kernels [--table NAME] [--type NAME] [--format q8|q16] [--tokens N] [--threads N] [--mib N]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "kernels/kernel_table.h"
#include "machine_limits.h"

namespace {

using namespace rill;

struct Options {
  std::string table;
  std::string type;
  ActivationFormat format = ActivationFormat::q8;
  std::size_t tokens = 0;   // 0: 1, 8 and 64
  int threads = 0;          // 0: 1 and 2
  std::size_t mib = 64;     // of packed weights for one token, more than the last-level cache holds; 2 for more tokens
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i], value = argv[i + 1];
    if (name == "--table") options.table = value;
    else if (name == "--type") options.type = value;
    else if (name == "--format") options.format = value == "q16" ? ActivationFormat::q16 : ActivationFormat::q8;
    else if (name == "--tokens") options.tokens = std::strtoul(argv[i + 1], nullptr, 10);
    else if (name == "--threads") options.threads = std::atoi(argv[i + 1]);
    else if (name == "--mib") options.mib = std::strtoul(argv[i + 1], nullptr, 10);
    else return false;
  }
  return argc % 2 == 1;
}

Buffer allocate(std::size_t bytes) { return Buffer::allocate(bytes).value(); }

struct Rates {
  double bytes, multiply_adds;  // per second
};

Rates measure(const kernels::KernelTable& table, ElementType type, const Options& options, std::size_t tokens, int threads) {
  constexpr std::size_t kCols = 1536;
  PackedMatrix w = {type, 0, kCols, packed_group_bytes(type, kCols), nullptr};
  const std::size_t groups = ((tokens == 1 ? options.mib : 2) << 20) / w.group_bytes;
  w.rows = groups * kRowsPerGroup;
  Buffer weights = allocate(groups * w.group_bytes);
  std::memset(weights.data(), 0x15, groups * w.group_bytes);  // finite scales
  w.data = weights.data();

  const auto format = is_quantized(type) ? options.format : ActivationFormat::f32;
  const std::vector<float> floats(tokens * kCols, 0.5f);
  Buffer activations = allocate(tokens * activation_row_bytes(format, kCols));
  table.prepare_activations(format, floats.data(), kCols, tokens, kCols, activations.data());
  const ActivationView x = {format, tokens, kCols, activations.data()};
  std::vector<float> y(tokens * w.rows);

  const auto count = static_cast<std::size_t>(threads);
  const double time = benchmarks::least_time(threads, [&](int thread) {
    const auto own = static_cast<std::size_t>(thread);
    table.matmul(w, x, groups * own / count, groups * (own + 1) / count, y.data(), w.rows);
  });
  return {static_cast<double>(groups * w.group_bytes) / time, static_cast<double>(w.rows * kCols * tokens) / time};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) return std::fprintf(stderr, "see the top of benchmarks/kernels.cc\n"), 2;
  const kernels::KernelTable* table = kernels::find_table(options.table);
  if (table == nullptr) return std::fprintf(stderr, "no such table here: %s\n", options.table.c_str()), 2;

  std::string last;
  for (int threads = options.threads ? options.threads : 1; threads <= (options.threads ? options.threads : 2); ++threads) {
    const double bandwidth = benchmarks::read_bandwidth(options.mib << 20, threads);
    const double int8 = benchmarks::int8_peak(threads), f32 = benchmarks::f32_peak(threads);
    std::printf("%s, %d threads: read %.1f GB/s, int8 %.0f G/s, f32 %.0f G/s\n", table->name, threads, bandwidth / 1e9,
                int8 / 1e9, f32 / 1e9);
    std::printf("type   tokens    GB/s  of read    G multiply-adds/s  of peak\n");
    for (std::size_t i = 0; i < kElementTypeCount; ++i) {
      const auto type = static_cast<ElementType>(i);
      if (!options.type.empty() && options.type != info(type).name) continue;
      for (std::size_t tokens : {1, 8, 64}) {
        if (options.tokens != 0) tokens = options.tokens;
        const Rates rates = measure(*table, type, options, tokens, threads);
        const double peak = is_quantized(type) ? int8 : f32;
        std::printf("%-6s %6zu  %6.1f   %5.2f   %14.1f         %5.2f\n", info(type).name, tokens, rates.bytes / 1e9,
                    rates.bytes / bandwidth, rates.multiply_adds / 1e9, peak > 0 ? rates.multiply_adds / peak : 0.0);
        std::fflush(stdout);
        last += std::string(info(type).name) + "_m" + std::to_string(tokens) + "_t" + std::to_string(threads) + "=" +
                std::to_string(static_cast<int>(rates.multiply_adds / 1e9)) + " ";
        if (options.tokens != 0) break;
      }
    }
  }
  std::printf("%s\n", last.c_str());
}
