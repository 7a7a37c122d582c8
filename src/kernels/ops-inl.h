// Sixteen lanes on every SIMD target, with the same bits: the only file of rill that includes Highway.
//
// A per-target source defines RILL_TARGET (RILL_SCALAR, RILL_SSE4, RILL_AVX2, RILL_AVX512 or RILL_NEON), includes this
// header and puts its code between RILL_BEFORE_NAMESPACE and RILL_AFTER_NAMESPACE, in namespace
// rill::kernels::RILL_NAMESPACE.
//
// F32x16 and I32x16 are one 512-bit register, pairs of registers, or plain arrays on the scalar target; Mask16 is what
// comparisons give. Only operations that IEEE 754 defines exactly are used. mul_add rounds once on every target but
// SSE4, which has no such instruction and is its own NumericsClass. Lambdas do not inherit the target: mark them
// RILL_LAMBDA.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/exact_fma.h"

#define RILL_SCALAR 1
#define RILL_SSE4 2
#define RILL_AVX2 3
#define RILL_AVX512 4
#define RILL_NEON 5

#if RILL_TARGET == RILL_SCALAR
#define RILL_NAMESPACE N_SCALAR
#define RILL_BEFORE_NAMESPACE static_assert(true)
#define RILL_AFTER_NAMESPACE static_assert(true)
#define RILL_FUSED 1
#else
#define HWY_DISABLE_PCLMUL_AES
#if defined(__aarch64__)
#define TOOLCHAIN_MISS_SYS_AUXV_H  // no pragma for "+crypto", which we never use: NEON is in the baseline
#endif
#include "hwy/detect_targets.h"
#undef HWY_TARGET  // the header chose the baseline; this file is compiled for one target of our choice
#if RILL_TARGET == RILL_SSE4
#define HWY_TARGET HWY_SSE4
#elif RILL_TARGET == RILL_AVX2
#define HWY_TARGET HWY_AVX2
#elif RILL_TARGET == RILL_AVX512
#define HWY_TARGET HWY_AVX3
#elif RILL_TARGET == RILL_NEON
#define HWY_TARGET HWY_NEON
#else
#error "RILL_TARGET is not a known target"
#endif
#include "hwy/highway.h"
#define RILL_NAMESPACE HWY_NAMESPACE
#define RILL_BEFORE_NAMESPACE HWY_BEFORE_NAMESPACE()
#define RILL_AFTER_NAMESPACE HWY_AFTER_NAMESPACE()
#define RILL_FUSED HWY_NATIVE_FMA
static_assert(RILL_FUSED == (RILL_TARGET != RILL_SSE4), "the numerics class depends on the target alone");
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define RILL_INLINE static __forceinline
#define RILL_NOINLINE static __declspec(noinline)
#define RILL_LAMBDA
#else
#define RILL_INLINE [[maybe_unused]] [[gnu::always_inline]] static inline
#define RILL_NOINLINE [[gnu::noinline]] static
#if RILL_TARGET == RILL_SCALAR || !defined(HWY_TARGET_STR)
#define RILL_LAMBDA __attribute__((always_inline))
#else
#define RILL_LAMBDA __attribute__((always_inline, target(HWY_TARGET_STR)))
#endif
#endif

