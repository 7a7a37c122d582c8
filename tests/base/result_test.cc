#include "rill/result.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/error.h"

namespace rill {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return make_error(ErrorCode::invalid_argument, "{} is odd", value);
  return value / 2;
}

Result<int> quarter(int value) {
  RILL_ASSIGN(const int halved, half(value));
  return half(halved);
}

TEST(ResultTest, HoldsAValueOrAnError) {
  EXPECT_EQ(quarter(8).value(), 2);
  const auto failed = quarter(6);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(failed.error().message, "3 is odd");
}

TEST(ResultTest, MessagesAreOneLine) {
  const auto message = [](const char* name) { return make_error(ErrorCode::malformed, "tensor '{}'", name).message; };
  EXPECT_EQ(message("a\nb\tc"), "tensor 'a\\x0ab\\x09c'");
  EXPECT_EQ(message("\x1b[2J\x7f"), "tensor '\\x1b[2J\\x7f'");
  EXPECT_EQ(message("\xc2\x9b" "31m"), "tensor '\\x9b31m'");
  EXPECT_EQ(message("é ü \xc2\xa0 \xc2"), "tensor 'é ü \xc2\xa0 \xc2'");
}

TEST(ResultTest, ValueThrowsTheError) {
  try {
    (void)half(3).value();
    FAIL() << "did not throw";
  } catch (const ErrorException& exception) {
    EXPECT_EQ(exception.error().code, ErrorCode::invalid_argument);
    EXPECT_STREQ(exception.what(), "invalid_argument: 3 is odd");
  }
}

TEST(ResultTest, MovesOutMoveOnlyValues) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 5);
}

TEST(ResultTest, AValueOutlivesTheTemporaryItCameFrom) {
  const auto letters = [] { return Result<std::string>(std::string(100, 'x')); };
  std::string seen;
  for (const char letter : letters().value()) seen += letter;
  const std::string& bound = *letters();
  EXPECT_EQ(seen, std::string(100, 'x'));
  EXPECT_EQ(bound, seen);
}

TEST(ResultTest, GuardTurnsBadAllocIntoAnError) {
  const Result<void> result = guarded([]() -> Result<void> { throw std::bad_alloc(); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::out_of_memory);
}

}  // namespace
}  // namespace rill
