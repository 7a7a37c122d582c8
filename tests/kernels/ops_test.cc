// Every operation on every target that this machine runs, against its definition in plain C++ (libm for fma, exp and
// tanh).
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu.h"
#include "kernels/ops_probe.h"
#include "kernels/random_floats.h"
#include "tensor/half.h"

namespace rill::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int kLanes = 16;

std::vector<const OpsProbe*> probes() {
  std::vector<const OpsProbe*> result = {&scalar_probe()};
  [[maybe_unused]] const kernels::CpuFeatures& cpu = kernels::cpu_features();
#if defined(__x86_64__)
#if defined(RILL_HAVE_SSE4)
  if (cpu.sse4) result.push_back(&sse4_probe());
#endif
#if defined(RILL_HAVE_AVX2)
  if (cpu.avx2) result.push_back(&avx2_probe());
#endif
#if defined(RILL_HAVE_AVX512)
  if (cpu.avx512) result.push_back(&avx512_probe());
#endif
#elif defined(RILL_HAVE_NEON)
  if (cpu.neon) result.push_back(&neon_probe());
#endif
  return result;
}

// Inputs that matter: all bit patterns of the upper half (every exponent, infinities, NaN) and random ones.
class Inputs {
 public:
  explicit Inputs(std::uint64_t seed) : random_(seed) {}
  float next() {
    switch (random_.next() % 4) {
      case 0:
        return random_.any_bits();
      case 1:
        return random_.uniform(1.0f);
      case 2:
        return std::bit_cast<float>(static_cast<std::uint32_t>(random_.next() % 0x10000) << 16);
      default:
        return random_.uniform(1e6f);
    }
  }

 private:
  RandomFloats random_;
};

// `expected` of a, b, c against every target, `rounds` times 16 lanes.
template <class F>
void check(Op op, const char* name, F expected, int rounds = 20'000) {
  for (const OpsProbe* probe : probes()) {
    Inputs inputs(static_cast<std::uint64_t>(op));
    for (int round = 0; round < rounds; ++round) {
      float a[kLanes], b[kLanes], c[kLanes], out[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        a[i] = inputs.next();
        b[i] = round % 5 == 0 ? a[i] : inputs.next();
        c[i] = inputs.next();
      }
      probe->apply(op, a, b, c, out);
      for (int i = 0; i < kLanes; ++i) {
        const float want = expected(*probe, a[i], b[i], c[i]);
        ASSERT_TRUE(same_bits(out[i], want)) << probe->name << ": " << name << '(' << a[i] << ", " << b[i] << ", "
                                             << c[i] << ") = " << out[i] << ", not " << want;
      }
    }
  }
}

TEST(Ops, ArithmeticIsThatOfTheLanguage) {
  check(Op::add, "add", [](auto&, float a, float b, float) { return a + b; });
  check(Op::sub, "sub", [](auto&, float a, float b, float) { return a - b; });
  check(Op::mul, "mul", [](auto&, float a, float b, float) { return a * b; });
  check(Op::div, "div", [](auto&, float a, float b, float) { return a / b; });
  check(Op::sqrt, "sqrt", [](auto&, float a, float, float) { return std::sqrt(a); });
  check(Op::abs, "abs", [](auto&, float a, float, float) { return std::abs(a); });
  check(Op::negate, "negate", [](auto&, float a, float, float) { return -a; });
  check(Op::max, "max", [](auto&, float a, float b, float) { return a > b ? a : b; });
  check(Op::min, "min", [](auto&, float a, float b, float) { return a < b ? a : b; });
  check(Op::less, "less", [](auto&, float a, float b, float) { return a < b ? 1.0f : 0.0f; });
  check(Op::less_equal, "less_equal", [](auto&, float a, float b, float) { return a <= b ? 1.0f : 0.0f; });
  check(Op::round, "round", [](auto& probe, float a, float, float) {
    if (std::abs(a) <= 0x1p22f) return std::nearbyint(a) + 0.0f;  // never -0
    float out[kLanes];  // beyond: no promise but equality with the scalar target
    const std::array<float, kLanes> all = {a};
    (probe.fused ? scalar_probe() : probe).apply(Op::round, all.data(), all.data(), all.data(), out);
    return out[0];
  });
}

