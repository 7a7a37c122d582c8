// Empty where the target is not of this processor's family.
#if defined(RILL_PROBE_SCALAR) || (defined(RILL_PROBE_NEON) && defined(__aarch64__)) || \
    (!defined(RILL_PROBE_NEON) && defined(__x86_64__))
#include "kernels/ops_probe.h"

#include "kernels/exp-inl.h"
#include "kernels/ops-inl.h"

RILL_BEFORE_NAMESPACE;
namespace rill::kernels::RILL_NAMESPACE {

using test::Op;

static void read_words(const float* a, std::uint16_t* words) {
  for (int i = 0; i < 16; ++i) words[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(a[i]));
}

static F32x16 result_of(Op op, const float* a_floats, F32x16 b, F32x16 c) {
  const F32x16 a = load(a_floats), one = set(1.0f), zero = set(0.0f);
  std::uint16_t words[16];
  switch (op) {
    case Op::add:
      return add(a, b);
    case Op::sub:
      return sub(a, b);
    case Op::mul:
      return mul(a, b);
    case Op::div:
      return div(a, b);
    case Op::sqrt:
      return sqrt(a);
    case Op::mul_add:
      return mul_add(a, b, c);
    case Op::abs:
      return abs(a);
    case Op::negate:
      return negate(a);
    case Op::max:
      return max(a, b);
    case Op::min:
      return min(a, b);
    case Op::round:
      return round(a);
    case Op::less:
      return select(less(a, b), one, zero);
    case Op::less_equal:
      return select(less_equal(a, b), one, zero);
    case Op::exp:
      return exp(a);
    case Op::tanh:
      return tanh(a);
    case Op::to_f16:
      return to_float(to_f16(a));
    case Op::from_f16:
      read_words(a_floats, words);
      return load_f16(words);
    case Op::from_bf16:
      read_words(a_floats, words);
      return load_bf16(words);
  }
  return zero;
}

static void apply(Op op, const float* a, const float* b, const float* c, float* out) {
  store(result_of(op, a, load(b), load(c)), out);
}

static float probe_sum(const float* a) { return sum_lanes(load(a)); }
static float probe_max(const float* a) { return greatest_lane(load(a)); }

static void integers(const std::int8_t* a, const std::uint8_t* b, std::uint16_t* words, std::int8_t* bytes) {
  const I32x16 x = load_i8(a), y = load_u8(b);
  const I32x16 mixed = bit_xor(bit_or(shift_left<5>(y), bit_and(shift_right<3>(x), set(0xFF))), sub(add(x, y), set(7)));
  store_u16(bit_and(mixed, set(0xFFFF)), words);
  store_i8(round_to_int(mul(to_float(x), set(0.5f))), bytes);
}

static void swap_pairs(const float* in, float* out) {
  F32x16 even, odd;
  load_pairs(in, even, odd);
  store_pairs(odd, even, out);
}

static void probe_lane_range(unsigned begin, unsigned end, float* out) {
  store(select(lane_range(begin, end), set(1.0f), set(0.0f)), out);
}

}  // namespace rill::kernels::RILL_NAMESPACE
RILL_AFTER_NAMESPACE;

namespace rill::test {

const OpsProbe& RILL_PROBE() {
  namespace target = kernels::RILL_NAMESPACE;
  static constexpr OpsProbe kProbe = {RILL_PROBE_NAME,    RILL_FUSED != 0,         target::apply,
                                      target::probe_sum,  target::probe_max,       target::integers,
                                      target::swap_pairs, target::probe_lane_range};
  return kProbe;
}

}  // namespace rill::test
#endif