RILL_BEFORE_NAMESPACE;
namespace rill::kernels::RILL_NAMESPACE {

inline constexpr std::size_t kLanes = 16;

#if RILL_TARGET == RILL_SCALAR

struct F32x16 {
  float v[16];
};
struct I32x16 {
  std::uint32_t v[16];  // two's complement; unsigned so that it wraps
};
struct Mask16 {
  bool v[16];
};

#define RILL_LANES(result, expression)              \
  result r;                                         \
  for (int i = 0; i < 16; ++i) r.v[i] = expression; \
  return r

RILL_INLINE F32x16 set(float a) { RILL_LANES(F32x16, a); }
RILL_INLINE I32x16 set(std::int32_t a) { RILL_LANES(I32x16, static_cast<std::uint32_t>(a)); }
RILL_INLINE F32x16 load(const float* p) { RILL_LANES(F32x16, p[i]); }
RILL_INLINE I32x16 load_i8(const std::int8_t* p) { RILL_LANES(I32x16, static_cast<std::uint32_t>(std::int32_t{p[i]})); }
RILL_INLINE I32x16 load_u8(const std::uint8_t* p) { RILL_LANES(I32x16, p[i]); }
RILL_INLINE I32x16 load_u16(const std::uint16_t* p) { RILL_LANES(I32x16, p[i]); }
RILL_INLINE void store(F32x16 a, float* p) { std::memcpy(p, a.v, sizeof(a.v)); }
RILL_INLINE void store_u16(I32x16 a, std::uint16_t* p) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<std::uint16_t>(a.v[i]);
}
RILL_INLINE void store_i8(I32x16 a, std::int8_t* p) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<std::int8_t>(a.v[i]);
}
// The even and the odd floats of p[32], and back.
RILL_INLINE void load_pairs(const float* p, F32x16& even, F32x16& odd) {
  for (int i = 0; i < 16; ++i) {
    even.v[i] = p[2 * i];
    odd.v[i] = p[2 * i + 1];
  }
}
RILL_INLINE void store_pairs(F32x16 even, F32x16 odd, float* p) {
  for (int i = 0; i < 16; ++i) {
    p[2 * i] = even.v[i];
    p[2 * i + 1] = odd.v[i];
  }
}

RILL_INLINE F32x16 add(F32x16 a, F32x16 b) { RILL_LANES(F32x16, a.v[i] + b.v[i]); }
RILL_INLINE F32x16 sub(F32x16 a, F32x16 b) { RILL_LANES(F32x16, a.v[i] - b.v[i]); }
RILL_INLINE F32x16 mul(F32x16 a, F32x16 b) { RILL_LANES(F32x16, a.v[i] * b.v[i]); }
RILL_INLINE F32x16 div(F32x16 a, F32x16 b) { RILL_LANES(F32x16, a.v[i] / b.v[i]); }
RILL_INLINE F32x16 sqrt(F32x16 a) { RILL_LANES(F32x16, std::sqrt(a.v[i])); }
RILL_INLINE F32x16 mul_add(F32x16 a, F32x16 b, F32x16 c) { RILL_LANES(F32x16, exact_fma(a.v[i], b.v[i], c.v[i])); }

RILL_INLINE I32x16 add(I32x16 a, I32x16 b) { RILL_LANES(I32x16, a.v[i] + b.v[i]); }
RILL_INLINE I32x16 sub(I32x16 a, I32x16 b) { RILL_LANES(I32x16, a.v[i] - b.v[i]); }
RILL_INLINE I32x16 bit_and(I32x16 a, I32x16 b) { RILL_LANES(I32x16, a.v[i] & b.v[i]); }
RILL_INLINE I32x16 bit_or(I32x16 a, I32x16 b) { RILL_LANES(I32x16, a.v[i] | b.v[i]); }
RILL_INLINE I32x16 bit_xor(I32x16 a, I32x16 b) { RILL_LANES(I32x16, a.v[i] ^ b.v[i]); }
template <int kBits>
RILL_INLINE I32x16 shift_left(I32x16 a) {
  RILL_LANES(I32x16, a.v[i] << kBits);
}
template <int kBits>
RILL_INLINE I32x16 shift_right(I32x16 a) {  // zeros come in
  RILL_LANES(I32x16, a.v[i] >> kBits);
}

RILL_INLINE I32x16 float_bits(F32x16 a) { return std::bit_cast<I32x16>(a); }
RILL_INLINE F32x16 from_bits(I32x16 a) { return std::bit_cast<F32x16>(a); }
// Exact for |a| <= 2^24.
RILL_INLINE F32x16 to_float(I32x16 a) { RILL_LANES(F32x16, static_cast<float>(static_cast<std::int32_t>(a.v[i]))); }

