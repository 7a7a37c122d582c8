// Matrix products of every target: near a double reference, and the same bits from every target of a class, for every number
// of tokens and every way of cutting the rows.
#include "kernels/kernel_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "kernels/exact_fma.h"
#include "kernels/matmul.h"
#include "support/random_weights.h"

namespace rill::kernels {
namespace {

using test::kAllElementTypes;

// Rows of activations that a target made.
class Activations {
 public:
  Activations(const MatmulKernels& kernels, ActivationFormat format, const std::vector<float>& x, std::size_t rows,
              std::size_t cols)
      : view_{format, rows, cols, nullptr}, storage_(rows * activation_row_bytes(format, cols) + 63) {
    auto* data = storage_.data() + (64 - reinterpret_cast<std::uintptr_t>(storage_.data()) % 64) % 64;
    finite_ = kernels.prepare_activations(format, x.data(), cols, rows, cols, data);
    view_.data = data;
  }
  const ActivationView& view() const { return view_; }
  bool finite() const { return finite_; }
  ActivationView first(std::size_t rows) const { return {view_.format, rows, view_.cols, view_.data}; }

  // What the integers stand for.
  double value(std::size_t row, std::size_t k) const {
    const std::byte* data = view_.data + row * activation_row_bytes(view_.format, view_.cols);
    const std::size_t b = k / kActivationBlock, i = k % kActivationBlock;
    if (view_.format == ActivationFormat::f32) return reinterpret_cast<const float*>(data)[k];
    if (view_.format == ActivationFormat::q8) {
      const auto& block = reinterpret_cast<const ActivationBlockQ8*>(data)[b];
      return double{block.scale.scale} * block.values[i];
    }
    const auto& block = reinterpret_cast<const ActivationBlockQ16*>(data)[b];
    return double{block.scale.scale} * (block.high[i] * 256 + block.low[i]);
  }

 private:
  ActivationView view_;
  std::vector<std::byte> storage_;
  bool finite_ = false;
};

std::vector<float> random_floats(std::size_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> out(count);
  for (auto& value : out) value = normal(random);
  return out;
}

std::vector<ActivationFormat> formats_for(ElementType type) {
  if (is_quantized(type)) return {ActivationFormat::q8, ActivationFormat::q16};
  return {ActivationFormat::f32};
}

TEST(ExactFma, AgreesWithTheStandardLibrary) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000000; ++i) {
    const auto draw = [&] { return std::bit_cast<float>(static_cast<std::uint32_t>(random())); };
    float a = draw(), b = draw(), c = draw();
    if (i % 2 == 0) c = -a * b * (1 + static_cast<float>(random() % 16) * 0x1p-22f);  // near cancellation
    if (i % 3 == 0) a = std::ldexp(a, -60), b = std::ldexp(b, -70), c = std::ldexp(c, -120);
    const float expected = std::fma(a, b, c), actual = exact_fma(a, b, c);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual));
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(expected), std::bit_cast<std::uint32_t>(actual)) << a << ' ' << b << ' ' << c;
    }
  }
}

// Rows that reach the ends of the formats: ordinary, subnormal, huge, zero, every value at the limit, low planes at -128.
std::vector<float> hard_rows(std::size_t rows, std::size_t cols, std::mt19937& random) {
  std::vector<float> x = random_floats(rows * cols, random);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t k = 0; k < cols; ++k) {
      float& value = x[r * cols + k];
      const float sign = random() % 2 == 0 ? 1.0f : -1.0f;
      switch (r % 8) {
        case 1: value *= 1e-41f; break;
        case 2: value *= 1e25f; break;
        case 3: value = sign * 3.5f; break;
        case 4: value = k / 32 % 2 == 0 ? 0.0f : value; break;
        case 5: value = k % 32 == 7 ? 32512.0f : static_cast<float>(static_cast<int>(random() % 250) * 256 - 32128); break;
        case 6: value = k % 32 == 9 ? -127.0f : static_cast<float>(static_cast<int>(random() % 253) - 126) + 0.5f; break;
        case 7: value = sign * 1e-45f * static_cast<float>(random() % 200); break;
        default: break;
      }
    }
  }
  return x;
}

std::size_t test_cols(ElementType type, bool odd) {
  if (!is_quantized(type)) return odd ? 37 : 256;
  return info(type).block_elements == 32 && odd ? 96 : 512;
}

std::vector<const KernelTable*> tables_of(NumericsClass numerics_class) {
  std::vector<const KernelTable*> out;
  for (const KernelTable* table : available_tables()) {
    if (table->numerics_class == numerics_class) out.push_back(table);
  }
  return out;
}

