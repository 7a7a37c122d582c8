// Sequences with and without reservations, forks and a cache that gives way, in one small pool: whatever they do, and in
// whatever order, the pool's figures are those of a plain count, and who was promised pages gets them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "base/error.h"
#include "kv/sequence_cache.h"

namespace rill::kv {
namespace {

constexpr std::uint64_t kReserve = 10, kWindow = 40, kChunk = 24;

std::vector<LayerGroup> two_groups() {
  const KvLayout layout{.type = KvType::f32, .kv_heads = 1, .head_dim = 1};
  return {{.layers = 2, .window = 0, .layout = layout}, {.layers = 2, .window = kWindow, .layout = layout}};
}

KvSequence growth_to(std::uint64_t tokens) { return {tokens, kChunk, kReserve}; }

// What a sequence holds, held by a cache.
class Entry {
 public:
  Entry(std::shared_ptr<PagePool> pool, const SequenceCache& from)
      : pool_(std::move(pool)), length_(from.length()), lowest_truncation_(from.lowest_truncation()) {
    for (std::size_t group = 0; group < pool_->groups().size(); ++group) {
      pages_.emplace_back(from.pages(group).begin(), from.pages(group).end());
      EXPECT_TRUE(pool_->retain(pages_.back(), Holder::cache, none_));
    }
  }
  Entry(Entry&&) = default;
  ~Entry() {
    for (const auto& pages : pages_) pool_->release(pages, Holder::cache, none_);
  }

  std::uint64_t length() const { return length_; }
  std::uint64_t lowest_truncation() const { return lowest_truncation_; }
  std::span<Page* const> pages(std::size_t group) const { return pages_[group]; }
  Result<SequenceCache> fork_at(std::uint64_t length, Reservation reservation) const {
    SequenceCache sequence(pool_, kReserve, std::move(reservation));
    std::vector<std::vector<Page*>> pages = pages_;
    for (auto& group : pages) group.resize((length + kTokensPerPage - 1) / kTokensPerPage);
    RILL_TRY(sequence.adopt(length, std::move(pages)));
    return sequence;
  }

 private:
  std::shared_ptr<PagePool> pool_;
  Reservation none_;
  std::uint64_t length_, lowest_truncation_;
  std::vector<std::vector<Page*>> pages_;  // [group]
};

// Entries in the order of their last use; gives up the oldest.
class LruCache final : public Reclaimer {
 public:
  void add(Entry entry) {
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
  }
  void reclaim(std::size_t) noexcept override {
    const std::lock_guard lock(mutex_);
    if (entries_.empty()) return;
    entries_.pop_front();
    ++reclaimed;
  }
  // Calls use(entry) with the lock held, if there is an entry of that index.
  template <typename Use>
  bool with_entry(std::size_t index, Use use) {
    const std::lock_guard lock(mutex_);
    if (index >= entries_.size()) return false;
    use(std::as_const(entries_[index]));
    return true;
  }
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
  }
  int reclaimed = 0;

 private:
  std::mutex mutex_;
  std::deque<Entry> entries_;
};

struct Sequence {
  SequenceCache cache;
  std::uint64_t most = 0;  // tokens for which it has a reservation; 0: it has none