// Comparisons with NaN are false.
RILL_INLINE Mask16 less(F32x16 a, F32x16 b) { RILL_LANES(Mask16, a.v[i] < b.v[i]); }
RILL_INLINE Mask16 less_equal(F32x16 a, F32x16 b) { RILL_LANES(Mask16, a.v[i] <= b.v[i]); }
RILL_INLINE Mask16 mask_and(Mask16 a, Mask16 b) { RILL_LANES(Mask16, a.v[i] && b.v[i]); }
RILL_INLINE F32x16 select(Mask16 m, F32x16 yes, F32x16 no) { RILL_LANES(F32x16, m.v[i] ? yes.v[i] : no.v[i]); }
#undef RILL_LANES

RILL_INLINE float sum_lanes(F32x16 a) {
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) a.v[i] += a.v[i + width];
  }
  return a.v[0];
}
RILL_INLINE float greatest_lane(F32x16 a) { return *std::max_element(a.v, a.v + 16); }

#else  // Highway

namespace hn = hwy::HWY_NAMESPACE;

// Two registers (or two pairs) side by side. A pair and not an array: compilers keep it in registers at every level.
template <class V>
struct Pair {
  V lo, hi;
};
template <class V>
inline constexpr bool kIsPair = false;
template <class V>
inline constexpr bool kIsPair<Pair<V> > = true;

#if HWY_CAP_GE512
template <class V>
using Sixteen = V;
#elif HWY_CAP_GE256
template <class V>
using Sixteen = Pair<V>;
#else
template <class V>
using Sixteen = Pair<Pair<V> >;
#endif
using F32Tag = hn::FixedTag<float, HWY_LANES(float)>;
using I32Tag = hn::Rebind<std::int32_t, F32Tag>;
using U32Tag = hn::Rebind<std::uint32_t, F32Tag>;
using F32x16 = Sixteen<hn::Vec<F32Tag> >;
using I32x16 = Sixteen<hn::Vec<I32Tag> >;
using Mask16 = Sixteen<hn::Mask<F32Tag> >;

template <class V>
RILL_INLINE Pair<V> join(V lo, V hi) {
  return {lo, hi};
}

// Each operation on one register is `expression`, on a pair the operation on both halves.
#define RILL_OP1(name, expression)       \
  template <class V>                     \
  RILL_INLINE auto name(V a) {           \
    return expression;                   \
  }                                      \
  template <class V>                     \
  RILL_INLINE auto name(Pair<V> a) {     \
    return join(name(a.lo), name(a.hi)); \
  }
#define RILL_OP2(name, expression)                   \
  template <class V>                                 \
  RILL_INLINE auto name(V a, V b) {                  \
    return expression;                               \
  }                                                  \
  template <class V>                                 \
  RILL_INLINE auto name(Pair<V> a, Pair<V> b) {      \
    return join(name(a.lo, b.lo), name(a.hi, b.hi)); \
  }
