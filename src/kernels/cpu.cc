#include "kernels/cpu.h"

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace rill::kernels {
namespace {

#if defined(__x86_64__) || defined(_M_X64)

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// Zeros where the processor has no such leaf.
Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  Registers r;
#if defined(_MSC_VER)
  int data[4] = {};
  __cpuid(data, 0);
  if (static_cast<std::uint32_t>(data[0]) < leaf) return r;
  __cpuidex(data, static_cast<int>(leaf), static_cast<int>(subleaf));
  r = {static_cast<std::uint32_t>(data[0]), static_cast<std::uint32_t>(data[1]), static_cast<std::uint32_t>(data[2]),
       static_cast<std::uint32_t>(data[3])};
#else
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
#endif
  return r;
}

// The register states that the operating system saves; only valid where cpuid reports OSXSAVE.
std::uint64_t saved_states() {
#if defined(_MSC_VER)
  return _xgetbv(0);
#else
  std::uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
#endif
}

bool has(std::uint32_t word, int bit) { return (word >> bit & 1) != 0; }

// Bits: Intel SDM, volume 2A, CPUID.
CpuFeatures detect() {
  const Registers basic = cpuid(1, 0), extended = cpuid(7, 0), more = cpuid(7, 1);
  const std::uint64_t states = has(basic.ecx, 27) ? saved_states() : 0;
  const bool ymm = (states & 0x06) == 0x06, zmm = (states & 0xE6) == 0xE6;
  CpuFeatures f;
  f.sse4 = has(basic.ecx, 9) && has(basic.ecx, 19) && has(basic.ecx, 20);                      // SSSE3, SSE4.1, SSE4.2
  f.avx2 = f.sse4 && ymm && has(basic.ecx, 28) && has(basic.ecx, 12) && has(basic.ecx, 29) &&  // AVX, FMA, F16C
           has(extended.ebx, 5) && has(extended.ebx, 3) && has(extended.ebx, 8);               // AVX2, BMI1, BMI2
  f.avx_vnni = f.avx2 && has(more.eax, 4);
  f.avx512 = f.avx2 && zmm && has(extended.ebx, 16) && has(extended.ebx, 17) && has(extended.ebx, 30) &&
             has(extended.ebx, 31);  // F, DQ, BW, VL
  f.avx512_vnni = f.avx512 && has(extended.ecx, 11);
  return f;
}

#elif defined(__aarch64__) && defined(__linux__)

CpuFeatures detect() {
  constexpr unsigned long kDotprod = 1ul << 20;  // HWCAP_ASIMDDP
  constexpr unsigned long kI8mm = 1ul << 13;     // HWCAP2_I8MM
  CpuFeatures f;
  f.neon = true;
  f.neon_dotprod = (getauxval(AT_HWCAP) & kDotprod) != 0;
  f.neon_i8mm = f.neon_dotprod && (getauxval(AT_HWCAP2) & kI8mm) != 0;
  return f;
}

#elif defined(__aarch64__) && defined(__APPLE__)

bool sysctl_flag(const char* name) {
  int value = 0;
  std::size_t size = sizeof(value);
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}

CpuFeatures detect() {
  CpuFeatures f;
  f.neon = true;
  f.neon_dotprod = sysctl_flag("hw.optional.arm.FEAT_DotProd");
  f.neon_i8mm = f.neon_dotprod && sysctl_flag("hw.optional.arm.FEAT_I8MM");
  return f;
}

#else

CpuFeatures detect() {
  CpuFeatures f;
#if defined(__aarch64__) || defined(_M_ARM64)
  f.neon = true;
#endif
  return f;
}

#endif

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

}  // namespace rill::kernels
