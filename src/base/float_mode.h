// The floating-point mode that all arithmetic of rill expects: round to nearest even, denormals kept, exceptions
// masked.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64) || defined(__SSE__)
#include <xmmintrin.h>
#define RILL_FLOAT_MODE_X86 1
#elif defined(__aarch64__) || defined(_M_ARM64)
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif
#define RILL_FLOAT_MODE_ARM64 1
#endif

namespace rill {

// Sets the default mode for its lifetime and restores the thread's own after: one library linked with -ffast-math turns
// on flush-to-zero in every thread that the process starts. Arithmetic belongs in functions that are called inside the
// scope, through a pointer or in another file: compilers do not order floating-point operations against the change of
// mode.
class ScopedFloatMode {
 public:
  ScopedFloatMode() noexcept : saved_(read()) {
    if (saved_ != kDefault) write(kDefault);
  }
  ~ScopedFloatMode() {
    if (saved_ != kDefault) write(saved_);
  }
  ScopedFloatMode(const ScopedFloatMode&) = delete;
  ScopedFloatMode& operator=(const ScopedFloatMode&) = delete;

 private:
#if defined(RILL_FLOAT_MODE_X86)
  static constexpr std::uint64_t kDefault = 0x1F80;
  static std::uint64_t read() noexcept { return _mm_getcsr() & 0xFFC0u; }  // without the sticky status flags
  static void write(std::uint64_t mode) noexcept { _mm_setcsr(static_cast<unsigned>(mode)); }
#elif defined(RILL_FLOAT_MODE_ARM64) && defined(_MSC_VER) && !defined(__clang__)
  static constexpr std::uint64_t kDefault = 0;
  static std::uint64_t read() noexcept { return static_cast<std::uint64_t>(_ReadStatusReg(ARM64_FPCR)); }
  static void write(std::uint64_t mode) noexcept { _WriteStatusReg(ARM64_FPCR, static_cast<__int64>(mode)); }
#elif defined(RILL_FLOAT_MODE_ARM64)
  static constexpr std::uint64_t kDefault = 0;
  static std::uint64_t read() noexcept {
    std::uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void write(std::uint64_t mode) noexcept { __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }
#else
  static constexpr std::uint64_t kDefault = 0;
  static std::uint64_t read() noexcept { return kDefault; }
  static void write(std::uint64_t) noexcept {}
#endif

  std::uint64_t saved_;
};

}  // namespace rill
