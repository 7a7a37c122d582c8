#include "rill/candidates.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "sampling/naive.h"
#include "rill/token_set.h"

namespace rill {
namespace {

TEST(TokenSetTest, StartsFullAndIgnoresIdsOutside) {
  for (const std::size_t size : {0u, 1u, 63u, 64u, 65u, 130u}) {
    TokenSet set(size);
    EXPECT_EQ(set.count(), size);
    EXPECT_FALSE(set.contains(-1));
    EXPECT_FALSE(set.contains(static_cast<Token>(size)));
    set.allow(static_cast<Token>(size));
    set.remove(-1);
    EXPECT_EQ(set.count(), size);
    set.clear();
    EXPECT_TRUE(set.empty());
  }
}

TEST(TokenSetTest, IntersectsWithSetsAndMasks) {
  TokenSet set(130);
  TokenSet few(130);
  few.clear();
  for (const Token token : {0, 64, 129}) few.allow(token);
  set.remove(64);
  set.intersect(few);
  std::vector<Token> seen;
  set.for_each([&](Token token) { seen.push_back(token); });
  EXPECT_EQ(seen, (std::vector<Token>{0, 129}));
  const std::array<std::uint64_t, 1> short_mask = {~std::uint64_t{0}};
  set.intersect(short_mask);
  EXPECT_EQ(set.count(), 1u);
}

TEST(CandidatesTest, BestAgreesWithAFullSort) {
  std::mt19937_64 random(1);
  for (const std::size_t size : {1u, 2u, 17u, 300u}) {
    std::vector<float> logits = naive::random_logits(random, size, 2);
    for (float& value : logits) value = std::round(value);  // many ties
    const Candidates candidates = naive::candidates_of(logits);
    const std::vector<Token> order = naive::ranked(logits);
    for (std::size_t count = 0; count <= size + 1; ++count) {
      const auto best = candidates.best(count);
      ASSERT_EQ(best.size(), std::min(count, size));
      for (std::size_t i = 0; i < best.size(); ++i) ASSERT_EQ(candidates.id(best[i]), order[i]) << size << " " << count;
    }
  }
}

TEST(CandidatesTest, BestPutsNanLastAndEqualsZeros) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::array<float, 5> logits = {kNan, -0.0f, 0.0f, -std::numeric_limits<float>::infinity(), -1};
  EXPECT_EQ(naive::candidates_of(logits).best(5), (std::vector<std::size_t>{1, 2, 4, 3, 0}));
}

TEST(CandidatesTest, FindsInBothFormsAndKeeps) {
  const std::array<float, 6> logits = {0, 1, 2, 3, 4, 5};
  Candidates candidates = naive::candidates_of(logits);
  EXPECT_TRUE(candidates.dense());
  EXPECT_EQ(candidates.find(5), 5u);
  EXPECT_EQ(candidates.find(6), std::nullopt);
  EXPECT_EQ(candidates.find(-1), std::nullopt);
  candidates.keep_if([&](std::size_t i) { return candidates.value(i) >= 2 && candidates.id(i) % 2 == 1; });
  EXPECT_FALSE(candidates.dense());
  EXPECT_EQ(naive::ids_of(candidates), (std::vector<Token>{3, 5}));
  EXPECT_EQ(candidates.find(5), 1u);
  EXPECT_EQ(candidates.find(4), std::nullopt);
  const std::array<std::size_t, 1> second = {1};
  candidates.keep(second);
  EXPECT_EQ(naive::ids_of(candidates), (std::vector<Token>{5}));
  EXPECT_EQ(candidates.value(0), 5.0f);
}

}  // namespace
}  // namespace rill
