// Exact integer dot products: unsigned weights times signed 8-bit activations, 16 rows at a time.
//
// A per-target source defines RILL_TARGET, and RILL_EXTENSION if it may use instructions that Highway's target of that
// name does not have, and puts its code between RILL_BEFORE_MATMUL and RILL_AFTER_MATMUL.
#pragma once

#define RILL_VNNI 1     // on RILL_AVX512: avx512vnni; on RILL_AVX2: avxvnni
#define RILL_DOTPROD 2  // on RILL_NEON
#define RILL_I8MM 3     // on RILL_NEON, with dotprod
#ifndef RILL_EXTENSION
#define RILL_EXTENSION 0
#endif

#include <algorithm>

#include "kernels/ops-inl.h"

#if RILL_TARGET == RILL_NEON
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#if RILL_EXTENSION == 0
#define RILL_BEFORE_MATMUL RILL_BEFORE_NAMESPACE
#define RILL_AFTER_MATMUL RILL_AFTER_NAMESPACE
#else
#if RILL_EXTENSION == RILL_VNNI && RILL_TARGET == RILL_AVX512
#define RILL_MATMUL_TARGET HWY_TARGET_STR ",avx512vnni"
#elif RILL_EXTENSION == RILL_VNNI && RILL_TARGET == RILL_AVX2
#define RILL_MATMUL_TARGET HWY_TARGET_STR ",avxvnni"
#elif RILL_EXTENSION == RILL_DOTPROD && RILL_TARGET == RILL_NEON
#define RILL_MATMUL_TARGET "arch=armv8.2-a+dotprod"
#elif RILL_EXTENSION == RILL_I8MM && RILL_TARGET == RILL_NEON
#define RILL_MATMUL_TARGET "arch=armv8.2-a+dotprod+i8mm"
#else
#error "RILL_EXTENSION is not one of this RILL_TARGET"
#endif
#define RILL_BEFORE_MATMUL      \
  HWY_PUSH_ATTRIBUTES(RILL_MATMUL_TARGET) \
  static_assert(true)
#define RILL_AFTER_MATMUL HWY_POP_ATTRIBUTES static_assert(true)
#endif

#if defined(__clang__)
#define RILL_UNROLL _Pragma("clang loop unroll(full)")
#else
#define RILL_UNROLL _Pragma("GCC unroll 16")
#endif

