#include "rill/kv_plan.h"

#include <gtest/gtest.h>

#include "tensor/kv_layout.h"

namespace rill {
namespace {

constexpr std::uint64_t kKiB = 1024, kGiB = kKiB * kKiB * kKiB;

// Llama-3-8B's 8 KV heads, and what 32 (no grouping) would take.
constexpr KvShape kGrouped{.layers = 32, .kv_heads = 8, .head_dim = 128};
constexpr KvShape kUngrouped{.layers = 32, .kv_heads = 32, .head_dim = 128};

static_assert(kv_bytes_per_token(kGrouped, KvType::f16) == 131'072);
static_assert(kv_bytes_per_token(kGrouped, KvType::f16) * 8 * kKiB == 1 * kGiB);
static_assert(kv_bytes_per_token(kUngrouped, KvType::f16) == 512 * kKiB);
static_assert(kv_bytes_per_token(kUngrouped, KvType::f16) * 8 * kKiB == 4 * kGiB);
static_assert(kv_bytes_per_token(kGrouped, KvType::f16) * 8 * kKiB * 32 == 32 * kGiB);
static_assert(kv_bytes_per_token(kGrouped, KvType::f16) * 128 * kKiB * 32 == 512 * kGiB);
static_assert(kv_bytes_per_token(kGrouped, KvType::f32) == 262'144);
static_assert(kv_bytes_per_token(kGrouped, KvType::q8_0) == 69'632);  // 65,536 values in blocks of 32, 34 bytes each

TEST(KvPlanTest, APageHoldsSixteenTokens) {
  for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0}) {
    const KvLayout layout{type, kGrouped.kv_heads, kGrouped.head_dim};
    EXPECT_EQ(kGrouped.layers * layout.layer_bytes(), 16 * kv_bytes_per_token(kGrouped, type));
    EXPECT_EQ(layout.v_offset(0), layout.k_offset(8)) << "values follow the keys of the last head";
    EXPECT_EQ(layout.v_offset(8), layout.layer_bytes());
  }
}

}  // namespace
}  // namespace rill