bool same_bits(const float* a, const float* b, std::size_t count) { return std::memcmp(a, b, count * sizeof(float)) == 0; }

TEST(Matmul, ListsTheTablesThatCannotRunHere) {
  for (const char* name : unavailable_tables()) std::printf("not run on this machine: %s\n", name);
  for (const KernelTable* table : available_tables()) std::printf("run: %s\n", table->name);
  EXPECT_STREQ("scalar", available_tables().back()->name);
}

TEST(PrepareActivations, GivesTheSameBitsOnEveryTable) {
  std::mt19937 random(3);
  const std::size_t rows = 16, cols = 96, stride = 101;
  const std::vector<float> x = hard_rows(rows, stride, random);
  for (ActivationFormat format : {ActivationFormat::f32, ActivationFormat::q8, ActivationFormat::q16}) {
    const std::size_t row_size = activation_row_bytes(format, cols);
    std::vector<std::byte> expected(rows * row_size), actual(rows * row_size);
    ASSERT_TRUE(kMatmulScalar.prepare_activations(format, x.data(), stride, rows, cols, expected.data()));
    for (const KernelTable* table : available_tables()) {
      std::ranges::fill(actual, std::byte{0});
      ASSERT_TRUE(table->prepare_activations(format, x.data(), stride, rows, cols, actual.data()));
      EXPECT_EQ(0, std::memcmp(expected.data(), actual.data(), actual.size())) << table->name;
    }
  }
}

TEST(PrepareActivations, RoundsToTheNearestInteger) {
  std::mt19937 random(4);
  const std::size_t rows = 16, cols = 64;
  const std::vector<float> x = hard_rows(rows, cols, random);
  for (const auto& [format, limit] : {std::pair{ActivationFormat::q8, 127.0}, {ActivationFormat::q16, 32512.0}}) {
    const Activations prepared(kMatmulScalar, format, x, rows, cols);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t b = 0; b < cols; b += 32) {
        double amax = 0;
        for (std::size_t k = b; k < b + 32; ++k) amax = std::max(amax, std::fabs(double{x[r * cols + k]}));
        // Half a step, and what rounding the step itself to float adds at the largest value.
        const double bound = amax / limit * 0.5 * (1 + 0x1p-22) + amax * 0x1p-23 + limit * 0x1p-149;
        for (std::size_t k = b; k < b + 32; ++k) EXPECT_NEAR(prepared.value(r, k), x[r * cols + k], bound) << r << ' ' << k;
      }
    }
  }
}

TEST(PrepareActivations, RefusesWhatIsNotFinite) {
  const std::size_t rows = 2, cols = 64;
  std::vector<std::byte> dst(rows * activation_row_bytes(ActivationFormat::f32, cols));
  for (const KernelTable* table : available_tables()) {
    for (ActivationFormat format : {ActivationFormat::f32, ActivationFormat::q8, ActivationFormat::q16}) {
      for (float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN()}) {
        for (std::size_t at = 0; at < rows * cols; ++at) {
          std::vector<float> x(rows * cols, 1.0f);
          EXPECT_TRUE(table->prepare_activations(format, x.data(), cols, rows, cols, dst.data()));
          x[at] = bad;
          EXPECT_FALSE(table->prepare_activations(format, x.data(), cols, rows, cols, dst.data())) << table->name << ' ' << at;
        }
      }
    }
  }
}

TEST(Matmul, IsNearTheDoubleReference) {
  std::mt19937 random(5);
  const std::size_t rows = 37, tokens = 3;
  for (ElementType type : kAllElementTypes) {
    for (ActivationFormat format : formats_for(type)) {
      const std::size_t cols = test_cols(type, false);
      const auto w = test::pack(type, rows, cols, test::random_weights(type, rows, cols, random));
      const Activations x(kMatmulScalar, format, random_floats(tokens * cols, random), tokens, cols);
      for (const KernelTable* table : available_tables()) {
        std::vector<float> y(tokens * rows), row(cols);
        table->matmul(w.packed, x.view(), 0, w.packed.groups(), y.data(), rows);
        for (std::size_t r = 0; r < rows; ++r) {
          unpack_row(w.packed, r, row);
          for (std::size_t t = 0; t < tokens; ++t) {
            double expected = 0, size = 0;
            for (std::size_t k = 0; k < cols; ++k) {
              expected += row[k] * x.value(t, k);
              size += std::fabs(row[k] * x.value(t, k));
            }
            // Each block or column rounds a few times, by at most 2^-24 of a partial sum, which is at most `size`; with a
            // minimum, weights are differences of terms up to 32 times their scale.
            const double roundings = is_quantized(type) ? 4.0 * static_cast<double>(cols) / 16 : static_cast<double>(cols);
            EXPECT_NEAR(y[t * rows + r], expected, 0x1p-24 * roundings * (size + 1)) << table->name << ' ' << info(type).name;
          }
        }
      }
    }
  }
}

