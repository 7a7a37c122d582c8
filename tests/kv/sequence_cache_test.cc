#include "kv/sequence_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <set>
#include <thread>

namespace {
std::atomic<std::size_t> allocations = 0;
}

// Counts what the tests below allocate. Not inlined, or GCC sees free() meet operator new and warns.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace rill::kv {
namespace {

constexpr std::uint64_t kReserve = 10;

LayerGroup tiny_group(std::size_t layers, std::uint64_t window) {
  return {.layers = layers, .window = window, .layout = {.type = KvType::f32, .kv_heads = 1, .head_dim = 1}};
}

std::vector<LayerGroup> three_groups() { return {tiny_group(2, 0), tiny_group(2, 20), tiny_group(2, 1)}; }

std::uint64_t used_bytes(const PagePool& pool) { return pool.stats().used * pool.page_bytes(); }

// Calls visit(slot) for each place where a position's keys and values of a group lie; false if its page is gone.
template <typename Visit>
bool for_each_slot(const SequenceCache& cache, std::size_t group, std::uint64_t position, Visit visit) {
  std::byte* const page = cache.page_table(group)[position / kTokensPerPage];
  if (page == nullptr) return false;
  const LayerGroup& layers = cache.pool().groups()[group];
  for (std::size_t layer = 0; layer < layers.layers; ++layer) {
    std::byte* const base = page + layer * layers.layout.layer_stride() + position % kTokensPerPage * sizeof(std::uint32_t);
    visit(base + layers.layout.k_offset(0));
    visit(base + layers.layout.v_offset(0));
  }
  return true;
}

void write(const SequenceCache& cache, std::uint64_t position, std::uint32_t value) {
  for (std::size_t group = 0; group < cache.pool().groups().size(); ++group) {
    ASSERT_TRUE(for_each_slot(cache, group, position, [&](std::byte* slot) { std::memcpy(slot, &value, sizeof(value)); }));
  }
}

// The value at a position if its page is held and all its slots agree with the expected one; fails the test otherwise.
bool holds(const SequenceCache& cache, std::size_t group, std::uint64_t position, std::uint32_t expected) {
  return for_each_slot(cache, group, position, [&](std::byte* slot) {
    std::uint32_t value;
    std::memcpy(&value, slot, sizeof(value));
    ASSERT_EQ(value, expected) << "group " << group << " position " << position;
  });
}

// What a sequence must be, kept in the plainest way.
struct Expected {
  std::vector<std::uint32_t> values;         // [position]
  std::vector<std::uint64_t> evicted_below;  // [group]; a multiple of 16
};

struct Sequence {
  SequenceCache cache;
  Expected expected;
  std::vector<std::uint32_t> ahead = {};  // written behind them, not committed
};

class RandomSequences {
 public:
  RandomSequences(std::uint64_t seed, std::uint64_t budget_pages)
      : random_(seed), pool_(PagePool::create(three_groups(), budget_pages * three_groups()[0].page_bytes()).value()) {
    sequences_.push_back(empty());
  }

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      const std::size_t chosen = below(sequences_.size());
      switch (below(9)) {
        case 8: commit_ahead(sequences_[chosen]); break;
        case 0: truncate(sequences_[chosen]); break;
        case 1:
          if (sequences_.size() < 5) sequences_.push_back({sequences_[chosen].cache.fork().value(), sequences_[chosen].expected});
          break;
        case 2: sequences_[chosen] = below(3) == 0 ? empty() : std::move(sequences_[chosen]); break;
        case 3:
          if (sequences_.size() > 2) sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(chosen));
          break;
        default: append(sequences_[chosen]);
      }
      for (const Sequence& sequence : sequences_) verify(sequence);
      verify_count();
    }
    sequences_.clear();
    EXPECT_EQ(used_bytes(*pool_), 0u);
  }

  int exhausted = 0, aborted = 0, evicted = 0, truncated = 0, ahead = 0;

 private:
  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }
  Sequence empty() { return {SequenceCache(pool_, kReserve), {{}, {0, 0, 0}}}; }

  void append(Sequence& sequence) {
    SequenceCache& cache = sequence.cache;
    std::vector<std::uint32_t> values = sequence.expected.values;
    if (!sequence.ahead.empty() && below(2) == 0) {
      cache.commit(values.size());  // forgets them
      sequence.ahead.clear();
    }
    const std::vector<std::vector<std::byte*>> tables = tables_of(cache);
    const std::uint64_t used = used_bytes(*pool_);
    const bool was_ahead = !sequence.ahead.empty();
    sequence.ahead.clear();
    std::size_t passed = values.size();
    const std::size_t end = values.size() + below(2) * below(120) + below(4);
    bool failed = false;
    while (values.size() < end && !failed) {
      const std::size_t begin = values.size();
      const std::size_t chunk_end = std::min(end, begin + 1 + below(40));
      cache.release_passed(begin);
      passed = begin;
      if (const auto extended = cache.extend_to(chunk_end); !extended) {
        ASSERT_EQ(extended.error().code, ErrorCode::resource_exhausted);
        failed = true;
        ++exhausted;
        break;
      }
      while (values.size() < chunk_end) {
        values.push_back(next_value_++);
        write(cache, values.size() - 1, values.back());
      }
      verify_window(cache, values, begin);
    }
    if (!failed && below(4) == 0) {
      cache.abort();
      failed = true;
      ++aborted;
    }
    if (failed) {
      if (was_ahead) return;  // its pages are gone
      ASSERT_EQ(tables_of(cache), tables);
      ASSERT_EQ(used_bytes(*pool_), used);
      return;
    }
    if (below(3) == 0) {
      const auto hidden = values.begin() + static_cast<std::ptrdiff_t>(passed + below(values.size() - passed + 1));
      sequence.ahead.assign(hidden, values.end());
      values.erase(hidden, values.end());
    }
    cache.commit(values.size(), values.size() + sequence.ahead.size());
    sequence.expected.values = std::move(values);
    expect_evicted(sequence);
  }

  void commit_ahead(Sequence& sequence) {
    if (sequence.ahead.empty()) return;
    const auto count = static_cast<std::ptrdiff_t>(1 + below(sequence.ahead.size()));
    std::vector<std::uint32_t>& values = sequence.expected.values;
    values.insert(values.end(), sequence.ahead.begin(), sequence.ahead.begin() + count);
    sequence.ahead.erase(sequence.ahead.begin(), sequence.ahead.begin() + count);
    sequence.cache.commit(values.size(), values.size() + sequence.ahead.size());
    expect_evicted(sequence);
    ++ahead;
  }

  void expect_evicted(Sequence& sequence) {
    for (std::size_t group = 0; group < 3; ++group) {
      const std::uint64_t window = pool_->groups()[group].window, length = sequence.expected.values.size();
      if (window == 0 || length < window + kReserve) continue;
      const std::uint64_t below = (length - window - kReserve) / 16 * 16;
      sequence.expected.evicted_below[group] = std::max(sequence.expected.evicted_below[group], below);
    }
  }

  void truncate(Sequence& sequence) {
    Expected& expected = sequence.expected;
    std::uint64_t lowest = 0;
    for (std::size_t group = 0; group < 3; ++group) {
      if (expected.evicted_below[group] > 0) {
        lowest = std::max(lowest, expected.evicted_below[group] + pool_->groups()[group].window - 1);
      }
    }
    ASSERT_EQ(sequence.cache.lowest_truncation(), lowest);
    EXPECT_EQ(sequence.cache.truncate(expected.values.size() + 1).error().code, ErrorCode::invalid_argument);
    const std::size_t back =
        below(3) == 0 ? below(expected.values.size() + 1) : below(std::min<std::size_t>(20, expected.values.size() + 1));
    const std::size_t length = expected.values.size() - back;
    const auto result = sequence.cache.truncate(length);
    ASSERT_EQ(result.has_value(), length == 0 || length >= lowest);
    if (!result) {
      EXPECT_EQ(result.error().code, ErrorCode::window_evicted);
      EXPECT_NE(result.error().message.find(std::to_string(lowest)), std::string::npos);
      ++evicted;
      return;
    }
    ++truncated;
    sequence.ahead.clear();
    expected.values.resize(length);
    for (std::uint64_t& position : expected.evicted_below) position = std::min<std::uint64_t>(position, (length + 15) / 16 * 16);
  }

  // Inside an append: queries at [begin, values.size()) find all that they see.
  void verify_window(const SequenceCache& cache, const std::vector<std::uint32_t>& values, std::size_t begin) {
    for (std::size_t group = 0; group < 3; ++group) {
      const std::uint64_t window = pool_->groups()[group].window;
      for (std::size_t position = window == 0 || begin < window ? 0 : begin - window + 1; position < values.size(); ++position) {
        ASSERT_TRUE(holds(cache, group, position, values[position])) << "group " << group << " position " << position;
      }
    }
  }

  // Between appends: exactly the pages that the window and its reserve have not passed, with what was written last.
  void verify(const Sequence& sequence) {
    std::vector<std::uint32_t> values = sequence.expected.values;
    ASSERT_EQ(sequence.cache.length(), values.size());
    values.insert(values.end(), sequence.ahead.begin(), sequence.ahead.end());
    for (std::size_t group = 0; group < 3; ++group) {
      ASSERT_EQ(sequence.cache.page_table(group).size(), (values.size() + 15) / 16);
      for (std::size_t position = 0; position < values.size(); ++position) {
        ASSERT_EQ(holds(sequence.cache, group, position, values[position]), position >= sequence.expected.evicted_below[group])
            << "group " << group << " position " << position << " of " << values.size();
      }
    }
  }

  void verify_count() {
    std::set<std::byte*> pages;
    std::uint64_t bytes = 0;
    for (const Sequence& sequence : sequences_) {
      std::uint64_t held = 0;
      for (std::size_t group = 0; group < 3; ++group) {
        for (std::byte* page : sequence.cache.page_table(group)) {
          if (page == nullptr) continue;
          held += pool_->groups()[group].page_bytes();
          if (pages.insert(page).second) bytes += pool_->groups()[group].page_bytes();
        }
      }
      ASSERT_EQ(sequence.cache.bytes_held(), held);
    }
    ASSERT_EQ(used_bytes(*pool_), bytes);
  }

  static std::vector<std::vector<std::byte*>> tables_of(const SequenceCache& cache) {
    std::vector<std::vector<std::byte*>> tables;
    for (std::size_t group = 0; group < 3; ++group) {
      tables.emplace_back(cache.page_table(group).begin(), cache.page_table(group).end());
    }
    return tables;
  }

  std::mt19937_64 random_;
  std::shared_ptr<PagePool> pool_;
  std::vector<Sequence> sequences_;
  std::uint32_t next_value_ = 1;
};

