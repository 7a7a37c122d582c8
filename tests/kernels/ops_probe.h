// The operations of kernels/ops-inl.h on memory, compiled once for each target (ops_probe.cc).
#pragma once

#include <cstdint>

namespace rill::test {

enum class Op {
  add,
  sub,
  mul,
  div,
  sqrt,
  mul_add,
  abs,
  negate,
  max,
  min,
  round,
  less,
  less_equal,
  exp,
  tanh,
  to_f16,
  from_f16,
  from_bf16
};

struct OpsProbe {
  const char* name;
  bool fused;
  // out[i] = op(a[i], b[i], c[i]) for 16 lanes; comparisons give 1 or 0, to_f16 the bits as a number; from_f16 and
  // from_bf16 read the low 16 bits of a.
  void (*apply)(Op op, const float* a, const float* b, const float* c, float* out);
  float (*sum_lanes)(const float* a);
  float (*greatest_lane)(const float* a);
  // Integers: words[i] = ((b << 5 | (a >> 3 & 0xFF)) ^ (a + b - 7)) & 0xFFFF, bytes[i] = a / 2 to nearest even.
  void (*integers)(const std::int8_t* a, const std::uint8_t* b, std::uint16_t* words, std::int8_t* bytes);
  void (*swap_pairs)(const float* in, float* out);               // in[32]: neighbours change places
  void (*lane_range)(unsigned begin, unsigned end, float* out);  // 1 in the lanes [begin, end), else 0
};

const OpsProbe& scalar_probe();
const OpsProbe& sse4_probe();
const OpsProbe& avx2_probe();
const OpsProbe& avx512_probe();
const OpsProbe& neon_probe();

}  // namespace rill::test
