#include "machine_limits.h"

#include <cstdint>
#include <cstring>

#include "kernels/kernel_table.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rill::benchmarks {
namespace {

volatile std::uint64_t sink;

// One word of every cache line is enough to move it.
std::uint64_t read_all(const std::uint64_t* p, std::size_t count) {
  constexpr std::size_t kLine = 64 / sizeof(std::uint64_t);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; i += kLine) {
    sum ^= p[i];
  }
  return sum;
}

#if defined(__x86_64__)
#if defined(__clang__)
#define RILL_UNROLL_CHAINS _Pragma("clang loop unroll(full)")
#else
#define RILL_UNROLL_CHAINS _Pragma("GCC unroll 12")
#endif
constexpr int kIterations = 100'000;
constexpr int kChains = 12;  // hides the latency of 4 or 5 cycles at two instructions a cycle

__attribute__((target("avx512f,avx512bw,avx512vnni"))) double vnni_512() {
  __m512i acc[kChains] = {};
  const __m512i x = _mm512_set1_epi8(3);
  for (int i = 0; i < kIterations; ++i) {
    RILL_UNROLL_CHAINS
    for (auto& a : acc) {
      a = _mm512_dpbusd_epi32(a, x, x);
      asm volatile("" : "+v"(a));
    }
  }
  return 64.0 * kChains * kIterations;
}
__attribute__((target("avx2"))) double maddubs_256() {
  __m256i acc[kChains] = {};
  const __m256i x = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1);
  for (int i = 0; i < kIterations; ++i) {
    RILL_UNROLL_CHAINS
    for (auto& a : acc) {
      a = _mm256_add_epi32(_mm256_madd_epi16(_mm256_maddubs_epi16(x, a), ones), a);
      asm volatile("" : "+x"(a));
    }
  }
  return 32.0 * kChains * kIterations;
}
__attribute__((target("avx512f"))) double fma_512() {
  __m512 acc[kChains] = {};
  const __m512 x = _mm512_set1_ps(0.5f);
  for (int i = 0; i < kIterations; ++i) {
    RILL_UNROLL_CHAINS
    for (auto& a : acc) {
      a = _mm512_fmadd_ps(x, x, a);
      asm volatile("" : "+v"(a));
    }
  }
  return 16.0 * kChains * kIterations;
}
__attribute__((target("avx2,fma"))) double fma_256() {
  __m256 acc[kChains] = {};
  const __m256 x = _mm256_set1_ps(0.5f);
  for (int i = 0; i < kIterations; ++i) {
    RILL_UNROLL_CHAINS
    for (auto& a : acc) {
      a = _mm256_fmadd_ps(x, x, a);
      asm volatile("" : "+x"(a));
    }
  }
  return 8.0 * kChains * kIterations;
}
#endif

double rate(int threads, double (*work)()) {
  double operations = 0;
  const double time = least_time(threads, [&](int thread) {
    const double own = work();
    if (thread == 0) operations = own;
  });
  return operations * threads / time;
}

[[maybe_unused]] bool has(const char* table) { return kernels::find_table(table) != nullptr; }

}  // namespace

ReadProbe::ReadProbe(std::size_t bytes) : memory_(Buffer::allocate(bytes).value()) {
  std::memset(memory_.data(), 1, bytes);
}

double ReadProbe::seconds(std::size_t bytes, int threads, std::size_t times) const {
  const std::size_t part = bytes / sizeof(std::uint64_t) / static_cast<std::size_t>(threads);
  const auto words = reinterpret_cast<const std::uint64_t*>(memory_.data());
  return time_together(threads, [&](int thread) {
    for (std::size_t i = 0; i < times; ++i) sink = read_all(words + part * static_cast<std::size_t>(thread), part);
  });
}

double read_bandwidth(std::size_t bytes, int threads) {
  const ReadProbe probe(bytes);
  return static_cast<double>(bytes) / least_of([&] { return probe.seconds(bytes, threads, 1); });
}

double int8_peak([[maybe_unused]] int threads) {
#if defined(__x86_64__)
  if (has("avx512_vnni")) return rate(threads, vnni_512);
  if (has("avx2")) return rate(threads, maddubs_256);
#endif
  return 0;
}

double f32_peak([[maybe_unused]] int threads) {
#if defined(__x86_64__)
  if (has("avx512")) return rate(threads, fma_512);
  if (has("avx2")) return rate(threads, fma_256);
#endif
  return 0;
}

}  // namespace rill::benchmarks
