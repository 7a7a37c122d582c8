// What a plan says of a model, from its file and when it is loaded; and its inverses.
#include "rill/memory_plan.h"

#include <gtest/gtest.h>

#include "model/forward.h"
#include "model/loaded_model.h"
#include "rill/rill.h"
#include "support/real_models.h"
#include "support/scripted.h"
#include "support/tiny_model.h"

namespace rill {
namespace {

using test::code_of;

constexpr std::uint64_t kMiB = 1 << 20, kGiB = 1 << 30, kMost = saturating::kMost;

// In round numbers; KV of 128 KiB a token.
constexpr ModelMemory kModel{.weights = 5 * kGiB,
                             .tokenizer = 16 * kMiB,
                             .loading = 50 * kMiB,
                             .scratch = kMiB,
                             .scratch_per_row = kMiB / 4,
                             .session_rows = 32,
                             .logits = kMiB,
                             .context_length = 131'072,
                             .kv = {.layers = 32, .kv_heads = 8, .head_dim = 128}};
constexpr MemoryNeeds kNeeds{.context_tokens = 8192, .average_tokens = 2048, .sequences = 4, .sessions = false};

constexpr MemoryPlan kPlan = plan_memory(kModel, kNeeds);
static_assert(kPlan.weights == 5 * kGiB && kPlan.tokenizer == 16 * kMiB && kPlan.loading == 50 * kMiB);
static_assert(kPlan.scratch == (1 + 32 / 4 + 1 + (256 + 4) / 4) * kMiB);
static_assert(kPlan.sampling == (2 * 4 + 4) * kMiB);
static_assert(kPlan.kv_peak == 4 * kGiB + 4 * 2 * kMiB && kPlan.kv_average == 1 * kGiB);  // a page of 2 MiB to spare for each
static_assert(kPlan.peak() == 9 * kGiB + (16 + 75 + 12 + 8) * kMiB);
static_assert(kPlan.average() == 6 * kGiB + (16 + 75 + 12) * kMiB);

// What loading takes is gone before sequences come: the larger of the two counts.
static_assert(plan_memory(kModel, {.context_tokens = 16, .prefill_chunk = 16}).peak() == 5 * kGiB + (16 + 50) * kMiB);
// Sessions have scratch memory of their own; a chunk that fits it needs no other.
static_assert(plan_memory(kModel, {.sequences = 3}).scratch == (3 * 9 + 65) * kMiB);
static_assert(plan_memory(kModel, {.sequences = 3, .prefill_chunk = 32}).scratch == 3 * 9 * kMiB);
// Left out: the model's context, and half of it on average.
static_assert(plan_memory(kModel, {}).kv_peak == 16 * kGiB);
static_assert(plan_memory(kModel, {}).kv_average == 8 * kGiB);

// 32 GiB hold 26 sequences of 8,192 tokens for sure (1 GiB and some MiB each), and 106 that have 2,048 of them on average.
static_assert(sequences_guaranteed(kModel, kNeeds, 32 * kGiB) == 26);
static_assert(sequences_overcommitted(kModel, kNeeds, 32 * kGiB) == 106);
static_assert(context_guaranteed(kModel, kNeeds, 32 * kGiB) == 55'072);
static_assert(context_guaranteed(kModel, {.sequences = 1}, 32 * kGiB) == 131'072, "the model's own limit");

// Budgets that hold nothing, and needs that nothing holds.
static_assert(sequences_guaranteed(kModel, kNeeds, 0) == 0);
static_assert(sequences_guaranteed(kModel, kNeeds, 5 * kGiB) == 0);
static_assert(sequences_overcommitted(kModel, kNeeds, 6 * kGiB) == 0, "no sequence could come to its end");
static_assert(context_guaranteed(kModel, kNeeds, 5 * kGiB) == 0);
constexpr MemoryNeeds kAbsurd{kMost, kMost, kMost, KvType::f32, kMost, kMost, true};
static_assert(plan_memory(kModel, kAbsurd).peak() == kMost && plan_memory(kModel, kAbsurd).average() == kMost);
static_assert(sequences_guaranteed(kModel, kAbsurd, kMost) == 0);
static_assert(context_guaranteed(kModel, {.sequences = kMost}, kMost) == 0);

void expect_same(const ModelMemory& file, const ModelMemory& loaded) {
  EXPECT_EQ(file.weights, loaded.weights);
  EXPECT_EQ(file.tokenizer, loaded.tokenizer);
  EXPECT_EQ(file.scratch, loaded.scratch);
  EXPECT_EQ(file.scratch_per_row, loaded.scratch_per_row);
  EXPECT_EQ(file.logits, loaded.logits);
  EXPECT_EQ(file.context_length, loaded.context_length);
  EXPECT_EQ(file.kv.layers, loaded.kv.layers);
  EXPECT_EQ(file.kv.sliding_layers, loaded.kv.sliding_layers);
  EXPECT_EQ(file.kv.sliding_window, loaded.kv.sliding_window);
  EXPECT_GT(file.loading, 0u);
  EXPECT_EQ(loaded.loading, 0u);
}

class OfModel : public testing::TestWithParam<const char*> {
 protected:
  OfModel() {
    test::TinyModelOptions options = test::tiny_options(GetParam(), ElementType::q4_0);
    options.tied_head = false;
    source_ = own_buffer(test::make_tiny_model(options)).value();
    model_ = Model::load(source_, {.threads = 3}).value();
  }

  ByteSourcePtr source_;
  std::shared_ptr<const Model> model_;
};

TEST_P(OfModel, TheFileSaysWhatTheLoadedModelTakes) {
  expect_same(model_memory(source_, 3).value(), model_memory(*model_));
  EXPECT_EQ(model_memory(*model_).weights, model_->info().weight_bytes);
}

TEST_P(OfModel, ScratchMemoryIsThatOfTheForwardPass) {
  const ModelMemory memory = model_memory(*model_);
  for (const std::size_t rows : {1u, 32u, 33u, 256u, 1000u}) {
    const std::size_t exact = model::Forward::scratch_bytes(model_->loaded().config, 3, rows);
    const std::uint64_t planned = memory.scratch + rows * memory.scratch_per_row;
    EXPECT_NEAR(static_cast<double>(planned), static_cast<double>(exact), 1024 + 0.01 * static_cast<double>(exact));
  }
}

TEST_P(OfModel, KeysAndValuesAreThoseOfASession) {
  for (const KvType type : {KvType::f32, KvType::f16}) {
    const MemoryNeeds needs{.context_tokens = 150, .kv_type = type, .prefill_chunk = 40, .rollback_reserve = 5};
    const MemoryPlan plan = plan_memory(model_memory(*model_), needs);
    Session session =
        Session::create(model_, {.context_tokens = 150, .kv_type = type, .prefill_chunk = 40, .rollback_reserve = 5})
            .value();
    std::uint64_t most = 0;
    for (std::size_t length = 0; length < 150; length = session.length()) {
      const std::vector<Token> tokens(length < 100 ? 25 : 1, 100);
      ASSERT_TRUE(session.feed(tokens));
      most = std::max(most, session.kv_bytes());
      if (session.length() == 75) {
        EXPECT_EQ(session.kv_bytes(), plan.kv_average);
      }
    }
    EXPECT_LE(most, plan.kv_peak);
    if (model_->info().sliding_layers == 0) {
      EXPECT_EQ(most, plan.kv_peak);
    }
  }
}

TEST_P(OfModel, WhatCannotBeLoadedCannotBePlanned) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(source_->size()));
  ASSERT_TRUE(source_->read(0, bytes));
  bytes.resize(bytes.size() / 2);
  EXPECT_EQ(code_of(model_memory(own_buffer(bytes).value())), ErrorCode::file_truncated);
  EXPECT_EQ(code_of(model_memory(ByteSourcePtr())), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(model_memory(source_, -1)), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(model_memory("no such file.gguf")), ErrorCode::not_found);
}

INSTANTIATE_TEST_SUITE_P(Architectures, OfModel, testing::Values("llama", "gemma3"));

TEST(MemoryPlanTest, PlansSmolLM2) {
  RILL_REQUIRE_MODEL(path, "SmolLM2-135M-Instruct.Q4_1.gguf");
  expect_same(model_memory(path, 2).value(), model_memory(*Model::load(path, {.threads = 2}).value()));
}

TEST(MemoryPlanTest, PlansGemma) {
  RILL_REQUIRE_MODEL(path, "gemma-3-270m-q4_k_m.gguf");
  expect_same(model_memory(path, 2).value(), model_memory(*Model::load(path, {.threads = 2}).value()));
}

}  // namespace
}  // namespace rill