  bool promised() const { return most != 0; }
};

// One append, of several chunks. Positions carry no content here: sequence_cache_test looks at that.
Result<void> feed(SequenceCache& cache, std::uint64_t count) {
  const std::uint64_t end = cache.length() + count;
  for (std::uint64_t at = cache.length(); at < end;) {
    cache.release_passed(at);
    at = std::min(end, at + kChunk);
    RILL_TRY(cache.extend_to(at));
  }
  cache.commit(end);
  return {};
}

// Chunk by chunk, as a promise expects it.
Result<void> grow(SequenceCache& cache, std::uint64_t count) {
  for (std::uint64_t chunk = 0; count > 0; count -= chunk) {
    chunk = std::min(count, kChunk);
    RILL_TRY(feed(cache, chunk));
  }
  return {};
}

class PoolModel {
 public:
  PoolModel(std::uint64_t seed, std::size_t pages)
      : random_(seed), pool_(PagePool::create(two_groups(), pages * two_groups()[0].page_bytes()).value()) {
    pool_->add_reclaimer(cache_);
  }

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      const std::size_t kind = below(10);
      if (kind == 0 || sequences_.empty()) begin();
      else if (kind == 1) hit();
      else if (kind == 2) fork();
      else if (kind == 3) sequences_.erase(chosen());
      else if (kind == 4) snapshot();
      else if (kind == 5) truncate();
      else append();
      verify();
    }
    sequences_.clear();
    verify();
    cache_->clear();
    const PoolStats stats = pool_->stats();
    EXPECT_EQ(stats.used + stats.cached + stats.reserved, 0u);
  }

  int refused = 0, exhausted = 0, kept = 0, hits = 0;
  int reclaimed() const { return cache_->reclaimed; }

 private:
  using Iterator = std::vector<Sequence>::iterator;

  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }
  Iterator chosen() { return sequences_.begin() + static_cast<std::ptrdiff_t>(below(sequences_.size())); }

  void begin() {
    const std::uint64_t most = below(2) * (1 + below(300));
    if (most == 0) return sequences_.push_back({SequenceCache(pool_, kReserve)});
    auto reservation = pool_->reserve(peak_pages(pool_->groups(), growth_to(most)));
    if (!reservation) {
      ASSERT_EQ(reservation.error().code, ErrorCode::resource_exhausted);
      ++refused;
      return;
    }
    sequences_.push_back({SequenceCache(pool_, kReserve, std::move(*reservation)), most});
  }

  // Begins with what the cache has, or with what another sequence has.
  template <typename From>
  void begin_from(const From& from) {
    const std::uint64_t length = below(3) == 0 ? from.length() : below(from.length() + 1);
    if (length != 0 && length < from.lowest_truncation()) return;
    const std::uint64_t most = below(2) * (length + below(200));
    Reservation reservation;
    if (most != 0) {
      const auto full = from.pages(0).first(length / kTokensPerPage);  // of the group without window: these may need no promise
      auto reserved = pool_->reserve(peak_pages(pool_->groups(), growth_to(most)) - pool_->count_in_use(full));
      if (!reserved) {
        ++refused;
        return;
      }
      reservation = std::move(*reserved);
    }
    auto forked = from.fork_at(length, std::move(reservation));
    if (!forked) {
      ASSERT_EQ(forked.error().code, ErrorCode::resource_exhausted);
      ASSERT_EQ(most, 0u) << "what was reserved for a fork suffices";
      ++exhausted;
      return;
    }
    if (below(2) == 0 && most != 0) forked->shrink_reservation(growth_to(most));
    sequences_.push_back({std::move(*forked), most});
    ++hits;
  }
  void hit() {
    cache_->with_entry(below(1 + cache_->size()), [&](const Entry& entry) { begin_from(entry); });
  }
  void fork() { begin_from(chosen()->cache); }
  void snapshot() {
    const Iterator sequence = chosen();
    if (sequence->cache.length() == 0) return;
    cache_->add(Entry(pool_, sequence->cache));
  }
  void truncate() {
    const Iterator sequence = chosen();
    const std::uint64_t length = below(sequence->cache.length() + 1);
    // What others hold on to does not come back: a promise holds for sequences that only go on.
    if (!sequence->promised() && (length == 0 || length >= sequence->cache.lowest_truncation())) {
      ASSERT_TRUE(sequence->cache.truncate(length));
    }
  }

  void append() {
    const Iterator sequence = chosen();
    SequenceCache& cache = sequence->cache;
    std::uint64_t count = 1 + below(2) * below(100);
    if (sequence->promised()) count = std::min(count, sequence->most - cache.length());
    const std::size_t promised = cache.reservation().pages();
    const PoolStats before = pool_->stats();
    const auto fed = sequence->promised() ? grow(cache, count) : feed(cache, count);
    if (sequence->promised()) {
      ASSERT_TRUE(fed) << fed.error().message;
      ++kept;
      if (below(2) == 0) cache.shrink_reservation(growth_to(sequence->most));
    } else if (!fed) {
      ASSERT_EQ(fed.error().code, ErrorCode::resource_exhausted);
      ++exhausted;
      ASSERT_EQ(cache.reservation().pages(), promised);
      ASSERT_EQ(pool_->stats().used, before.used);
      ASSERT_EQ(pool_->stats().reserved, before.reserved);
    }
  }

  struct Holders {  // of a page
    std::size_t group = 0, promised = 0, others = 0, cached = 0;
  };

  // That what is left of the reservation is enough for the rest, with a page to spare in each group.
  void verify_promise(const Sequence& sequence) {
    std::size_t needed = 0;
    for (const LayerGroup& layers : two_groups()) {
      const auto table = sequence.cache.page_table(layers.window == 0 ? 0 : 1);
      const auto held = static_cast<std::size_t>(
          table.end() - std::find_if(table.begin(), table.end(), [](auto* page) { return page != nullptr; }));
      needed += peak_pages({&layers, 1}, growth_to(sequence.most)) - held;
    }
    ASSERT_GE(sequence.cache.reservation().pages(), needed);
  }

  void verify() {
    std::map<const Page*, Holders> pages;
    std::size_t outstanding = 0;
    const auto add = [&](const auto& cache, std::size_t Holders::* count) {
      for (std::size_t group = 0; group < 2; ++group) {
        for (const Page* page : cache.pages(group)) {
          if (page == nullptr) continue;
          pages[page].group = group;
          ++(pages[page].*count);
        }
      }
    };
    for (const Sequence& sequence : sequences_) {
      add(sequence.cache, sequence.promised() ? &Holders::promised : &Holders::others);
      outstanding += sequence.cache.reservation().pages();
    }
    for (std::size_t i = 0; cache_->with_entry(i, [&](const Entry& entry) { add(entry, &Holders::cached); }); ++i) {
    }
    for (const Sequence& sequence : sequences_) {
      if (sequence.promised()) verify_promise(sequence);
    }
    std::size_t used = 0, cached = 0, least_apart = 0, most_apart = 0;
    for (const auto& [page, holders] : pages) {
      const bool in_use = holders.promised + holders.others > 0;
      (in_use ? used : cached) += 1;
      if (!in_use) continue;
      // From a window each goes on to another page, and from one that is not full: promised ones are sure of theirs.
      const std::size_t apart = holders.promised + (holders.others > 0 ? 1 : 0) - 1;
      if (holders.group == 1) least_apart += apart;
      most_apart += apart;
    }
    const PoolStats stats = pool_->stats();
    ASSERT_EQ(stats.used, used);
    ASSERT_EQ(stats.cached, cached);
    ASSERT_GE(stats.reserved, outstanding + least_apart);
    ASSERT_LE(stats.reserved, outstanding + most_apart);
    ASSERT_LE(stats.used + stats.reserved, stats.capacity);
    ASSERT_LE(stats.held_bytes, stats.budget_bytes);
  }

  std::mt19937_64 random_;
  std::shared_ptr<PagePool> pool_;
  std::shared_ptr<LruCache> cache_ = std::make_shared<LruCache>();
  std::vector<Sequence> sequences_;
};

