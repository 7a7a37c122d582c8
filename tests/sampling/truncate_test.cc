// Truncations against their definitions over random logits, and what no form of the candidates may change.
#include "sampling/truncate.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

#include "sampling/naive.h"
#include "sampling/softmax.h"

namespace rill::sampling {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
using Apply = std::function<Result<void>(Candidates&)>;

std::vector<Token> kept(std::span<const float> logits, const Apply& apply) {
  Candidates candidates = naive::candidates_of(logits);
  apply(candidates).value();
  return naive::ids_of(candidates);
}

TEST(TruncateTest, AgreesWithTheDefinitions) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t size = 1 + random() % 700;
    const std::vector<float> logits = naive::random_logits(random, size, 0.3f + static_cast<float>(random() % 50) / 10);
    const int k = 1 + static_cast<int>(random() % (size + 2));
    const float p = static_cast<float>(1 + random() % 999) / 1000;
    SCOPED_TRACE(testing::Message() << "round " << round << " size " << size << " k " << k << " p " << p);
    ASSERT_EQ(kept(logits, [&](Candidates& c) { return keep_top_k(c, k); }),
              naive::top_k(logits, static_cast<std::size_t>(k)));
    ASSERT_EQ(kept(logits, [&](Candidates& c) { return keep_top_p(c, p); }), naive::top_p(logits, p));
    ASSERT_EQ(kept(logits, [&](Candidates& c) { return keep_min_p(c, p); }), naive::min_p(logits, p));
    ASSERT_EQ(kept(logits, [&](Candidates& c) { return keep_typical(c, p); }), naive::typical(logits, p));
    ASSERT_EQ(kept(logits, [&](Candidates& c) { return keep_top_n_sigma(c, p * 3); }),
              naive::top_n_sigma(logits, static_cast<double>(p * 3)));
    ASSERT_EQ(kept(logits, [&](Candidates& c) { return exclude_top_choices(c, p / 2); }),
              naive::xtc(logits, static_cast<double>(p / 2)));
  }
}

TEST(TruncateTest, TiesGoToTheLowerId) {
  const std::vector<float> equal(100, 1.5f);
  const std::vector<Token> ten = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(kept(equal, [](Candidates& c) { return keep_top_k(c, 10); }), ten);
  EXPECT_EQ(kept(equal, [](Candidates& c) { return keep_top_p(c, 0.0999f); }), ten);
  EXPECT_EQ(kept(equal, [](Candidates& c) { return keep_typical(c, 0.0999f); }), ten);
  EXPECT_EQ(kept(equal, [](Candidates& c) { return keep_min_p(c, 1.0f); }).size(), 100u);
  EXPECT_EQ(kept(equal, [](Candidates& c) { return exclude_top_choices(c, 0.01f); }), std::vector<Token>{99});
}

const std::vector<std::pair<const char*, Apply>>& all_steps() {
  static const std::vector<std::pair<const char*, Apply>> steps = {
      {"temperature", [](Candidates& c) { return apply_temperature(c, 0.7f); }},
      {"top_k", [](Candidates& c) { return keep_top_k(c, 20); }},
      {"top_p", [](Candidates& c) { return keep_top_p(c, 0.9f); }},
      {"min_p", [](Candidates& c) { return keep_min_p(c, 0.05f); }},
      {"typical", [](Candidates& c) { return keep_typical(c, 0.9f); }},
      {"top_n_sigma", [](Candidates& c) { return keep_top_n_sigma(c, 1.0f); }},
      {"xtc", [](Candidates& c) { return exclude_top_choices(c, 0.05f); }},
  };
  return steps;
}

