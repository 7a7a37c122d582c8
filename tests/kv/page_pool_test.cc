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

class PagePoolTest : public testing::Test {
 protected:
  std::vector<Page*> acquire(PagePool& pool, std::size_t group, std::size_t count) {
    std::vector<Page*> pages;
    for (std::size_t i = 0; i < count; ++i)
      pages.push_back(pool.acquire(group, pages.empty() ? nullptr : pages.back(), none_).value());
    return pages;
  }
  void release(PagePool& pool, Page* page) { pool.release({&page, 1}, Holder::sequence, none_); }

  Reservation none_;
};

TEST_F(PagePoolTest, RefusesGroupsWithoutBytes) {
  const auto code = [](std::vector<LayerGroup> groups) { return PagePool::create(std::move(groups), kMiB).error().code; };
  EXPECT_EQ(code({}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({group_of(0)}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({{.layers = 1, .layout = {.type = KvType::q8_0, .kv_heads = 1, .head_dim = 48}}}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({group_of(1), group_of(2)}), ErrorCode::invalid_argument) << "pages of two sizes";
  EXPECT_EQ(code({group_of(9)}), ErrorCode::invalid_argument) << "no room for one page";
}

TEST_F(PagePoolTest, PagesAreApartAndAligned) {
  const auto pool = PagePool::create({group_of(3), group_of(3)}, 16 * kMiB).value();
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
        EXPECT_TRUE(next == begins.begin() || *std::prev(next) + layout.head_bytes() <= bytes);
        begins.insert(bytes);
      }
    }
  }
  EXPECT_EQ(pool->stats().used, 40u);
}

TEST_F(PagePoolTest, TheBudgetIsExact) {
  const auto pool = PagePool::create({group_of(8)}, 10 * kMiB + kMiB / 2).value();
  const std::vector<Page*> pages = acquire(*pool, 0, 10);
  const auto refused = pool->acquire(0, nullptr, none_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
  EXPECT_NE(refused.error().message.find("10 are in use"), std::string::npos) << refused.error().message;
  EXPECT_LE(pool->stats().held_bytes, pool->stats().budget_bytes);
  release(*pool, pages[3]);
  EXPECT_EQ(pool->acquire(0, nullptr, none_).value(), pages[3]) << "memory is used again";
}

// Whatever the budget, all pages for which it has room can be had, in memory of their own.
TEST_F(PagePoolTest, NoPageOfABudgetIsLost) {
  for (const std::size_t layers : {1u, 24u}) {
    const LayerGroup group{.layers = layers, .layout = {.type = KvType::f32, .kv_heads = 2, .head_dim = 64}};
    for (std::size_t count = 1; count < 150; ++count) {
      const auto pool = PagePool::create({group}, (count + 1) * group.page_bytes() - 1).value();
      const std::vector<Page*> pages = acquire(*pool, 0, count);
      ASSERT_FALSE(pool->acquire(0, nullptr, none_)) << count;
      ASSERT_EQ(pool->stats().held_bytes, count * group.page_bytes());
      for (std::size_t i = 0; i < count; ++i) std::memset(pages[i]->base, static_cast<int>(i), group.layout.head_bytes());
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(*pages[i]->base, static_cast<std::byte>(i));
    }
  }
}

TEST_F(PagePoolTest, MemoryIsPreparedWhereItIsNeededNext) {
  const LayerGroup group = group_of(8);
  const auto pool = PagePool::create({group}, 200 * group.page_bytes()).value();
  const auto held = [&] { return pool->stats().held_bytes / group.page_bytes(); };
  pool->prepare_memory();
  EXPECT_EQ(held(), 0u) << "nobody needs any yet";
  std::vector<Page*> pages = acquire(*pool, 0, 1);
  const std::size_t slab = held();
  for (std::size_t i = 0; i < 100; ++i) pool->prepare_memory();
  EXPECT_EQ(held(), slab) << "most of the first slab is free";
  pages = acquire(*pool, 0, slab / 2);
  pages[0]->base[5] = std::byte{7};
  for (std::size_t i = 0; i < 100; ++i) pool->prepare_memory();
  EXPECT_EQ(held(), 2 * slab) << "the next slab, and no more";
  EXPECT_EQ(pages[0]->base[5], std::byte{7});
  pages = acquire(*pool, 0, slab);
  EXPECT_EQ(held(), 2 * slab) << "which is what comes next";

  // To the end of the budget, whose last slab is a short one, and no further.
  acquire(*pool, 0, 150);
  for (std::size_t i = 0; i < 1000; ++i) pool->prepare_memory();
  EXPECT_LE(pool->stats().held_bytes, pool->stats().budget_bytes);
  acquire(*pool, 0, 49 - slab / 2 - slab);
  EXPECT_FALSE(pool->acquire(0, nullptr, none_));
  EXPECT_EQ(held(), 200u);
  pool->prepare_memory();
}

TEST_F(PagePoolTest, ReferencesKeepAPage) {
  const auto pool = PagePool::create({group_of(1)}, kMiB).value();
  Page* const page = pool->acquire(0, nullptr, none_).value();
  EXPECT_FALSE(page->shared());
  ASSERT_TRUE(pool->retain({&page, 1}, Holder::sequence, none_));
  EXPECT_TRUE(page->shared());
  release(*pool, page);
  EXPECT_FALSE(page->shared());
  EXPECT_EQ(pool->stats().used, 1u);
  release(*pool, page);
  EXPECT_EQ(pool->stats().used, 0u);
}

// The pages of one that goes step by step lie beside each other, whoever else takes pages in between.
TEST_F(PagePoolTest, APageFollowsTheOneBefore) {
  const auto pool = PagePool::create({group_of(1), group_of(1)}, PagePool::kUnlimited).value();
  const std::size_t head_bytes = pool->groups()[0].layout.head_bytes();
  std::vector<Page*> last = {pool->acquire(0, nullptr, none_).value(), pool->acquire(1, nullptr, none_).value()};
  for (std::size_t i = 1; i < kPagesPerSpan; ++i) {
    for (std::size_t group : {0u, 1u}) {
      Page* const next = pool->acquire(group, last[group], none_).value();
      EXPECT_EQ(next->base - last[group]->base, static_cast<std::ptrdiff_t>(head_bytes));
      last[group] = next;
    }
  }
}

// A used page here and there keeps no memory from anybody.
TEST_F(PagePoolTest, ScatteredPagesStrandNothing) {
  const auto pool = PagePool::create({group_of(8), group_of(8, 64)}, 96 * kMiB).value();
  std::vector<Page*> pages = acquire(*pool, 0, 96);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (i % 8 != 0) release(*pool, pages[i]);
  }
  EXPECT_EQ(acquire(*pool, 1, 84).size(), 84u);
  EXPECT_EQ(pool->stats().used, 96u);
  EXPECT_FALSE(pool->acquire(0, nullptr, none_));
}

