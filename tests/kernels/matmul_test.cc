// Matrix products of every target: near a double reference, and the same bits from every target of a class, for every number
// of tokens and every way of cutting the rows.
#include "kernels/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support/random_weights.h"
#include "kernels/exact_fma.h"

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

TEST(Matmul, ScalarIsNearTheDoubleReference) {
  std::mt19937 random(2);
  const std::size_t rows = 37, cols = 512, tokens = 3;
  for (ElementType type : kAllElementTypes) {
    for (ActivationFormat format : formats_for(type)) {
      const auto w = test::pack(type, rows, cols, test::random_weights(type, rows, cols, random));
      const Activations x(kMatmulScalar, format, random_floats(tokens * cols, random), tokens, cols);
      ASSERT_TRUE(x.finite());
      std::vector<float> y(tokens * rows);
      kMatmulScalar.matmul(w.packed, x.view(), 0, w.packed.groups(), y.data(), rows);
      std::vector<float> row(cols);
      for (std::size_t r = 0; r < rows; ++r) {
        unpack_row(w.packed, r, row);
        for (std::size_t t = 0; t < tokens; ++t) {
          double expected = 0, size = 0;
          for (std::size_t k = 0; k < cols; ++k) {
            expected += row[k] * x.value(t, k);
            size += std::fabs(row[k] * x.value(t, k));
          }
          // A few roundings to float for each block or column, each at most 2^-24 of what it rounds. Terms with a minimum
          // cancel: a block's integer part and its minimum are each up to 32 times the weights' own size there.
          const double roundings = is_quantized(type) ? 40.0 : static_cast<double>(cols);
          EXPECT_NEAR(y[t * rows + r], expected, 0x1p-24 * roundings * (size + 1)) << info(type).name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rill::kernels
