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

// Full, empty and mixed words; sizes that end inside one; both forms; sets of smaller and larger vocabularies.
TEST(CandidatesTest, KeepsWhatASetContains) {
  std::mt19937_64 random(2);
  for (const std::size_t size : {1u, 63u, 64u, 65u, 128u, 1000u}) {
    for (int round = 0; round < 20; ++round) {
      TokenSet set(size - std::min<std::size_t>(size, random() % 3) + random() % 130 * (random() % 2));
      for (std::size_t begin = 0; begin < size; begin += 64) {
        const std::array<std::uint64_t, 4> words = {~std::uint64_t{0}, 0, random(), random() | random()};
        const std::uint64_t word = words[random() % words.size()];
        for (std::size_t i = 0; i < 64; ++i) {
          if ((word >> i & 1) == 0) set.remove(static_cast<Token>(begin + i));
        }
      }
      const std::vector<float> logits = naive::random_logits(random, size, 2);
      Candidates dense = naive::candidates_of(logits), compact = dense;
      compact.keep_if([](std::size_t i) { return i % 3 != 0; });
      std::vector<Token> expected, expected_of_compact;
      for (std::size_t i = 0; i < size; ++i) {
        if (!set.contains(static_cast<Token>(i))) continue;
        expected.push_back(static_cast<Token>(i));
        if (i % 3 != 0) expected_of_compact.push_back(static_cast<Token>(i));
      }
      dense.keep(set);
      compact.keep(set);
      ASSERT_EQ(naive::ids_of(dense), expected);
      ASSERT_EQ(naive::ids_of(compact), expected_of_compact);
      for (const Candidates& candidates : {dense, compact}) {
        for (std::size_t i = 0; i < candidates.size(); ++i) {
          ASSERT_EQ(candidates.value(i), logits[static_cast<std::size_t>(candidates.id(i))]);
        }
      }
    }
  }
}

// A step leaves nothing for the next one.
TEST(CandidatesTest, IsDenseAgainWhenAssigned) {
  Candidates candidates;
  candidates.assign(std::array<Token, 2>{3, 7}, 10);
  candidates.assign_all(10);
  EXPECT_TRUE(candidates.dense());
  EXPECT_EQ(candidates.size(), 10u);
  EXPECT_EQ(candidates.id(1), 1);
  EXPECT_EQ(candidates.find(5), 5u);
  candidates.keep(std::array<std::size_t, 2>{4, 9});
  EXPECT_EQ(naive::ids_of(candidates), (std::vector<Token>{4, 9}));
}

}  // namespace
}  // namespace rill
