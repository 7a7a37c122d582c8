#include "rill/kv_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "kv/sequence_cache.h"
#include "tensor/kv_layout.h"

namespace rill {
namespace {

using kv::LayerGroup;
using kv::PagePool;
using kv::SequenceCache;

constexpr std::uint64_t kKiB = 1024, kGiB = kKiB * kKiB * kKiB;
constexpr std::uint64_t kMost = saturating::kMost;

// Llama-3-8B's 8 KV heads, and what 32 (no grouping) would take.
constexpr KvShape kGrouped{.layers = 32, .kv_heads = 8, .head_dim = 128};
constexpr KvShape kUngrouped{.layers = 32, .kv_heads = 32, .head_dim = 128};
constexpr KvSequence k8K{.tokens = 8 * kKiB};

static_assert(kv_bytes_per_token(kGrouped, KvType::f16) == 131'072);
static_assert(kv_bytes_per_token(kUngrouped, KvType::f16) == 512 * kKiB);
static_assert(kv_bytes_per_token(kGrouped, KvType::f32) == 262'144);
static_assert(kv_bytes_per_token(kGrouped, KvType::q8_0) == 69'632);  // 65,536 values in blocks of 32, 34 bytes each
static_assert(kv_bytes(kGrouped, KvType::f16, k8K) == 1 * kGiB);
static_assert(kv_bytes(kUngrouped, KvType::f16, k8K) == 4 * kGiB);
static_assert(kv_bytes(kGrouped, KvType::f16, k8K, 32) == 32 * kGiB);
static_assert(kv_bytes(kGrouped, KvType::f16, {.tokens = 128 * kKiB}, 32) == 512 * kGiB);
static_assert(kv_bytes(kGrouped, KvType::f16, {.tokens = 1}) == 16 * 131'072, "a page is taken whole");
static_assert(kv_bytes(kGrouped, KvType::f16, {.tokens = 0}) == 0);
static_assert(kv_head_bytes(80, KvType::q8_0) == 3 * 34, "the last block is padded");

// The inverses.
static_assert(kv_sequences_guaranteed(kGrouped, KvType::f16, k8K, 32 * kGiB) == 32);
static_assert(kv_sequences_guaranteed(kGrouped, KvType::f16, k8K, 32 * kGiB - 1) == 31);
static_assert(kv_sequences_overcommitted(kGrouped, KvType::f16, k8K, 2 * kKiB, 32 * kGiB) == 128);
static_assert(kv_sequences_overcommitted(kGrouped, KvType::f16, k8K, 2 * kKiB, kGiB - 1) == 0, "none could end");
static_assert(kv_context(kGrouped, KvType::f16, {}, 32, 32 * kGiB) == 8 * kKiB);
static_assert(kv_context(kGrouped, KvType::f16, {}, 32, 32 * kGiB - 1) == 8 * kKiB - 16);
static_assert(kv_context(kGrouped, KvType::f16, {}, 32, 1) == 0);

// Gemma-3-270m: 15 of 18 layers see 512 tokens, so that a long context costs little more than its three global layers.
constexpr KvShape kSliding{.layers = 18, .kv_heads = 1, .head_dim = 256, .sliding_layers = 15, .sliding_window = 512};
static_assert(kv_bytes_per_token(kSliding, KvType::f16) == 18'432);
static_assert(kv_pages_held(kSliding, 32 * kKiB, 64).global == 2048);
static_assert(kv_pages_held(kSliding, 32 * kKiB, 64).sliding == 36);
static_assert(kv_pages_peak(kSliding, {.tokens = 32 * kKiB}).sliding == 53);  // 512 + 64 + 256 tokens touch 52 pages, or 53
static_assert(kv_bytes(kSliding, KvType::f16, {.tokens = 32 * kKiB}) == (2048 * 3 + 53 * 15) * 16 * kKiB);

// Absurd numbers stay at the greatest one; nothing wraps to a small one.
constexpr KvShape kAbsurd{kMost, kMost, kMost, kMost, kMost};
static_assert(kv_bytes_per_token(kAbsurd, KvType::q8_0) == kMost);
static_assert(kv_bytes(kAbsurd, KvType::f32, {kMost, kMost, kMost}, kMost) == kMost);
static_assert(kv_bytes(kGrouped, KvType::f16, {.tokens = kMost}) == kMost);
static_assert(kv_bytes(kSliding, KvType::f16, {kMost, kMost, kMost}, 2) == kMost);
static_assert(kv_bytes({.layers = 1, .sliding_layers = 2, .sliding_window = 16}, KvType::f16, k8K) == 0);
static_assert(kv_pages_peak({.tokens = kMost, .feed_tokens = kMost, .rollback_reserve = kMost}, 1) == kMost / 16 + 1);
static_assert(kv_pages_held(kMost, kMost, kMost) == kMost / 16 + 1);
static_assert(kv_sequences_guaranteed(kGrouped, KvType::f16, {.tokens = 0}, 0) == kMost);
static_assert(kv_sequences_guaranteed(kGrouped, KvType::f16, {.tokens = kMost}, kMost) == 0);
static_assert(kv_context(kGrouped, KvType::f16, {}, kMost, kMost) == 0);
static_assert(kv_context(kGrouped, KvType::f16, {}, 0, 0) == kMost);

TEST(KvPlanTest, APageHoldsSixteenTokens) {
  for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0}) {
    const KvLayout layout{type, kGrouped.kv_heads, kGrouped.head_dim};
    EXPECT_EQ(kGrouped.layers * layout.layer_bytes(), 16 * kv_bytes_per_token(kGrouped, type));
    EXPECT_EQ(layout.v_offset(0), layout.head_bytes()) << "values follow the keys of their head";
    EXPECT_EQ(layout.v_offset(7), layout.layer_bytes() - layout.head_bytes());
  }
}

// One step of a sequence in a real pool: what it held at the worst moment of it.
std::uint64_t step(SequenceCache& cache, std::uint64_t tokens) {
  const std::uint64_t end = cache.length() + tokens;
  EXPECT_TRUE(cache.extend_to(end));
  const std::uint64_t worst = cache.bytes_held();
  cache.commit(end);
  return worst;
}

struct Mix {
  KvShape shape;
  KvType type;
  KvSequence sequence;
  std::shared_ptr<PagePool> pool;

  SequenceCache begin() const { return SequenceCache(pool, sequence.rollback_reserve); }
};

Mix random_mix(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  Mix mix;
  mix.shape = {.layers = 1 + below(4), .kv_heads = 1 + below(3), .head_dim = 32 * (1 + below(2))};
  mix.shape.sliding_layers = below(mix.shape.layers + 1);
  mix.shape.sliding_window = mix.shape.sliding_layers == 0 ? 0 : 1 + below(100);
  mix.type = static_cast<KvType>(below(3));
  mix.sequence = {.tokens = 1 + below(400), .feed_tokens = 1 + below(90), .rollback_reserve = below(80)};
  std::vector<LayerGroup> groups;
  for (std::uint64_t layer = 0; layer < mix.shape.layers; ++layer) {
    const std::uint64_t window = layer < mix.shape.sliding_layers ? mix.shape.sliding_window : 0;
    groups.push_back({1, window, {mix.type, mix.shape.kv_heads, mix.shape.head_dim}});
  }
  mix.pool = PagePool::create(std::move(groups), 1 << 30).value();
  return mix;
}

TEST(KvPlanTest, PlansWhatARealCacheHolds) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const Mix mix = random_mix(random);
    const KvSequence& sequence = mix.sequence;
    const std::uint64_t peak = kv_bytes(mix.shape, mix.type, sequence);
    SequenceCache cache = mix.begin();
    while (cache.length() < sequence.tokens) {
      const std::uint64_t most = std::min(sequence.feed_tokens, sequence.tokens - cache.length());
      ASSERT_LE(step(cache, 1 + random() % most), peak);
      const KvPages held = kv_pages_held(mix.shape, cache.length(), sequence.rollback_reserve);
      ASSERT_EQ(kv_bytes(mix.shape, mix.type, held), cache.bytes_held()) << "after " << cache.length() << " tokens";
    }
  }
}

TEST(KvPlanTest, ThePeakIsReached) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 100; ++round) {
    Mix mix = random_mix(random);
    mix.sequence.tokens += 400;  // so that the window passes
    const std::uint64_t peak = kv_bytes(mix.shape, mix.type, mix.sequence);
    std::uint64_t worst = 0;
    for (std::uint64_t offset = 0; offset < 16 && worst < peak; ++offset) {  // wherever in a page the last step begins
      SequenceCache cache = mix.begin();
      const std::uint64_t before = mix.sequence.tokens - mix.sequence.feed_tokens - offset;
      while (cache.length() < before) worst = std::max(worst, step(cache, 1));
      worst = std::max(worst, step(cache, mix.sequence.feed_tokens));
      while (cache.length() < mix.sequence.tokens) worst = std::max(worst, step(cache, 1));
    }
    EXPECT_EQ(worst, peak);
  }
}

TEST(KvPlanTest, TheInversesAreTheLargestThatFit) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t sliding = random() % 5;
    const KvShape shape{5, 1 + random() % 8, 32 * (1 + random() % 8), sliding, sliding == 0 ? 0 : 1 + random() % 2000};
    const auto type = static_cast<KvType>(random() % 3);
    KvSequence sequence{.tokens = 1 + random() % 100'000};
    const std::uint64_t budget = random() >> random() % 64, average = random() % 100'000;

    const std::uint64_t count = kv_sequences_guaranteed(shape, type, sequence, budget);
    EXPECT_LE(kv_bytes(shape, type, sequence, count), budget);
    EXPECT_GT(kv_bytes(shape, type, sequence, count + 1), budget);
    EXPECT_GE(kv_sequences_overcommitted(shape, type, sequence, average, budget), count);

    sequence.tokens = kv_context(shape, type, sequence, 3, budget);
    EXPECT_LE(kv_bytes(shape, type, sequence, 3), budget);
    if (sequence.tokens == kMost) continue;
    ++sequence.tokens;
    EXPECT_GT(kv_bytes(shape, type, sequence, 3), budget);
  }
}

}  // namespace
}  // namespace rill