// The scalar table's result (or the first of its class) for all tokens is what every table must give for any part of them.
void expect_same_bits(const test::PackedWeights& w, const Activations& x, std::mt19937& random) {
  const std::size_t rows = w.packed.rows, tokens = x.view().rows, stride = rows + 3;
  for (NumericsClass numerics_class : {NumericsClass::fma, NumericsClass::sse4}) {
    const auto tables = tables_of(numerics_class);
    if (tables.empty()) continue;
    std::vector<float> expected(tokens * rows);
    tables.back()->matmul(w.packed, x.view(), 0, w.packed.groups(), expected.data(), rows);
    for (const KernelTable* table : tables) {
      for (std::size_t m = 1; m <= tokens; ++m) {
        constexpr float kUntouched = 12345.0f;
        std::vector<float> y(tokens * stride + 1, kUntouched);
        float* out = y.data() + 1;  // not aligned to a vector
        const std::size_t begin = random() % w.packed.groups();
        const std::size_t end = begin + random() % (w.packed.groups() - begin + 1);
        table->matmul(w.packed, x.first(m), begin, end, out, stride);
        const std::size_t first = begin * 16, last = std::max(first, std::min(end * 16, rows));
        for (std::size_t t = 0; t < tokens; ++t) {
          for (std::size_t r = 0; r < stride; ++r) {
            const bool written = t < m && r >= first && r < last;
            const float want = written ? expected[t * rows + r] : kUntouched;
            ASSERT_TRUE(same_bits(&want, &out[t * stride + r], 1))
                << table->name << ' ' << info(w.packed.type).name << " tokens " << m << " token " << t << " row " << r << ": "
                << want << " is not " << out[t * stride + r];
          }
        }
      }
    }
  }
}

TEST(Matmul, GivesTheSameBitsOnEveryTableForEveryCut) {
  std::mt19937 random(6);
  const std::size_t tokens = 35;
  for (ElementType type : kAllElementTypes) {
    for (ActivationFormat format : formats_for(type)) {
      for (bool odd : {false, true}) {
        const std::size_t rows = odd ? 85 : 32, cols = test_cols(type, odd);
        const auto w = test::pack(type, rows, cols, test::random_weights(type, rows, cols, random, odd ? 60000.0f : 0.1f));
        const Activations x(kMatmulScalar, format, hard_rows(tokens, cols, random), tokens, cols);
        ASSERT_TRUE(x.finite());
        expect_same_bits(w, x, random);
      }
    }
  }
}

// Every integer of weights and activations at its end, where an intermediate sum of too few bits would overflow.
TEST(Matmul, HoldsTheLargestIntegers) {
  std::mt19937 random(7);
  const std::size_t rows = 16, cols = 256, tokens = 9;
  std::vector<float> high(tokens * cols), low(tokens * cols);
  for (std::size_t i = 0; i < high.size(); ++i) {
    const float sign = i / cols % 3 == 0 ? 1.0f : i / cols % 3 == 1 ? -1.0f : (i % 2 == 0 ? 1.0f : -1.0f);
    high[i] = 32512.0f * sign;
    low[i] = i % 32 == 0 ? 32512.0f : sign * 32384.0f;  // 126 * 256 + 128 = 127 * 256 - 128
  }
  for (ElementType type : kAllElementTypes) {
    if (!is_quantized(type)) continue;
    for (unsigned fill : {0x00u, 0x7fu, 0x80u, 0xffu}) {
      auto source = test::random_weights(type, rows, cols, random);
      const std::size_t block = info(type).block_bytes;
      for (std::size_t i = 0; i < source.size(); ++i) {
        const std::size_t at = i % block;
        const bool is_scale = type == ElementType::q6_k ? at >= 208 : at < 4 && (at < 2 || block != 34);
        if (!is_scale) source[i] = static_cast<std::byte>(fill);
      }
      const auto w = test::pack(type, rows, cols, source);
      for (ActivationFormat format : formats_for(type)) {
        expect_same_bits(w, Activations(kMatmulScalar, format, high, tokens, cols), random);
        expect_same_bits(w, Activations(kMatmulScalar, format, low, tokens, cols), random);
      }
    }
  }
}

}  // namespace
}  // namespace rill::kernels