TEST(Ops, MultiplyAddRoundsOnceExceptOnSse4) {
  check(
      Op::mul_add, "mul_add",
      [](auto& probe, float a, float b, float c) { return probe.fused ? std::fma(a, b, c) : a * b + c; }, 100'000);
}

TEST(Ops, MultiplyAddAtTiesAndCancellations) {
  // Products of 24-bit odd integers next to halves of a unit of c: where rounding twice goes wrong.
  RandomFloats random(7);
  for (const OpsProbe* probe : probes()) {
    if (!probe->fused) continue;
    for (int round = 0; round < 20'000; ++round) {
      float a[kLanes], b[kLanes], c[kLanes], out[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        a[i] = static_cast<float>((random.next() >> 40) | 1);
        b[i] = std::ldexp(static_cast<float>((random.next() >> 40) | 1), static_cast<int>(random.next() % 120) - 60);
        const float product = a[i] * b[i];
        c[i] = random.next() % 2 ? -product : std::ldexp(product, static_cast<int>(random.next() % 60) - 30);
      }
      probe->apply(Op::mul_add, a, b, c, out);
      for (int i = 0; i < kLanes; ++i) {
        ASSERT_TRUE(same_bits(out[i], std::fma(a[i], b[i], c[i])))
            << probe->name << ' ' << a[i] << ' ' << b[i] << ' ' << c[i];
      }
    }
  }
}

TEST(Ops, EveryHalfIsReadExactly) {
  for (const OpsProbe* probe : probes()) {
    for (std::uint32_t first = 0; first < 0x10000; first += kLanes) {
      float in[kLanes], halves[kLanes], brains[kLanes];
      for (int i = 0; i < kLanes; ++i) in[i] = std::bit_cast<float>(first + static_cast<std::uint32_t>(i));
      probe->apply(Op::from_f16, in, in, in, halves);
      probe->apply(Op::from_bf16, in, in, in, brains);
      for (int i = 0; i < kLanes; ++i) {
        const std::uint32_t bits = first + static_cast<std::uint32_t>(i);
        // IEEE 754: fraction times 2^(exponent - 15).
        const int exponent = bits >> 10 & 31;
        const float fraction = static_cast<float>(bits & 1023) / 1024.0f;
        float value = exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1.0f + fraction, exponent - 15);
        if (exponent == 31) value = (bits & 1023) == 0 ? kInfinity : std::nanf("");
        if (bits >> 15 != 0) value = -value;
        ASSERT_TRUE(same_bits(halves[i], value)) << probe->name << ' ' << bits;
        ASSERT_TRUE(same_bits(brains[i], std::bit_cast<float>(bits << 16))) << probe->name << ' ' << bits;
      }
    }
  }
}