TEST(SequenceCacheTest, RandomOperationsAgreeWithAPlainModel) {
  int exhausted = 0, aborted = 0, evicted = 0, truncated = 0, ahead = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomSequences sequences(seed, seed % 2 == 0 ? 60 : 100'000);
    sequences.run(200);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    exhausted += sequences.exhausted;
    aborted += sequences.aborted;
    evicted += sequences.evicted;
    truncated += sequences.truncated;
    ahead += sequences.ahead;
  }
  // The runs must have been where it matters.
  EXPECT_GT(exhausted, 100);
  EXPECT_GT(aborted, 100);
  EXPECT_GT(evicted, 100);
  EXPECT_GT(truncated, 100);
  EXPECT_GT(ahead, 100);
}

void append(SequenceCache& cache, std::uint64_t count, std::uint32_t value) {
  const std::uint64_t begin = cache.length();
  ASSERT_TRUE(cache.extend_to(begin + count));
  for (std::uint64_t i = 0; i < count; ++i) write(cache, begin + i, value + static_cast<std::uint32_t>(i));
  cache.commit(begin + count);
}

TEST(SequenceCacheTest, AForkCopiesOnlyThePageItAppendsTo) {
  const auto pool = PagePool::create({tiny_group(1, 0)}, 1 << 20).value();
  SequenceCache first(pool);
  append(first, 40, 100);
  SequenceCache second = first.fork().value();
  EXPECT_EQ(pool->stats().used, 3u);
  append(second, 1, 900);
  EXPECT_EQ(pool->stats().used, 4u);
  append(first, 1, 500);  // the only holder of its last page now
  EXPECT_EQ(pool->stats().used, 4u);
  EXPECT_TRUE(holds(first, 0, 40, 500));
  EXPECT_TRUE(holds(second, 0, 40, 900));
  EXPECT_TRUE(holds(second, 0, 39, 139));
  EXPECT_EQ(first.page_table(0)[1], second.page_table(0)[1]);

  SequenceCache third = first.fork().value();
  ASSERT_TRUE(third.truncate(32));
  append(third, 16, 0);  // begins a page: nothing to copy
  EXPECT_EQ(pool->stats().used, 5u);
}

