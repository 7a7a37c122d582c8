// How a pass is filled, with a cost model that is written down.
#include "schedule/step_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "schedule/cost_model.h"

namespace rill::schedule {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// 1 ms, 100 us for each row, 1 us for each token attended.
Duration written_down(const PassShape& pass) {
  return milliseconds(1) + microseconds(100) * (pass.decode_rows + pass.prefill_rows) + microseconds(1) * pass.attended;
}

using Counts = std::vector<std::size_t>;

TEST(StepPlan, WithoutABudgetOnlyTheRowsBound) {
  const std::vector<PendingPrompt> prompts = {{0, 100}, {32, 100}, {0, 100}};
  EXPECT_EQ(plan_prefill({}, prompts, 256, std::nullopt, written_down), (Counts{100, 100, 56}));
  EXPECT_EQ(plan_prefill({8, 0, 8, 400}, prompts, 120, std::nullopt, written_down), (Counts{100, 20, 0}));
}

TEST(StepPlan, DecodesLeaveWhatFitsInWholeTiles) {
  const std::vector<PendingPrompt> prompts = {{0, 1000}};
  for (const int budget : {2, 3, 5, 9, 20, 100, 1000}) {
    const PassShape decodes{8, 0, 8, 100};
    const std::size_t count = plan_prefill(decodes, prompts, 256, milliseconds(budget), written_down)[0];
    EXPECT_EQ(count % kLeastPrefill, 0u);
    EXPECT_GE(count, kLeastPrefill);
    if (count > kLeastPrefill) {
      EXPECT_LE(written_down(with_prefill(decodes, prompts[0], count)), milliseconds(budget));
    }
    if (count < 256) {
      EXPECT_GT(written_down(with_prefill(decodes, prompts[0], count + kLeastPrefill)), milliseconds(budget));
    }
  }
}

TEST(StepPlan, NobodyWaitsForAPassWithoutDecodes) {
  EXPECT_EQ(plan_prefill({}, std::vector<PendingPrompt>{{0, 1000}}, 256, milliseconds(1), written_down), Counts{256});
}

TEST(StepPlan, OnlyTheFirstPromptHasAClaim) {
  const std::vector<PendingPrompt> prompts = {{0, 5}, {0, 1000}};
  EXPECT_EQ(plan_prefill({8, 0, 8, 100}, prompts, 256, milliseconds(1), written_down), (Counts{5, 0}));
}

TEST(StepPlan, APromptThatEndsNeedsLogits) {
  EXPECT_EQ(with_prefill({1, 0, 1, 5}, {3, 4}, 4).head_rows, 2u);
  EXPECT_EQ(with_prefill({1, 0, 1, 5}, {3, 4}, 3).head_rows, 1u);
  EXPECT_EQ(with_prefill({1, 0, 1, 5}, {3, 4}, 3).attended, 5u + 4 + 5 + 6);
}

TEST(CostModel, FindsTheFactors) {
  CostModel model;
  EXPECT_EQ(model.predict({1, 2, 3, 4}), Duration::zero());
  const auto truth = [](const PassShape& pass) {
    return Duration(2'000'000 + 300'000 * (pass.decode_rows + pass.prefill_rows) + 50'000 * pass.head_rows + 40 * pass.attended);
  };
  std::mt19937 random(7);
  const auto any = [&] { return PassShape{random() % 32, random() % 256, 1 + random() % 32, random() % 50000}; };
  for (int i = 0; i < 60; ++i) {
    const PassShape pass = any();
    model.observe(pass, truth(pass));
  }
  for (int i = 0; i < 20; ++i) {
    const PassShape pass = any();
    const double share = static_cast<double>(model.predict(pass).count()) / static_cast<double>(truth(pass).count());
    EXPECT_NEAR(share, 1.0, 0.02);
  }
}

// Where passes get shorter by being longer, as noise may have it, the prediction still never does.
TEST(CostModel, NoTermIsNegative) {
  CostModel model;
  for (std::size_t rows = 1; rows < 20; ++rows) model.observe({rows, 0, 1, rows}, milliseconds(40 - rows));
  EXPECT_LE(model.predict({1, 0, 1, 1}), model.predict({30, 0, 1, 30}));
  EXPECT_GT(model.predict({1, 0, 1, 1}), Duration::zero());
}

}  // namespace
}  // namespace rill::schedule
