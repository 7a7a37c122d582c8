// Norms, rotation, activations and the small loops: near a double reference, and the same bits from every table of a
// class, for odd sizes and misaligned pointers, whatever floating-point mode the host has set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/float_mode.h"
#include "kernels/kernel_table.h"
#include "kernels/random_floats.h"

namespace rill::kernels {
namespace {

using test::RandomFloats;
using test::same_bits;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Vectors that begin off every alignment, with guards behind them.
class Misaligned {
 public:
  explicit Misaligned(const std::vector<float>& values) : size_(values.size()), storage_(values.size() + 18, kGuard) {
    std::copy(values.begin(), values.end(), data());
  }
  float* data() { return storage_.data() + 1; }
  std::vector<float> values() { return {data(), data() + size_}; }
  bool guards_hold() const {
    return storage_.front() == kGuard && std::all_of(storage_.begin() + 1 + static_cast<std::ptrdiff_t>(size_),
                                                     storage_.end(), [](float x) { return x == kGuard; });
  }

 private:
  static constexpr float kGuard = 12345.0f;
  std::size_t size_;
  std::vector<float> storage_;
};

void expect_same(const std::vector<float>& a, const std::vector<float>& b, const char* name) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(same_bits(a[i], b[i])) << name << " [" << i << "] " << a[i] << ' ' << b[i];
}

// Runs `kernel` on every table; each result must be within `tolerance` (relative to `scale` of the element) of `truth`.
void check(std::size_t n, const std::function<std::vector<float>(const KernelTable&)>& kernel,
           const std::function<double(std::size_t)>& truth, const std::function<double(std::size_t)>& tolerance) {
  const std::vector<float> scalar = kernel(*find_table("scalar"));
  for (const KernelTable* table : available_tables()) {
    const std::vector<float> result = kernel(*table);
    ASSERT_EQ(result.size(), n);
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_NEAR(result[i], truth(i), tolerance(i)) << table->name << " [" << i << "] of " << n;
    if (table->numerics_class == NumericsClass::fma) expect_same(result, scalar, table->name);
  }
}

std::vector<std::size_t> sizes() {
  std::vector<std::size_t> result(70);
  for (std::size_t n = 1; n <= result.size(); ++n) result[n - 1] = n;
  result.insert(result.end(), {576, 1000, 1536});
  return result;
}

TEST(Vector, Tables) {
  ASSERT_FALSE(available_tables().empty());
  EXPECT_STREQ(available_tables().back()->name, "scalar");
  EXPECT_EQ(find_table(""), available_tables().front());
  EXPECT_EQ(find_table("scalar"), available_tables().back());
  EXPECT_EQ(find_table("mmx"), nullptr);
  for (const KernelTable* table : available_tables()) {
    EXPECT_EQ(find_table(table->name), table);
    EXPECT_EQ(table->numerics_class == NumericsClass::sse4, std::string_view(table->name) == "sse4");
  }
  for (const char* name : unavailable_tables()) EXPECT_EQ(find_table(name), nullptr) << name;
}

TEST(Vector, RmsNorm) {
  RandomFloats random(1);
  for (const std::size_t n : sizes()) {
    const float magnitude = n % 3 == 0 ? 1e5f : 1.0f;
    const std::vector<float> x = random.vector(n, magnitude), weight = random.vector(n, 300.0f);
    double sum = 0;
    for (const float value : x) sum += double{value} * value;
    const double inverse = 1.0 / std::sqrt(sum / static_cast<double>(n) + 1e-5);
    const auto truth = [&](std::size_t i) { return x[i] * inverse * weight[i]; };
    const auto tolerance = [&](std::size_t i) { return 1e-6 * std::abs(truth(i)) + 1e-30; };
    check(
        n,
        [&](const KernelTable& table) {
          Misaligned in(x), w(weight), out(x);
          table.rms_norm(in.data(), w.data(), 1e-5f, n, out.data());
          table.rms_norm(in.data(), w.data(), 1e-5f, n, in.data());  // in place
          expect_same(in.values(), out.values(), table.name);
          EXPECT_TRUE(in.guards_hold() && out.guards_hold()) << table.name;
          return out.values();
        },
        truth, tolerance);
  }
}

TEST(Vector, Rope) {
  RandomFloats random(2);
  for (const std::size_t pairs : {1u, 5u, 8u, 15u, 16u, 17u, 24u, 32u, 40u, 64u, 128u}) {
    for (const std::size_t rest : {0u, 6u}) {
      for (const bool neighbours : {false, true}) {
        const std::size_t heads = 3, head_dim = 2 * pairs + rest;
        const std::vector<float> x = random.vector(heads * head_dim, 10.0f);
        std::vector<float> cosine(pairs), sine(pairs);
        for (std::size_t i = 0; i < pairs; ++i) {
          const float angle = random.uniform(3.0f);
          cosine[i] = std::cos(angle);
          sine[i] = std::sin(angle);
        }
        const auto truth = [&](std::size_t index) {
          const std::size_t head = index / head_dim * head_dim, d = index % head_dim;
          if (d >= 2 * pairs) return double{x[index]};
          const std::size_t pair = neighbours ? d / 2 : d % pairs;
          const bool first = neighbours ? d % 2 == 0 : d < pairs;
          const double a = x[head + (neighbours ? 2 * pair : pair)],
                       b = x[head + (neighbours ? 2 * pair + 1 : pairs + pair)];
          return first ? a * cosine[pair] - b * sine[pair] : a * sine[pair] + b * cosine[pair];
        };
        check(
            x.size(),
            [&](const KernelTable& table) {
              Misaligned data(x);
              table.rope(data.data(), heads, head_dim, cosine.data(), sine.data(), pairs, neighbours);
              EXPECT_TRUE(data.guards_hold()) << table.name;
              return data.values();
            },
            truth, [](std::size_t) { return 2e-6; });
      }
    }
  }
}

using Gate = void (*KernelTable::*)(const float*, const float*, std::size_t, float*);

void check_gate(Gate gate, const std::vector<float>& x, const std::vector<float>& up, double (*truth)(double),
                double relative) {
  check(
      x.size(),
      [&](const KernelTable& table) {
        Misaligned in(x), other(up), out(x);
        (table.*gate)(in.data(), other.data(), x.size(), out.data());
        (table.*gate)(in.data(), other.data(), x.size(), in.data());  // in place
        expect_same(in.values(), out.values(), table.name);
        EXPECT_TRUE(in.guards_hold() && out.guards_hold()) << table.name;
        return out.values();
      },
      [&](std::size_t i) { return truth(x[i]) * up[i]; },
      [&](std::size_t i) { return relative * std::abs(double{x[i]} * up[i]) + 1e-35; });
}

double silu(double x) { return x / (1 + std::exp(-x)); }
double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

TEST(Vector, GatedActivations) {
  RandomFloats random(3);
  for (const std::size_t n : sizes()) {
    const std::vector<float> x = random.vector(n, 12.0f), up = random.vector(n, 5.0f);
    check_gate(&KernelTable::silu_mul, x, up, silu, 4e-7);
    check_gate(&KernelTable::gelu_mul, x, up, gelu, 4e-7);
  }
  // Gemma's residual stream reaches 1e5; beyond 2.6e12 the cube of x overflows.
  std::vector<float> huge;
  for (float x = 1e-38f; x < 1e38f; x *= 1.7f) huge.insert(huge.end(), {x, -x});
  const std::vector<float> ones(huge.size(), 1.0f);
  check_gate(&KernelTable::silu_mul, huge, ones, silu, 4e-7);
  check_gate(&KernelTable::gelu_mul, huge, ones, gelu, 4e-7);
}

TEST(Vector, AddScaleAndFinite) {
  RandomFloats random(4);
  for (const std::size_t n : sizes()) {
    const std::vector<float> x = random.vector(n, 3.0f), y = random.vector(n, 3.0f);
    const auto exact = [](std::size_t) { return 0.0; };
    check(
        n,
        [&](const KernelTable& table) {
          Misaligned a(x), b(y);
          table.add(a.data(), n, b.data());
          EXPECT_TRUE(b.guards_hold()) << table.name;
          return b.values();
        },
        [&](std::size_t i) { return double{y[i] + x[i]}; }, exact);
    check(
        n,
        [&](const KernelTable& table) {
          Misaligned a(x);
          table.scale(25.298f, n, a.data());
          EXPECT_TRUE(a.guards_hold()) << table.name;
          return a.values();
        },
        [&](std::size_t i) { return double{x[i] * 25.298f}; }, exact);

    for (const KernelTable* table : available_tables()) {
      Misaligned a(x);
      EXPECT_TRUE(table->all_finite(a.data(), n));
      for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
        const std::size_t i = random.next() % n;
        const float kept = std::exchange(a.data()[i], bad);
        EXPECT_FALSE(table->all_finite(a.data(), n)) << table->name << " [" << i << "] of " << n;
        a.data()[i] = kept;
      }
    }
  }
  const std::vector<float> largest(33, std::numeric_limits<float>::max());
  for (const KernelTable* table : available_tables()) EXPECT_TRUE(table->all_finite(largest.data(), largest.size()));
}

