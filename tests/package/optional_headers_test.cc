#include <gtest/gtest.h>

#include <span>
#include <utility>
#include <vector>

#include "rill/eigen.h"
#include "rill/fmt.h"

namespace rill {
namespace {

TEST(FmtHeader, FormatsErrors) {
  EXPECT_EQ(fmt::format("{}", ErrorCode::file_truncated), "file_truncated");
  EXPECT_EQ(fmt::format("[{:>6}]", ErrorCode::io), "[    io]");
  EXPECT_EQ(fmt::format("{}", Error{ErrorCode::busy, "the session is in use"}), "busy: the session is in use");
}

template <typename Values>
concept Viewable = requires(Values&& values) { as_vector(std::forward<Values>(values)); };
static_assert(Viewable<const std::vector<float>&> && !Viewable<std::vector<float>>);

TEST(EigenHeader, ViewsShareTheMemory) {
  const std::vector<float> values = {3, 4, 0, 1, 2, 2, 9};
  EXPECT_EQ(as_vector(values).data(), values.data());
  EXPECT_EQ(as_vector(values).size(), 7);
  const auto rows = as_rows(values, 3);
  EXPECT_EQ(rows.data(), values.data());
  EXPECT_EQ(rows.rows(), 2);
  EXPECT_EQ(rows(1, 0), 1);
  EXPECT_EQ(rows.row(1).norm(), 3);
  EXPECT_EQ(as_vector(std::span<const float>()).size(), 0);
}

}  // namespace
}  // namespace rill
