#include "tensor/packed_matrix.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/random_weights.h"
#include "tensor/dequantize.h"

namespace rill {
namespace {

TEST(PackedMatrix, UnpacksToTheBitsOfDequantize) {
  std::mt19937 random(1);
  for (ElementType type : test::kAllElementTypes) {
    for (const auto& [rows, cols] : {std::pair{std::size_t{1}, std::size_t{256}}, {16, 512}, {35, 768}}) {
      const auto source = test::random_weights(type, rows, cols, random, 60000.0f);
      const auto w = test::pack(type, rows, cols, source);
      std::vector<float> expected(cols), actual(cols);
      for (std::size_t r = 0; r < rows; ++r) {
        dequantize(type, source.data() + r * row_bytes(type, cols), expected.data(), cols);
        unpack_row(w.packed, r, actual);
        EXPECT_EQ(0, std::memcmp(expected.data(), actual.data(), cols * sizeof(float))) << info(type).name << " row " << r;
      }
    }
  }
}

TEST(PackedMatrix, KeepsTheBitsPerWeightOfTheFile) {
  for (ElementType type : test::kAllElementTypes) {
    for (std::size_t cols : {256u, 768u, 4096u}) {
      const std::size_t bytes = packed_group_bytes(type, cols);
      EXPECT_EQ(0u, bytes % 64);
      EXPECT_GE(bytes, 16 * row_bytes(type, cols));
      EXPECT_LT(bytes, 16 * row_bytes(type, cols) + 64) << info(type).name;
    }
  }
}

TEST(PackedMatrix, RowsPastTheEndAreZero) {
  std::mt19937 random(2);
  for (ElementType type : test::kAllElementTypes) {
    const auto w = test::pack(type, 5, 256, test::random_weights(type, 5, 256, random));
    std::vector<float> row(256);
    for (std::size_t r = 5; r < 16; ++r) {
      unpack_row(w.packed, r, row);
      for (float value : row) EXPECT_EQ(0.0f, value) << info(type).name;
    }
  }
}

}  // namespace
}  // namespace rill