// All kernels of this file on one input, with values that flush-to-zero would lose.
std::vector<float> everything(const KernelTable& table) {
  RandomFloats random(5);
  const std::size_t n = 99;
  std::vector<float> x = random.vector(n, 4.0f), y = random.vector(n, 4.0f), tiny = random.vector(n, 1e-38f), out(n),
                     all;
  const auto keep = [&] { all.insert(all.end(), out.begin(), out.end()); };
  table.rms_norm(x.data(), y.data(), 1e-6f, n, out.data());
  keep();
  table.rms_norm(tiny.data(), tiny.data(), 0.0f, n, out.data());
  keep();
  for (const auto gate : {&KernelTable::silu_mul, &KernelTable::gelu_mul}) {
    (table.*gate)(x.data(), y.data(), n, out.data());
    keep();
    (table.*gate)(tiny.data(), y.data(), n, out.data());
    keep();
  }
  out = tiny;
  table.add(tiny.data(), n, out.data());
  table.scale(0.3f, n, out.data());
  keep();
  out = x;
  table.rope(out.data(), 3, 33, x.data(), y.data(), 16, true);
  table.rope(out.data(), 3, 33, y.data(), x.data(), 16, false);
  keep();
  return all;
}

TEST(Vector, TheHostsFloatingPointModeChangesNothing) {
  for (const KernelTable* table : available_tables()) {
    const std::vector<float> expected = everything(*table);
    ASSERT_TRUE(std::any_of(expected.begin(), expected.end(), [](float x) { return x != 0 && std::abs(x) < 1e-38f; }));
    for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      for (const bool flush : {false, true}) {
        std::fesetround(mode);
#if defined(__x86_64__)
        if (flush) _mm_setcsr(_mm_getcsr() | 0x8040);  // FTZ and DAZ
#elif defined(__aarch64__)
        std::uint64_t fpcr;
        __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
        if (flush) __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | 1u << 24));
#endif
        std::vector<float> result;
        {
          const ScopedFloatMode scope;
          result = everything(*table);
        }
        const int restored = std::fegetround();
        std::fesetenv(FE_DFL_ENV);
        EXPECT_EQ(restored, mode);
        expect_same(result, expected, table->name);
      }
    }
  }
}

}  // namespace
}  // namespace rill::kernels