// Of two forks that go on apart, each copies the page that both began.
TEST(SequenceCacheTest, PeakPagesAreEnoughForForks) {
  std::mt19937_64 random(7);
  for (const std::uint64_t window : {0u, 1u, 16u, 37u, 512u}) {
    for (const std::uint64_t chunk : {1u, 16u, 50u, 256u}) {
      constexpr std::uint64_t kTokens = 1500;
      const std::vector<LayerGroup> groups = {tiny_group(1, window)};
      const std::size_t pages = peak_pages(groups, {kTokens, chunk, kReserve});
      const auto pool = PagePool::create(groups, 2 * pages * groups[0].page_bytes()).value();
      SequenceCache first(pool, kReserve, pool->reserve(pages).value());
      append(first, 1 + random() % chunk, 0);
      SequenceCache second = first.fork(pool->reserve(pages).value()).value();
      for (SequenceCache* cache : {&first, &second}) {
        while (cache->length() < kTokens) {
          const std::uint64_t end = std::min(kTokens, cache->length() + 1 + random() % chunk);
          ASSERT_TRUE(cache->extend_to(end)) << "window " << window << " chunk " << chunk << " to " << end;
          cache->commit(end);
        }
      }
    }
  }
}

TEST(SequenceCacheTest, NothingIsAllocatedOnceWarm) {
  const auto pool = PagePool::create(three_groups(), 1 << 20).value();
  SequenceCache cache(pool);
  append(cache, 1000, 0);
  ASSERT_TRUE(cache.truncate(0));
  const std::uint64_t held = pool->stats().held_bytes;
  const std::size_t before = allocations;
  for (std::uint64_t length = 1; length <= 1000; ++length) {
    if (!cache.extend_to(length)) break;
    cache.commit(length);
  }
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(cache.length(), 1000u);
  EXPECT_EQ(pool->stats().held_bytes, held);
}