// A masked token may be absent or -inf: the same candidates, the same bits, the same draws.
TEST(TruncateTest, AbsentAndMinusInfinityAreTheSame) {
  std::mt19937_64 random(11);
  for (const auto& [name, apply] : all_steps()) {
    for (int round = 0; round < 20; ++round) {
      SCOPED_TRACE(testing::Message() << name << " round " << round);
      std::vector<float> logits = naive::random_logits(random, 1000, 2);
      for (float& value : logits) {
        if (random() % 3 == 0) value = -kInf;
      }
      Candidates dense = naive::candidates_of(logits);
      Candidates compact = naive::candidates_of(logits);
      compact.keep_if([&](std::size_t i) { return logits[i] != -kInf; });
      apply(dense).value();
      apply(compact).value();
      const Softmax of_dense = Softmax::of(dense).value();
      const Softmax of_compact = Softmax::of(compact).value();
      ASSERT_EQ(of_dense.total(), of_compact.total());
      for (std::size_t i = 0; i < dense.size(); ++i) {
        const auto same = compact.find(dense.id(i));
        if (!same) {
          ASSERT_EQ(dense.value(i), -kInf);
          continue;
        }
        ASSERT_EQ(std::bit_cast<std::uint32_t>(dense.value(i)), std::bit_cast<std::uint32_t>(compact.value(*same)));
      }
      for (int draw = 0; draw < 50; ++draw) {
        const std::uint64_t bits = random();
        ASSERT_EQ(dense.id(of_dense.pick(bits)), compact.id(of_compact.pick(bits)));
      }
    }
  }
}

TEST(TruncateTest, DegenerateLogits) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [name, apply] : all_steps()) {
    SCOPED_TRACE(name);
    for (const auto& bad : {std::vector<float>{}, std::vector<float>{kNan, 1, 2}, std::vector<float>(30, -kInf)}) {
      Candidates candidates = naive::candidates_of(bad);
      if (bad.size() <= 20 && std::string_view(name) == "top_k") continue;  // nothing to cut, so nothing is looked at
      const auto applied = apply(candidates);
      ASSERT_FALSE(applied);
      EXPECT_EQ(applied.error().code, ErrorCode::degenerate_logits);
    }
    std::vector<float> certain(30, 1.0f);
    certain[5] = certain[9] = kInf;
    Candidates candidates = naive::candidates_of(certain);
    ASSERT_TRUE(apply(candidates));
    EXPECT_EQ(naive::ids_of(candidates), std::vector<Token>{5});
  }
}

TEST(TruncateTest, ExtremeTemperaturesKeepTheOrder) {
  for (const float sign : {1.0f, -1.0f}) {
    const std::array<float, 3> logits = {1 * sign, 2 * sign, 2.5f * sign};
    const std::size_t best = sign > 0 ? 2 : 0;
    for (const float temperature : {1e-45f, 1e-38f, 1e-3f, 1e38f}) {
      Candidates candidates = naive::candidates_of(logits);
      apply_temperature(candidates, temperature).value();
      EXPECT_EQ(find_peak(candidates).value().index, best) << temperature;
    }
  }
}

TEST(SoftmaxTest, ProbabilitiesAndTotals) {
  std::mt19937_64 random(3);
  for (const std::size_t size : {1u, 15u, 16u, 255u, 256u, 257u, 5000u}) {
    const std::vector<float> logits = naive::random_logits(random, size, 3);
    Candidates candidates = naive::candidates_of(logits);
    const Softmax softmax = Softmax::of(candidates).value();
    const std::vector<double> exact = naive::softmax(logits);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < size; ++i) {
      total += softmax.weight(i);
      const double p = static_cast<double>(softmax.weight(i)) / static_cast<double>(softmax.total());
      EXPECT_NEAR(p, exact[i], 1.2e-6 * exact[i] + 1e-12);
      EXPECT_NEAR(softmax.log_probability(i), std::log(exact[i]), 1e-6);
    }
    EXPECT_EQ(total, softmax.total());
  }
}

// Every number lands on the candidate whose stretch of [0, total) it falls in.
TEST(SoftmaxTest, PickWalksInOrderOfId) {
  const std::array<float, 4> logits = {0, -kInf, 0, 0};
  Candidates candidates = naive::candidates_of(logits);
  const Softmax softmax = Softmax::of(candidates).value();
  const std::uint64_t third = ~std::uint64_t{0} / 3;
  EXPECT_EQ(softmax.pick(0), 0u);
  EXPECT_EQ(softmax.pick(third - (1u << 26)), 0u);
  EXPECT_EQ(softmax.pick(third + (1u << 26)), 2u);
  EXPECT_EQ(softmax.pick(2 * third + (1u << 26)), 3u);
  EXPECT_EQ(softmax.pick(~std::uint64_t{0}), 3u);
}

}  // namespace
}  // namespace rill::sampling
