#include "kernels/tables.h"

#include <array>
#include <iterator>

#include "kernels/cpu.h"
#include "kernels/kernel_table.h"

namespace rill::kernels {
namespace {

struct Candidate {
  const KernelTable& (*table)();
  bool CpuFeatures::*runs;  // nullptr: everywhere
};

// Best first.
constexpr Candidate kCandidates[] = {
#if defined(__x86_64__) || defined(_M_X64)
#if defined(RILL_HAVE_AVX512)
    {avx512_vnni_table, &CpuFeatures::avx512_vnni},
    {avx512_table, &CpuFeatures::avx512},
#endif
#if defined(RILL_HAVE_AVX2)
    {avx_vnni_table, &CpuFeatures::avx_vnni},
    {avx2_table, &CpuFeatures::avx2},
#endif
#if defined(RILL_HAVE_SSE4)
    {sse4_table, &CpuFeatures::sse4},
#endif
#elif defined(__aarch64__) && defined(RILL_HAVE_NEON)
    {neon_i8mm_table, &CpuFeatures::neon_i8mm},
    {neon_dotprod_table, &CpuFeatures::neon_dotprod},
    {neon_table, &CpuFeatures::neon},
#endif
    {scalar_table, nullptr},
};

// Of fixed size: nothing here allocates or fails.
struct Tables {
  std::array<const KernelTable*, std::size(kCandidates)> available = {};
  std::array<const char*, std::size(kCandidates)> unavailable = {};
  std::size_t available_count = 0;
  std::size_t unavailable_count = 0;

  Tables() {
    for (const Candidate& candidate : kCandidates) {
      const KernelTable& table = candidate.table();
      if (candidate.runs == nullptr || cpu_features().*candidate.runs) {
        available[available_count++] = &table;
      } else {
        unavailable[unavailable_count++] = table.name;
      }
    }
  }
};

const Tables& tables() {
  static const Tables all;
  return all;
}

}  // namespace

std::span<const KernelTable* const> available_tables() { return {tables().available.data(), tables().available_count}; }

std::span<const char* const> unavailable_tables() { return {tables().unavailable.data(), tables().unavailable_count}; }

const KernelTable* find_table(std::string_view name) {
  if (name.empty()) return available_tables().front();
  for (const KernelTable* table : available_tables()) {
    if (table->name == name) return table;
  }
  return nullptr;
}

}  // namespace rill::kernels
