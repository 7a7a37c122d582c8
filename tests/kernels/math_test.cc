#include "kernels/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace rill::kernels {
namespace {

TEST(Rope, TableIsTheRotationOfThePosition) {
  const std::size_t pairs = 32;
  const std::vector<float> factors(pairs, 4.0f);
  std::vector<double> plain(pairs), scaled(pairs);
  rope_frequencies(10000.0, pairs, nullptr, plain.data());
  rope_frequencies(10000.0, pairs, factors.data(), scaled.data());
  std::vector<float> cosine(pairs), sine(pairs);
  rope_table(plain.data(), pairs, 131'071, cosine.data(), sine.data());
  for (std::size_t i = 0; i < pairs; ++i) {
    const double expected = std::pow(10000.0, -static_cast<double>(i) / 32.0);
    EXPECT_NEAR(plain[i], expected, 1e-15);
    EXPECT_EQ(scaled[i], plain[i] / 4.0);
    EXPECT_NEAR(cosine[i], std::cos(131'071 * plain[i]), 6e-8);
    EXPECT_NEAR(sine[i], std::sin(131'071 * plain[i]), 6e-8);
  }
  EXPECT_EQ(plain[0], 1.0);
}

}  // namespace
}  // namespace rill::kernels
