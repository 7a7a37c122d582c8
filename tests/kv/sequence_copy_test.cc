// A sequence copied out of one pool and into another, compared slot by slot.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "kv/sequence_cache.h"

namespace rill::kv {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kReserve = 10;

std::vector<LayerGroup> groups_of(KvType type) {
  const auto group = [&](std::uint64_t window) {
    return LayerGroup{
        .layers = 2, .window = window, .layout = {.type = type, .kv_heads = 2, .head_dim = type == KvType::f32 ? 16u : 32u}};
  };
  return {group(0), group(20), group(1)};
}

// The places, in a page of the group, of the bytes that belong to a slot.
std::vector<std::size_t> places_of(const LayerGroup& group, std::size_t slot) {
  const KvLayout& layout = group.layout;
  const std::size_t element = layout.type == KvType::f32 ? 4 : layout.type == KvType::f16 ? 2 : 1;
  std::vector<std::size_t> places;
  const auto add = [&](std::size_t at, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) places.push_back(at + i);
  };
  for (std::size_t layer = 0; layer < group.layers; ++layer) {
    for (std::size_t head = 0; head < layout.kv_heads; ++head) {
      const std::size_t k = layer * layout.layer_stride() + layout.k_offset(head);
      const std::size_t v = layer * layout.layer_stride() + layout.v_offset(head);
      for (std::size_t d = 0; d < layout.head_dim; ++d) {
        add(k + (d * 16 + slot) * element, element);
        add(v + (slot * layout.head_dim + d) * element, element);
      }
      if (layout.type != KvType::q8_0) continue;
      for (std::size_t block = 0; block < layout.head_dim / 32; ++block) {
        add(k + 16 * layout.head_dim + (block * 16 + slot) * 2, 2);
        add(v + 16 * layout.head_dim + (block * 16 + slot) * 2, 2);
      }
    }
  }
  return places;
}

std::byte value_at(std::uint64_t position, std::size_t group, std::size_t i) {
  return static_cast<std::byte>((position * 2654435761 + group * 40503 + i * 97) >> 5);
}

void write(const SequenceCache& cache, std::uint64_t position, int instead = -1) {
  for (std::size_t group = 0; group < cache.pool().groups().size(); ++group) {
    const auto places = places_of(cache.pool().groups()[group], position % 16);
    for (std::size_t i = 0; i < places.size(); ++i) {
      cache.page_table(group)[position / 16][places[i]] =
          instead >= 0 ? static_cast<std::byte>(instead) : value_at(position, group, i);
    }
  }
}

void append(SequenceCache& cache, std::uint64_t count) {
  const std::uint64_t begin = cache.length();
  ASSERT_TRUE(cache.extend_to(begin + count));
  for (std::uint64_t i = 0; i < count; ++i) write(cache, begin + i);
  cache.commit(begin + count);
}

// Every position from each group's first held page on has what write() wrote, and no page below is held.
void verify(const SequenceCache& cache, const SequenceCache::Extent& extent) {
  ASSERT_EQ(cache.length(), extent.length);
  for (std::size_t group = 0; group < cache.pool().groups().size(); ++group) {
    const auto table = cache.page_table(group);
    ASSERT_EQ(table.size(), (extent.length + 15) / 16);
    for (std::uint64_t position = 0; position < extent.length; ++position) {
      const std::byte* const page = table[position / 16];
      ASSERT_EQ(page != nullptr, position / 16 >= extent.first_held[group]) << "group " << group << " at " << position;
      if (page == nullptr) continue;
      const auto places = places_of(cache.pool().groups()[group], position % 16);
      for (std::size_t i = 0; i < places.size(); ++i) {
        ASSERT_EQ(page[places[i]], value_at(position, group, i)) << "group " << group << " at " << position;
      }
    }
  }
}

Bytes copied_out(const SequenceCache& cache) {
  Bytes bytes;
  cache.copy_out([&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Result<void>();
  }).value();
  return bytes;
}

// Hands out `bytes` in order; fails at the call numbered `fail_at`.
SequenceCache::Source source_of(const Bytes& bytes, std::size_t fail_at = ~std::size_t{0}) {
  return [&bytes, fail_at, at = std::size_t{0}, calls = std::size_t{0}](
             std::span<std::byte> out) mutable -> Result<void> {
    if (calls++ == fail_at) return Error{ErrorCode::io, "gone"};
    if (out.size() > bytes.size() - at) return Error{ErrorCode::file_truncated, "too short"};
    std::memcpy(out.data(), bytes.data() + at, out.size());
    at += out.size();
    return {};
  };
}

std::shared_ptr<PagePool> pool_of(KvType type, std::uint64_t budget_bytes = std::uint64_t{1} << 40) {
  return PagePool::create(groups_of(type), budget_bytes).value();
}

