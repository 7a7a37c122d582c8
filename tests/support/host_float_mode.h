// Floating-point modes that a host application may have set in its threads.
#pragma once

#include <cfenv>
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace rill::test {

enum class HostFloatMode { flush_denormals, round_down, round_up, round_to_zero };
inline constexpr HostFloatMode kHostFloatModes[] = {HostFloatMode::flush_denormals, HostFloatMode::round_down,
                                                    HostFloatMode::round_up, HostFloatMode::round_to_zero};

class ScopedHostFloatMode {
 public:
  explicit ScopedHostFloatMode(HostFloatMode mode) {
    std::fegetenv(&saved_);
    switch (mode) {
      case HostFloatMode::flush_denormals: flush(); break;
      case HostFloatMode::round_down: std::fesetround(FE_DOWNWARD); break;
      case HostFloatMode::round_up: std::fesetround(FE_UPWARD); break;
      case HostFloatMode::round_to_zero: std::fesetround(FE_TOWARDZERO); break;
    }
    set_ = control();
  }
  ~ScopedHostFloatMode() { std::fesetenv(&saved_); }
  ScopedHostFloatMode(const ScopedHostFloatMode&) = delete;
  ScopedHostFloatMode& operator=(const ScopedHostFloatMode&) = delete;

  // The library gave the host's mode back.
  bool unchanged() const { return control() == set_; }

 private:
#if defined(__x86_64__)
  static void flush() { _mm_setcsr(_mm_getcsr() | 0x8040); }  // flush to zero, denormals are zero
  static std::uint64_t control() { return _mm_getcsr() & 0xFFC0u; }
#elif defined(__aarch64__)
  static void flush() {
    std::uint64_t fpcr = control();
    fpcr |= std::uint64_t{1} << 24;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
  }
  static std::uint64_t control() {
    std::uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
  }
#else
  static void flush() {}
  static std::uint64_t control() { return static_cast<std::uint64_t>(std::fegetround()); }
#endif
  std::fenv_t saved_;
  std::uint64_t set_ = 0;
};

}  // namespace rill::test