RILL_BEFORE_MATMUL;
namespace rill::kernels::RILL_NAMESPACE {

// 64 bytes: 4 columns of 16 rows, byte 4 * row + column.
RILL_INLINE I32x16 load_line(const std::byte* p) { return float_bits(load(reinterpret_cast<const float*>(p))); }

// Four activations for every row.
RILL_INLINE I32x16 load_four(const std::int8_t* p) {
  std::int32_t four;
  std::memcpy(&four, p, sizeof(four));
  return set(four);
}

// dot_groups<kBits, kBegin, kEnd>(w, x, sum): sum + the products of column groups [kBegin, kEnd) of a sub-block, whose
// weights have kBits bits, with x[32]. Where 8-bit weights are multiplied as signed numbers, the offset of 128 is
// already gone: kSignedBytes.

#if RILL_EXTENSION == RILL_VNNI

inline constexpr bool kSignedBytes = false;

template <class V>
RILL_INLINE V dot_four(V sum, V w, V x) {
  if constexpr (kIsPair<V>) {
    return {dot_four(sum.lo, w.lo, x.lo), dot_four(sum.hi, w.hi, x.hi)};
  } else {
#if RILL_TARGET == RILL_AVX512
    return V{_mm512_dpbusd_epi32(sum.raw, w.raw, x.raw)};
#else
    return V{_mm256_dpbusd_avx_epi32(sum.raw, w.raw, x.raw)};
#endif
  }
}

template <int kBits, int kBegin, int kEnd>
RILL_INLINE I32x16 dot_groups(const I32x16 (&w)[8], const std::int8_t* x, I32x16 sum) {
  if constexpr (kIsPair<I32x16> || kEnd - kBegin < 8) {
    RILL_UNROLL
    for (int g = kBegin; g < kEnd; ++g) sum = dot_four(sum, w[g], load_four(x + 4 * g));
    return sum;
  } else {  // two chains, as a product waits for the sum before it
    I32x16 other = set(0);
    RILL_UNROLL
    for (int g = kBegin; g < kEnd; g += 2) {
      sum = dot_four(sum, w[g], load_four(x + 4 * g));
      other = dot_four(other, w[g + 1], load_four(x + 4 * g + 4));
    }
    return add(sum, other);
  }
}

#elif RILL_TARGET != RILL_NEON

inline constexpr bool kSignedBytes = false;

// x86 without VNNI: pairs of byte products into 16 bits (saturating, so their number is bounded), those into 32 bits.
#define RILL_INTEL_OP(name, suffix)                                                                \
  RILL_INLINE __m128i name(__m128i a, __m128i b) { return _mm_##suffix(a, b); }                    \
  RILL_INTEL_OP_256(name, suffix)                                                                  \
  RILL_INTEL_OP_512(name, suffix)                                                                  \
  template <class V>                                                                               \
  RILL_INLINE V name(V a, V b) {                                                                   \
    if constexpr (kIsPair<V>) {                                                                    \
      return {name(a.lo, b.lo), name(a.hi, b.hi)};                                                 \
    } else {                                                                                       \
      return V{name(a.raw, b.raw)};                                                                \
    }                                                                                              \
  }
#if RILL_TARGET == RILL_SSE4
#define RILL_INTEL_OP_256(name, suffix)
#else
#define RILL_INTEL_OP_256(name, suffix) \
  RILL_INLINE __m256i name(__m256i a, __m256i b) { return _mm256_##suffix(a, b); }
#endif
#if RILL_TARGET == RILL_AVX512
#define RILL_INTEL_OP_512(name, suffix) \
  RILL_INLINE __m512i name(__m512i a, __m512i b) { return _mm512_##suffix(a, b); }
#else
#define RILL_INTEL_OP_512(name, suffix)
#endif
RILL_INTEL_OP(multiply_bytes, maddubs_epi16)
RILL_INTEL_OP(multiply_words, madd_epi16)
RILL_INTEL_OP(add_words, add_epi16)

template <int kBits, int kBegin, int kEnd>
RILL_INLINE I32x16 dot_groups(const I32x16 (&w)[8], const std::int8_t* x, I32x16 sum) {
  if constexpr (kBits == 8) {
    // 2 * 255 * 128 would not fit. Halves do, with no step to 32 bits in between: 2 * 15 * 128 * 8 < 2^15.
    I32x16 low = set(0), high = set(0);
    RILL_UNROLL
    for (int g = kBegin; g < kEnd; ++g) {
      const I32x16 four = load_four(x + 4 * g);
      low = add_words(low, multiply_bytes(bit_and(w[g], set(0x0f0f0f0f)), four));
      high = add_words(high, multiply_bytes(bit_and(shift_right<4>(w[g]), set(0x0f0f0f0f)), four));
    }
    return add(sum, add(multiply_words(low, set(0x00010001)), multiply_words(high, set(0x00100010))));
  } else if constexpr (kBegin < kEnd) {
    // As many as fit: 2 * 15 * 128 * 8, 2 * 31 * 128 * 4 and 2 * 63 * 128 * 2 are below 2^15.
    constexpr int kRun = std::min(kEnd, kBegin + (kBits == 4 ? 8 : kBits == 5 ? 4 : 2));
    I32x16 words = multiply_bytes(w[kBegin], load_four(x + 4 * kBegin));
    RILL_UNROLL
    for (int g = kBegin + 1; g < kRun; ++g) words = add_words(words, multiply_bytes(w[g], load_four(x + 4 * g)));
    return dot_groups<kBits, kRun, kEnd>(w, x, add(sum, multiply_words(words, set(0x00010001))));
  } else {
    return sum;
  }
}

#else  // NEON

inline constexpr bool kSignedBytes = true;

template <int kBits, class V>
RILL_INLINE V dot_four(V sum, V w, V x) {
  if constexpr (kIsPair<V>) {
    return {dot_four<kBits>(sum.lo, w.lo, x.lo), dot_four<kBits>(sum.hi, w.hi, x.hi)};
  } else {
    int8x16_t bytes = vreinterpretq_s8_s32(w.raw);
    if constexpr (kBits == 8) bytes = veorq_s8(bytes, vdupq_n_s8(-128));
    const int8x16_t four = vreinterpretq_s8_s32(x.raw);
#if RILL_EXTENSION == 0
    const int32x4_t lo = vpaddlq_s16(vmull_s8(vget_low_s8(bytes), vget_low_s8(four)));
    const int32x4_t hi = vpaddlq_s16(vmull_high_s8(bytes, four));
    return V(vaddq_s32(sum.raw, vpaddq_s32(lo, hi)));
#else
    return V(vdotq_s32(sum.raw, bytes, four));
#endif
  }
}

template <int kBits, int kBegin, int kEnd>
RILL_INLINE I32x16 dot_groups(const I32x16 (&w)[8], const std::int8_t* x, I32x16 sum) {
  RILL_UNROLL
  for (int g = kBegin; g < kEnd; ++g) sum = dot_four<kBits>(sum, w[g], load_four(x + 4 * g));
  return sum;
}

#endif

}  // namespace rill::kernels::RILL_NAMESPACE
RILL_AFTER_MATMUL;
