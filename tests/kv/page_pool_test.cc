#include "kv/page_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace rill::kv {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// `layers` layers of 128 KiB a page.
LayerGroup group_of(std::size_t layers, std::uint64_t window = 0) {
  return {.layers = layers, .window = window, .layout = {.type = KvType::f32, .kv_heads = 8, .head_dim = 128}};
}

std::vector<Page*> acquire(PagePool& pool, std::size_t group, std::size_t count) {
  std::vector<Page*> pages;
  for (std::size_t i = 0; i < count; ++i) pages.push_back(pool.acquire(group).value());
  return pages;
}

TEST(PagePoolTest, RefusesGroupsWithoutBytes) {
  const auto code = [](std::vector<LayerGroup> groups) { return PagePool::create(std::move(groups), kMiB).error().code; };
  EXPECT_EQ(code({}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({group_of(0)}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({{.layers = 1, .layout = {.type = KvType::q8_0, .kv_heads = 1, .head_dim = 48}}}), ErrorCode::invalid_argument);
}

TEST(PagePoolTest, PagesAreApartAndAligned) {
  const auto pool = PagePool::create({group_of(1), group_of(3)}, 16 * kMiB).value();
  std::set<std::byte*> begins;
  for (std::size_t group : {0u, 1u}) {
    for (Page* page : acquire(*pool, group, 20)) {
      const KvLayout& layout = pool->groups()[group].layout;
      for (std::size_t head = 0; head < pool->groups()[group].layers * 2 * layout.kv_heads; ++head) {
        std::byte* const bytes = page->base + head * layout.stride();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 64, 0u);
        std::memset(bytes, 1, layout.head_bytes());  // a sanitizer would see a slab that is too short
        const auto next = begins.lower_bound(bytes);
        EXPECT_TRUE(next == begins.end() || bytes + layout.head_bytes() <= *next);
        EXPECT_TRUE(next == begins.begin() || *std::prev(next) + layout.head_bytes() <= bytes || layout.head_bytes() == 0);
        begins.insert(bytes);
      }
      pool->retain(*page);
      pool->release(*page);  // one reference remains
    }
  }
  EXPECT_EQ(pool->stats().used_pages, (std::vector<std::size_t>{20, 20}));
}

TEST(PagePoolTest, TheBudgetIsExact) {
  const auto pool = PagePool::create({group_of(8)}, 10 * kMiB + kMiB / 2).value();
  const std::vector<Page*> pages = acquire(*pool, 0, 10);
  const auto refused = pool->acquire(0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
  EXPECT_NE(refused.error().message.find(std::to_string(10 * kMiB)), std::string::npos) << refused.error().message;
  EXPECT_LE(pool->stats().held_bytes, pool->stats().budget_bytes);

  pool->release(*pages[3]);
  EXPECT_EQ(pool->acquire(0).value(), pages[3]) << "memory is used again";
  pool->grow_budget(kMiB / 2);
  EXPECT_TRUE(pool->acquire(0));
  pool->shrink_budget(11 * kMiB);
  EXPECT_FALSE(pool->acquire(0));
  EXPECT_EQ(pool->stats().used_bytes, 11 * kMiB);
}

TEST(PagePoolTest, ReferencesKeepAPage) {
  const auto pool = PagePool::create({group_of(1)}, kMiB).value();
  Page* const page = pool->acquire(0).value();
  EXPECT_FALSE(page->shared());
  pool->retain(*page);
  EXPECT_TRUE(page->shared());
  pool->release(*page);
  EXPECT_FALSE(page->shared());
  EXPECT_EQ(pool->stats().used_bytes, kMiB / 8);
  pool->release(*page);
  EXPECT_EQ(pool->stats().used_bytes, 0u);
  EXPECT_EQ(pool->stats().free_pages[0] * kMiB / 8, pool->stats().held_bytes);
}

TEST(PagePoolTest, FreeMemoryOfOneGroupMakesRoomForAnother) {
  const auto pool = PagePool::create({group_of(8), group_of(16)}, 32 * kMiB).value();
  for (Page* page : acquire(*pool, 0, 32)) pool->release(*page);
  EXPECT_EQ(acquire(*pool, 1, 16).size(), 16u);
  EXPECT_LE(pool->stats().held_bytes, 32 * kMiB);
}

// A used page in every slab keeps the slabs, but must not refuse what the budget allows.
TEST(PagePoolTest, ScatteredPagesDoNotCutTheBudget) {
  const auto pool = PagePool::create({group_of(8), group_of(16)}, 32 * kMiB).value();
  const std::vector<Page*> pages = acquire(*pool, 0, 32);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (i % 8 != 0) pool->release(*pages[i]);
  }
  EXPECT_EQ(acquire(*pool, 1, 14).size(), 14u);
  EXPECT_EQ(pool->stats().used_bytes, 32 * kMiB);
  EXPECT_FALSE(pool->acquire(0));
}

}  // namespace
}  // namespace rill::kv