#define RILL_LOAD(name, result, T, expression)                                        \
  template <class V>                                                                  \
  RILL_INLINE V name##_as(T p) {                                                      \
    if constexpr (kIsPair<V>) {                                                       \
      using Half = decltype(V::lo);                                                   \
      return {name##_as<Half>(p), name##_as<Half>(p + sizeof(Half) / sizeof(float))}; \
    } else {                                                                          \
      return expression;                                                              \
    }                                                                                 \
  }                                                                                   \
  RILL_INLINE result name(T p) { return name##_as<result>(p); }
#define RILL_STORE(name, T, expression)             \
  template <class V>                                \
  RILL_INLINE void name(V a, T* p) {                \
    if constexpr (kIsPair<V>) {                     \
      name(a.lo, p);                                \
      name(a.hi, p + sizeof(a.lo) / sizeof(float)); \
    } else {                                        \
      expression;                                   \
    }                                               \
  }

template <class V, class Tag, class T>
RILL_INLINE V set_as(Tag tag, T a) {
  if constexpr (kIsPair<V>) {
    const auto half = set_as<decltype(V::lo)>(tag, a);
    return {half, half};
  } else {
    return hn::Set(tag, a);
  }
}
RILL_INLINE F32x16 set(float a) { return set_as<F32x16>(F32Tag(), a); }
RILL_INLINE I32x16 set(std::int32_t a) { return set_as<I32x16>(I32Tag(), a); }

using I8Tag = hn::Rebind<std::int8_t, F32Tag>;
using U8Tag = hn::Rebind<std::uint8_t, F32Tag>;
using U16Tag = hn::Rebind<std::uint16_t, F32Tag>;
RILL_LOAD(load, F32x16, const float*, hn::LoadU(F32Tag(), p))
RILL_LOAD(load_i8, I32x16, const std::int8_t*, hn::PromoteTo(I32Tag(), hn::LoadU(I8Tag(), p)))
RILL_LOAD(load_u8, I32x16, const std::uint8_t*, hn::PromoteTo(I32Tag(), hn::LoadU(U8Tag(), p)))
RILL_LOAD(load_u16, I32x16, const std::uint16_t*, hn::PromoteTo(I32Tag(), hn::LoadU(U16Tag(), p)))
RILL_STORE(store, float, hn::StoreU(a, F32Tag(), p))
RILL_STORE(store_u16, std::uint16_t, hn::StoreU(hn::DemoteTo(U16Tag(), a), U16Tag(), p))
RILL_STORE(store_i8, std::int8_t, hn::StoreU(hn::DemoteTo(I8Tag(), a), I8Tag(), p))

// The even and the odd floats of p[32], and back.
template <class V>
RILL_INLINE void load_pairs(const float* p, V& even, V& odd) {
  if constexpr (kIsPair<V>) {
    load_pairs(p, even.lo, odd.lo);
    load_pairs(p + sizeof(V) / sizeof(float), even.hi, odd.hi);
  } else {
    hn::LoadInterleaved2(F32Tag(), p, even, odd);
  }
}
template <class V>
RILL_INLINE void store_pairs(V even, V odd, float* p) {
  if constexpr (kIsPair<V>) {
    store_pairs(even.lo, odd.lo, p);
    store_pairs(even.hi, odd.hi, p + sizeof(V) / sizeof(float));
  } else {
    hn::StoreInterleaved2(even, odd, F32Tag(), p);
  }
}

RILL_OP2(add, hn::Add(a, b))
RILL_OP2(sub, hn::Sub(a, b))
RILL_OP2(mul, hn::Mul(a, b))
RILL_OP2(div, hn::Div(a, b))
RILL_OP1(sqrt, hn::Sqrt(a))
RILL_OP2(bit_and, hn::And(a, b))
RILL_OP2(bit_or, hn::Or(a, b))
RILL_OP2(bit_xor, hn::Xor(a, b))
RILL_OP1(float_bits, hn::BitCast(I32Tag(), a))
RILL_OP1(from_bits, hn::BitCast(F32Tag(), a))
RILL_OP1(to_float, hn::ConvertTo(F32Tag(), a))  // exact for |a| <= 2^24
template <int kBits, class V>
RILL_INLINE V shift_left(V a) {
  return hn::ShiftLeft<kBits>(a);
}
template <int kBits, class V>
RILL_INLINE Pair<V> shift_left(Pair<V> a) {
  return {shift_left<kBits>(a.lo), shift_left<kBits>(a.hi)};
}
template <int kBits, class V>
RILL_INLINE V shift_right(V a) {  // zeros come in
  return hn::BitCast(I32Tag(), hn::ShiftRight<kBits>(hn::BitCast(U32Tag(), a)));
}
template <int kBits, class V>
RILL_INLINE Pair<V> shift_right(Pair<V> a) {
  return {shift_right<kBits>(a.lo), shift_right<kBits>(a.hi)};
}

template <class V>
RILL_INLINE V mul_add(V a, V b, V c) {  // a * b + c
  return hn::MulAdd(a, b, c);
}
template <class V>
RILL_INLINE Pair<V> mul_add(Pair<V> a, Pair<V> b, Pair<V> c) {
  return {mul_add(a.lo, b.lo, c.lo), mul_add(a.hi, b.hi, c.hi)};
}

// Comparisons with NaN are false.
RILL_OP2(less, hn::Lt(a, b))
RILL_OP2(less_equal, hn::Le(a, b))
RILL_OP2(mask_and, hn::And(a, b))
template <class M, class V>
RILL_INLINE V select(M m, V yes, V no) {
  return hn::IfThenElse(m, yes, no);
}
template <class M, class V>
RILL_INLINE Pair<V> select(Pair<M> m, Pair<V> yes, Pair<V> no) {
  return {select(m.lo, yes.lo, no.lo), select(m.hi, yes.hi, no.hi)};
}

// Sum in the one order that every reduction uses: halves onto halves.
template <class V>
RILL_INLINE float sum_lanes(V a) {
  if constexpr (kIsPair<V>) {
    return sum_lanes(add(a.lo, a.hi));
  } else if constexpr (sizeof(V) > 16) {
    const hn::Half<hn::DFromV<V> > half;
    return sum_lanes(hn::Add(hn::LowerHalf(half, a), hn::UpperHalf(half, a)));
  } else {
    const V two = hn::Add(a, hn::Shuffle1032(a));
    return hn::GetLane(hn::Add(two, hn::Shuffle2301(two)));
  }
}
// Reductions that are exact in any order, so that each target may take its own.
template <class V>
RILL_INLINE float greatest_lane(V a) {  // of numbers; NaN may be lost
  if constexpr (kIsPair<V>) {
    return std::max(greatest_lane(a.lo), greatest_lane(a.hi));
  } else {
    return hn::GetLane(hn::MaxOfLanes(F32Tag(), a));
  }
}
template <class V>
RILL_INLINE std::int32_t sum_integers(V a) {
  if constexpr (kIsPair<V>) {
    return sum_integers(add(a.lo, a.hi));
  } else {
    return hn::GetLane(hn::SumOfLanes(I32Tag(), a));
  }
}

#endif  // Highway

// ---- the same code on every target from here on

// f(0), ..., f(n - 1), each argument a constant: arrays indexed by it alone stay in registers.
template <class F, int... i>
RILL_INLINE void repeat(F f, std::integer_sequence<int, i...>) {
  (f(std::integral_constant<int, i>()), ...);
}
template <int n, class F>
RILL_INLINE void repeat(F f) {
  repeat(f, std::make_integer_sequence<int, n>());
}

alignas(64) inline constexpr float kLaneIndex[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
// Lanes [begin, end), 0 <= begin, end <= 16.
RILL_INLINE Mask16 lane_range(std::size_t begin, std::size_t end) {
  const F32x16 lane = load(kLaneIndex);
  return mask_and(less_equal(set(static_cast<float>(begin)), lane), less(lane, set(static_cast<float>(end))));
}

// A hint that the cache line at p is read soon; p may be any address.
RILL_INLINE void prefetch([[maybe_unused]] const void* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p);
#endif
}

// The same for a line that is read a little later: into the second-level cache.
RILL_INLINE void prefetch_far([[maybe_unused]] const void* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p, 0, 2);
#endif
}