TEST(SequenceCacheTest, AnAppendThatIsDestroyedGivesAllPagesBack) {
  const auto pool = PagePool::create(three_groups(), 1 << 20).value();
  {
    SequenceCache first(pool);
    append(first, 20, 0);
    SequenceCache second = first.fork().value();
    ASSERT_TRUE(second.extend_to(100));  // holds a copy, its original and new pages
    SequenceCache third = std::move(second);
    first = std::move(third);
  }
  EXPECT_EQ(used_bytes(*pool), 0u);
}

TEST(SequenceCacheTest, ThreadsShareAPool) {
  const auto pool = PagePool::create(three_groups(), 1 << 15).value();
  SequenceCache base(pool, kReserve);
  append(base, 25, 1);
  std::atomic<int> finished = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t id = 0; id < 4; ++id) {
    threads.emplace_back([&, id, mine = base.fork().value()]() mutable {
      std::mt19937 random(id);
      for (int round = 0; round < 100; ++round) {
        SequenceCache fork = mine.fork().value();
        const std::uint64_t end = 26 + random() % 100;
        if (fork.extend_to(end)) {  // the others may have taken all
          for (std::uint64_t i = 25; i < end; ++i) write(fork, i, id << 16 | static_cast<std::uint32_t>(i));
          for (std::uint64_t i = 25; i < end; ++i) EXPECT_TRUE(holds(fork, 1, i, id << 16 | static_cast<std::uint32_t>(i)));
          if (round % 3 == 0) {
            fork.abort();
          } else {
            fork.commit(end);
          }
        }
        EXPECT_TRUE(holds(fork, 0, 24, 25));
        if (round % 10 == 9 && fork.truncate(25)) mine = std::move(fork);
      }
      ++finished;
    });
  }
  append(base, 5, 700);
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  EXPECT_EQ(finished, 4);
  EXPECT_TRUE(holds(base, 0, 27, 702));
  EXPECT_EQ(used_bytes(*pool), base.bytes_held());
}

}  // namespace
}  // namespace rill::kv