TEST(PoolModelTest, RandomOperationsAgreeWithAPlainCount) {
  int refused = 0, exhausted = 0, kept = 0, hits = 0, reclaimed = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    PoolModel model(seed, seed % 3 == 0 ? 40 : 150);
    model.run(400);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    refused += model.refused;
    exhausted += model.exhausted;
    kept += model.kept;
    hits += model.hits;
    reclaimed += model.reclaimed();
  }
  // The runs must have been where it matters.
  EXPECT_GT(refused, 100);
  EXPECT_GT(exhausted, 100);
  EXPECT_GT(kept, 1000);
  EXPECT_GT(hits, 100);
  EXPECT_GT(reclaimed, 100);
}

// Admitted are those whose pages are promised; the others wait, and nobody who runs is ever stuck.
TEST(PoolModelTest, K09WhoIsAdmittedFinishes) {
  const std::vector<LayerGroup> groups = {two_groups()[0]};
  for (const auto& [sequences, pages] : {std::pair<std::size_t, std::size_t>{2, 6}, {4, 3}}) {
    const auto pool = PagePool::create(groups, 8 * groups[0].page_bytes()).value();
    const std::uint64_t tokens = (pages - 1) * kTokensPerPage;  // and a page to spare
    std::vector<SequenceCache> running;
    std::size_t most_running = 0;
    for (std::size_t waiting = sequences; waiting + running.size() > 0;) {
      while (waiting > 0) {
        auto reservation = pool->reserve(peak_pages(groups, {tokens, 1, kReserve}));
        if (!reservation) break;
        running.emplace_back(pool, kReserve, std::move(*reservation));
        --waiting;
      }
      ASSERT_GT(running.size(), 0u);
      most_running = std::max(most_running, running.size());
      for (SequenceCache& sequence : running) ASSERT_TRUE(feed(sequence, 1));
      std::erase_if(running, [&](const SequenceCache& sequence) { return sequence.length() == tokens; });
    }
    EXPECT_EQ(most_running, 8 / pages);
    EXPECT_EQ(pool->stats().available(), 8u);
  }
}

TEST(PoolModelTest, PromisesHoldAcrossThreads) {
  const auto pool = PagePool::create(two_groups(), 60 * two_groups()[0].page_bytes()).value();
  const auto cache = std::make_shared<LruCache>();
  pool->add_reclaimer(cache);
  constexpr std::uint64_t kMost = 150;
  std::atomic<int> kept = 0, refused = 0;
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < 60; ++round) {
      auto reservation = pool->reserve(peak_pages(pool->groups(), growth_to(kMost)));
      std::optional<SequenceCache> sequence;
      const bool promised = reservation.has_value();
      if (!promised) reservation = Reservation();
      cache->with_entry(random() % 4, [&](const Entry& entry) {
        if (auto forked = entry.fork_at(entry.length(), std::move(*reservation))) sequence = *std::move(forked);
      });
      if (!sequence) sequence.emplace(pool, kReserve, std::move(*reservation));
      while (sequence->length() < kMost) {
        const bool fed = grow(*sequence, std::min<std::uint64_t>(1 + random() % 30, kMost - sequence->length())).has_value();
        if (!fed) {
          EXPECT_FALSE(promised);
          ++refused;
          break;
        }
        kept += promised ? 1 : 0;
        if (random() % 4 == 0) cache->add(Entry(pool, *sequence));
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(kept, 0);
  cache->clear();
  EXPECT_EQ(pool->stats().available(), pool->stats().capacity);
}

}  // namespace
}  // namespace rill::kv