// The same for a line that is written soon.
RILL_INLINE void prefetch_to_write([[maybe_unused]] const void* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p, 1);
#endif
}

// The first n < 16 floats; zeros behind them.
RILL_INLINE F32x16 load_first(const float* p, std::size_t n) {
  alignas(64) float buffer[16] = {};
  std::memcpy(buffer, p, n * sizeof(float));
  return load(buffer);
}
RILL_INLINE void store_first(F32x16 a, float* p, std::size_t n) {
  alignas(64) float buffer[16];
  store(a, buffer);
  std::memcpy(p, buffer, n * sizeof(float));
}

RILL_INLINE F32x16 abs(F32x16 a) { return from_bits(bit_and(float_bits(a), set(std::int32_t{0x7FFFFFFF}))); }
RILL_INLINE F32x16 negate(F32x16 a) { return from_bits(bit_xor(float_bits(a), set(INT32_MIN))); }
// b where either is NaN, and of two zeros: as x86 has it.
#if RILL_TARGET == RILL_SCALAR || RILL_TARGET == RILL_NEON
RILL_INLINE F32x16 max(F32x16 a, F32x16 b) { return select(less(b, a), a, b); }
RILL_INLINE F32x16 min(F32x16 a, F32x16 b) { return select(less(a, b), a, b); }
#else
RILL_OP2(max, hn::Max(a, b))
RILL_OP2(min, hn::Min(a, b))
#endif

