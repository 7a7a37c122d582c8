#include "base/float_mode.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cfloat>

namespace rill {
namespace {

// Not inlined, and on volatile values: computed in the mode of the moment.
[[gnu::noinline]] float add(const volatile float& a, const volatile float& b) { return a + b; }

TEST(ScopedFloatModeTest, SetsTheDefaultAndRestores) {
  const volatile float one = 1.0f, tiny = 1e-10f;
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const float before = add(one, tiny);
  float inside = 0.0f;
  {
    const ScopedFloatMode mode;
    inside = add(one, tiny);
  }
  const float after = add(one, tiny);
  std::fesetround(FE_TONEAREST);
  EXPECT_GT(before, 1.0f);
  EXPECT_EQ(inside, 1.0f);
  EXPECT_EQ(after, before);
}

#if defined(__SSE__) || defined(_M_X64)
TEST(ScopedFloatModeTest, KeepsDenormals) {
  const volatile float denormal = FLT_MIN / 4;
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);  // flush to zero, denormals are zero
  const float flushed = add(denormal, denormal);
  float kept = 0.0f;
  {
    const ScopedFloatMode mode;
    kept = add(denormal, denormal);
  }
  const float flushed_again = add(denormal, denormal);
  _mm_setcsr(saved);
  EXPECT_EQ(flushed, 0.0f);
  EXPECT_EQ(kept, FLT_MIN / 2);
  EXPECT_EQ(flushed_again, 0.0f);
}
#endif

}  // namespace
}  // namespace rill