TEST_F(PagePoolTest, MemoryIsTakenAsItIsUsed) {
  const auto pool = PagePool::create({group_of(8)}, PagePool::kUnlimited).value();
  EXPECT_EQ(pool->stats().held_bytes, 0u);
  std::vector<Page*> pages;
  for (int i = 0; i < 200; ++i) {  // each for a sequence of its own: they share runs before half the memory lies idle
    pages.push_back(pool->acquire(0, nullptr, none_).value());
    ASSERT_LE(pool->stats().held_bytes, 2 * pages.size() * pool->page_bytes() + 16 * kMiB);
  }
}

TEST_F(PagePoolTest, WhatIsPromisedIsKept) {
  const auto pool = PagePool::create({group_of(8)}, 10 * kMiB).value();
  {
    Reservation mine = pool->reserve(6).value();
    EXPECT_EQ(pool->reserve(5).error().code, ErrorCode::resource_exhausted);
    const std::vector<Page*> others = acquire(*pool, 0, 4);
    EXPECT_FALSE(pool->acquire(0, nullptr, none_));
    std::vector<Page*> pages;
    for (int i = 0; i < 6; ++i) pages.push_back(pool->acquire(0, nullptr, mine).value());
    EXPECT_EQ(mine.pages(), 0u);
    EXPECT_FALSE(pool->acquire(0, nullptr, mine)) << "above what was promised it is like any other";
    pool->release(pages, Holder::sequence, mine);
    EXPECT_EQ(mine.pages(), 6u) << "what is released may be drawn again";
    mine.shrink(2);
    EXPECT_EQ(pool->stats().available(), 4u);
    for (Page* page : others) release(*pool, page);
    EXPECT_EQ(pool->stats().available(), 8u);
    const Reservation moved = std::move(mine);
    EXPECT_EQ(moved.pages(), 2u);
    EXPECT_EQ(pool->stats().reserved, 2u);
  }
  EXPECT_EQ(pool->stats().available(), 10u);
}

}  // namespace
}  // namespace rill::kv