// The half nearest to |x|, ties to even, found by search among all halves.
std::uint32_t nearest_half(float x) {
  const auto value = [](std::uint32_t bits) {
    const int exponent = static_cast<int>(bits >> 10);
    const double fraction = (bits & 1023) / 1024.0;
    return exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1.0 + fraction, exponent - 15);
  };
  const double magnitude = std::abs(static_cast<double>(x));
  const std::uint32_t sign = std::signbit(x) ? 0x8000u : 0u;
  if (std::isnan(x)) return sign | 0x7E00u;
  std::uint32_t low = 0, high = 0x7C00;  // value(0x7C00) is 65536, where the next exponent would begin
  if (magnitude >= value(high)) return sign | high;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (value(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - value(low), above = value(high) - magnitude;
  return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

TEST(Ops, HalvesAreRoundedToNearestEven) {
  check(Op::to_f16, "to_f16", [](auto&, float a, float, float) { return static_cast<float>(nearest_half(a)); });
  // Every half, every midpoint between two, and the floats next to the midpoints.
  for (const OpsProbe* probe : probes()) {
    for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
      const float value = f16_to_f32(static_cast<std::uint16_t>(bits));
      const float next = bits == 0x7BFF ? 65536.0f : f16_to_f32(static_cast<std::uint16_t>(bits + 1));
      const float middle = value + (next - value) / 2;
      const float in[kLanes] = {
          value, -value, middle, -middle, std::nextafter(middle, 0.0f), std::nextafter(middle, kInfinity)};
      float out[kLanes];
      probe->apply(Op::to_f16, in, in, in, out);
      for (int i = 0; i < 6; ++i)
        ASSERT_EQ(out[i], static_cast<float>(nearest_half(in[i]))) << probe->name << ' ' << in[i];
    }
  }
}

// Largest error in units of the last place over `values`, and equality within a class.
template <class F>
double largest_error(Op op, const std::vector<float>& values, F truth) {
  double largest = 0;
  for (const OpsProbe* probe : probes()) {
    for (std::size_t start = 0; start + kLanes <= values.size(); start += kLanes) {
      float out[kLanes], scalar[kLanes];
      const float* in = &values[start];
      probe->apply(op, in, in, in, out);
      scalar_probe().apply(op, in, in, in, scalar);
      for (int i = 0; i < kLanes; ++i) {
        if (probe->fused && !same_bits(out[i], scalar[i])) ADD_FAILURE() << probe->name << ' ' << in[i];
        const double exact = truth(static_cast<double>(in[i]));
        int exponent;
        std::frexp(exact, &exponent);
        const double error = std::abs(out[i] - exact) / std::ldexp(1.0, exponent - 24);
        if (!(error <= largest)) largest = error;  // NaN too
      }
    }
  }
  return largest;
}

TEST(Ops, ExpIsWithinAnUlpAndKnowsItsEdges) {
  std::vector<float> values;
  for (float x = -87.33f; x < 88.72f; x += 0.00317f) values.push_back(x);
  for (float x = 1e-38f; x < 88.0f; x *= 1.01f) values.insert(values.end(), {x, -std::min(x, 87.0f)});
  EXPECT_LT(largest_error(Op::exp, values, [](double x) { return std::exp(x); }), 1.01);

  const std::vector<std::pair<float, float>> edges = {
      {0.0f, 1.0f},       {-0.0f, 1.0f},   {-kInfinity, 0.0f}, {kInfinity, kInfinity},        {88.73f, kInfinity},
      {1e38f, kInfinity}, {-87.34f, 0.0f}, {-1e38f, 0.0f},     {std::nanf(""), std::nanf("")}};
  for (const OpsProbe* probe : probes()) {
    for (const auto& [x, y] : edges) {
      float in[kLanes] = {}, out[kLanes];
      in[3] = x;
      probe->apply(Op::exp, in, in, in, out);
      EXPECT_TRUE(same_bits(out[3], y)) << probe->name << " exp(" << x << ") = " << out[3];
    }
  }
}

TEST(Ops, TanhIsWithinTwoUlps) {
  std::vector<float> values;
  for (float x = 1e-30f; x < 100.0f; x *= 1.0007f) values.insert(values.end(), {x, -x});
  EXPECT_LT(largest_error(Op::tanh, values, [](double x) { return std::tanh(x); }), 2.0);
  for (const OpsProbe* probe : probes()) {
    const float in[kLanes] = {0.0f, kInfinity, -kInfinity, 1e38f, std::nanf("")};
    float out[kLanes];
    probe->apply(Op::tanh, in, in, in, out);
    const float expected[] = {0.0f, 1.0f, -1.0f, 1.0f, std::nanf("")};
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(same_bits(out[i], expected[i])) << probe->name << ' ' << in[i];
  }
}

TEST(Ops, ReductionsFoldHalvesOntoHalves) {
  RandomFloats random(3);
  for (const OpsProbe* probe : probes()) {
    for (int round = 0; round < 2'000; ++round) {
      float v[kLanes], m[kLanes];
      for (int i = 0; i < kLanes; ++i)
        v[i] = m[i] = random.uniform(1.0f) * std::ldexp(1.0f, static_cast<int>(random.next() % 30));
      const float sum = probe->sum_lanes(v), max = probe->greatest_lane(v);
      for (int width = 8; width > 0; width /= 2) {
        for (int i = 0; i < width; ++i) {
          v[i] += v[i + width];
          m[i] = std::max(m[i], m[i + width]);
        }
      }
      ASSERT_EQ(sum, v[0]) << probe->name;
      ASSERT_EQ(max, m[0]) << probe->name;
    }
  }
}

TEST(Ops, IntegersPairsAndLaneRanges) {
  RandomFloats random(4);
  for (const OpsProbe* probe : probes()) {
    for (int round = 0; round < 2'000; ++round) {
      std::int8_t a[kLanes], bytes[kLanes];
      std::uint8_t b[kLanes];
      std::uint16_t words[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        a[i] = static_cast<std::int8_t>(random.next());
        b[i] = static_cast<std::uint8_t>(random.next());
      }
      probe->integers(a, b, words, bytes);
      for (int i = 0; i < kLanes; ++i) {
        const auto x = static_cast<std::uint32_t>(std::int32_t{a[i]}), y = std::uint32_t{b[i]};
        ASSERT_EQ(words[i], (((y << 5) | ((x >> 3) & 0xFF)) ^ (x + y - 7)) & 0xFFFF) << probe->name;
        ASSERT_EQ(bytes[i], std::nearbyint(a[i] * 0.5)) << probe->name;
      }
    }
    float in[32], out[32];
    for (int i = 0; i < 32; ++i) in[i] = static_cast<float>(i);
    probe->swap_pairs(in, out);
    for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], static_cast<float>(i ^ 1)) << probe->name;
    for (unsigned begin = 0; begin <= 16; ++begin) {
      for (unsigned end = 0; end <= 16; ++end) {
        probe->lane_range(begin, end, out);
        for (unsigned i = 0; i < 16; ++i) EXPECT_EQ(out[i], i >= begin && i < end ? 1.0f : 0.0f) << probe->name;
      }
    }
  }
}

}  // namespace
}  // namespace rill::test