TEST(SequenceCopyTest, IsTheSameSequenceInAPoolOfAnotherLayout) {
  std::mt19937 random(5);
  for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0}) {
    for (const std::uint64_t length : {0u, 1u, 15u, 16u, 17u, 29u, 32u, 48u, 49u, 100u, 163u}) {
      const auto pool = pool_of(type);
      SequenceCache cache(pool, kReserve);
      while (cache.length() < length) {
        append(cache, std::min<std::uint64_t>(length - cache.length(), 1 + random() % 60));
      }
      if (length == 100) {
        ASSERT_TRUE(cache.truncate(97));  // holds less than one that was fed so far
      }
      const SequenceCache::Extent extent = cache.extent();
      const Bytes bytes = copied_out(cache);
      EXPECT_EQ(bytes.size(), cache.copy_bytes(extent).value());

      const auto small = pool_of(type, 30 * groups_of(type)[0].page_bytes());  // slabs of other strides
      ASSERT_NE(small->groups()[0].layout.head_stride, pool->groups()[0].layout.head_stride);
      SequenceCache other(small, kReserve);
      ASSERT_TRUE(other.copy_in(extent, source_of(bytes)));
      verify(other, extent);
      EXPECT_EQ(other.extent(), extent);
      EXPECT_EQ(other.lowest_truncation(), cache.lowest_truncation());
      EXPECT_EQ(copied_out(other), bytes);
      append(cache, 40);
      append(other, 40);
      EXPECT_EQ(other.extent(), cache.extent());
      verify(other, cache.extent());
    }
  }
}

TEST(SequenceCopyTest, TakesWhatIsHeldAndNoByteMore) {
  for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0}) {
    std::vector<Bytes> copies;
    for (const int hidden : {0x00, 0xee}) {
      SequenceCache cache(pool_of(type), kReserve);
      append(cache, 37);
      ASSERT_TRUE(cache.extend_to(60));
      for (std::uint64_t position = 37; position < 60; ++position) write(cache, position, hidden);
      cache.commit(38, 60);  // drafts behind it, and what was there before they came
      write(cache, 37);
      copies.push_back(copied_out(cache));
      std::uint64_t held = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        const LayerGroup group = groups_of(type)[i];
        held += (38 - 16 * cache.extent().first_held[i]) * group.page_bytes() / 16;
      }
      EXPECT_EQ(copies.back().size(), held);
    }
    EXPECT_EQ(copies[0], copies[1]);
  }
}

TEST(SequenceCopyTest, WholeOrNotAtAll) {
  SequenceCache cache(pool_of(KvType::q8_0), kReserve);
  append(cache, 70);
  const Bytes bytes = copied_out(cache);
  std::size_t calls = 0;
  cache.copy_out([&](auto) { return ++calls, Result<void>(); }).value();

  const auto pool = pool_of(KvType::q8_0);
  SequenceCache other(pool, kReserve);
  for (std::size_t fail_at = 0; fail_at < calls; ++fail_at) {
    ASSERT_EQ(other.copy_in(cache.extent(), source_of(bytes, fail_at)).error().code, ErrorCode::io);
    ASSERT_EQ(other.length(), 0u);
    ASSERT_EQ(pool->stats().used, 0u);
  }
  EXPECT_EQ(other.copy_in(cache.extent(), [](auto) -> Result<void> { throw std::bad_alloc(); }).error().code,
            ErrorCode::out_of_memory);
  ASSERT_TRUE(other.copy_in(cache.extent(), source_of(bytes)));
  EXPECT_EQ(other.copy_in(cache.extent(), source_of(bytes)).error().code, ErrorCode::invalid_argument);
  verify(other, cache.extent());

  std::size_t seen = 0;
  const auto refused = cache.copy_out(
      [&](auto) { return ++seen == 3 ? Result<void>(Error{ErrorCode::io, "full"}) : Result<void>(); });
  EXPECT_EQ(refused.error().message, "full");
  EXPECT_EQ(seen, 3u);

  const std::uint64_t budget = cache.bytes_held() - 1;  // a page more than there is room for
  const auto small = pool_of(KvType::q8_0, budget);
  SequenceCache third(small, kReserve);
  EXPECT_EQ(third.copy_in(cache.extent(), source_of(bytes)).error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(small->stats().used, 0u);
  append(third, 10);
}

TEST(SequenceCopyTest, AnExtentThatCannotBeIsRefused) {
  const auto pool = pool_of(KvType::f16);
  const auto refused = [&](std::uint64_t length, std::vector<std::uint64_t> first_held) {
    SequenceCache cache(pool, kReserve);
    const auto done = cache.copy_in({length, std::move(first_held)}, [](auto) { return Result<void>(); });
    EXPECT_EQ(cache.length(), done ? length : 0);
    return done ? "" : done.error().code == ErrorCode::malformed ? done.error().message : "another error";
  };
  EXPECT_EQ(refused(100, {0, 5, 6}), "");  // 80 is the first of the window of 20; of the window of 1 nothing is needed
  EXPECT_NE(refused(100, {0, 6, 6}).find("group 1"), std::string::npos);
  EXPECT_NE(refused(100, {0, 5, 7}).find("group 2"), std::string::npos);
  EXPECT_NE(refused(100, {1, 0, 0}).find("group 0"), std::string::npos);  // no window
  EXPECT_NE(refused(100, {0, 0}).find("2 groups"), std::string::npos);
  EXPECT_NE(refused(0, {0, 1, 0}), "");
  EXPECT_NE(refused(16, {0, std::uint64_t{1} << 60, 0}), "");
  const auto too_much = SequenceCache(pool).copy_bytes({~std::uint64_t{0}, {0, 0, 0}});
  EXPECT_NE(too_much.error().message.find("2^64"), std::string::npos);
  EXPECT_EQ(pool->stats().used, 0u);
}

}  // namespace
}  // namespace rill::kv