// Round to nearest even for |a| <= 2^22: adding 1.5 * 2^23 leaves the integer in the low bits.
inline constexpr float kRoundMagic = 12582912.0f;
RILL_INLINE F32x16 round(F32x16 a) { return sub(add(a, set(kRoundMagic)), set(kRoundMagic)); }
RILL_INLINE I32x16 round_to_int(F32x16 a) {
  return sub(float_bits(add(a, set(kRoundMagic))), set(std::bit_cast<std::int32_t>(kRoundMagic)));
}

// ---- half precision, exact one way, rounded to nearest even the other
RILL_INLINE F32x16 load_bf16(const std::uint16_t* p) { return from_bits(shift_left<16>(load_u16(p))); }

#if RILL_TARGET == RILL_SCALAR || RILL_TARGET == RILL_SSE4
// Highway's own for SSE4 reads infinities as 65536.
RILL_INLINE F32x16 load_f16(const std::uint16_t* p) {
  const I32x16 bits = load_u16(p);
  const I32x16 magnitude = shift_left<13>(bit_and(bits, set(0x7FFF)));
  const F32x16 value = mul(from_bits(magnitude), set(0x1p112f));  // moves the exponent's bias; exact, subnormals too
  const I32x16 special = bit_or(magnitude, set(0x7F800000));      // infinities and NaN
  const F32x16 result = select(less(value, set(65536.0f)), value, from_bits(special));
  return from_bits(bit_or(float_bits(result), shift_left<16>(bit_and(bits, set(0x8000)))));
}
#else
using F16Tag = hn::Rebind<hwy::float16_t, F32Tag>;
RILL_LOAD(load_f16_lanes, F32x16, const hwy::float16_t*, hn::PromoteTo(F32Tag(), hn::LoadU(F16Tag(), p)))
RILL_INLINE F32x16 load_f16(const std::uint16_t* p) {
  return load_f16_lanes(reinterpret_cast<const hwy::float16_t*>(p));
}
#endif

// Bits of the nearest half; infinity from 65520 on; any NaN becomes 0x7E00 with its sign.
RILL_INLINE I32x16 to_f16(F32x16 a) {
  const F32x16 x = abs(a);
  const I32x16 bits = float_bits(x);
  // Normal: rebias the exponent, add half of the dropped bits' unit (less one where the kept part is even), drop them.
  const I32x16 odd = bit_and(shift_right<13>(bits), set(1));
  const I32x16 normal = shift_right<13>(add(add(bits, set(static_cast<std::int32_t>(0xC8000FFFu))), odd));
  // Subnormal: adding 0.5 leaves the value in units of 2^-24 in the low bits, rounded by the addition.
  const I32x16 subnormal = sub(float_bits(add(x, set(0.5f))), set(0x3F000000));
  F32x16 result = select(less(x, set(0x1p-14f)), from_bits(subnormal), from_bits(normal));
  result = select(less(x, set(65520.0f)), result, from_bits(set(0x7C00)));
  result = select(less_equal(x, x), result, from_bits(set(0x7E00)));
  return bit_or(float_bits(result), bit_and(shift_right<16>(float_bits(a)), set(0x8000)));
}

}  // namespace rill::kernels::RILL_NAMESPACE
RILL_AFTER_NAMESPACE;
