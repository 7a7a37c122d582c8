// Pages of 16 tokens of keys and values, counted under one byte budget and shared by reference.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "rill/result.h"
#include "tensor/kv_layout.h"

namespace rill::kv {

// Layers whose keys and values live and die together, and so share pages: layer i of the group lies i * layer_stride()
// bytes from a page's base.
struct LayerGroup {
  std::size_t layers = 0;
  std::uint64_t window = 0;  // a token at p sees (p - window, p]; 0: all of [0, p]
  KvLayout layout;

  std::size_t page_bytes() const { return layers * layout.layer_bytes(); }
};

// Belongs to a PagePool. Whoever holds a reference may read the bytes; the holder of the only one may write them.
struct Page {
  std::byte* base = nullptr;  // of layer 0, head 0; the others lie as the layout says
  std::uint32_t run = 0;      // where in the pool
  std::uint32_t slot = 0;     // in the run
  std::uint32_t group = 0;    // for which it was acquired
  std::atomic<std::uint32_t> references{0};  // all of them; changes under the pool's lock
  std::uint32_t cached = 0;          // those of caches
  std::uint32_t lasting[2] = {0, 0};  // of sequences [with a reservation] that keep it until they end
  std::uint32_t passing[2] = {0, 0};  // of those who will need another in its place: PagePool::charges

  // What the other holders did with the page has happened before, if this is false.
  bool shared() const noexcept { return references.load(std::memory_order_acquire) > 1; }
};

// What a cache holds does not stand in the way of a sequence: it is asked for when a page is needed.
enum class Holder : std::uint8_t { sequence, cache };

// Something that holds pages as Holder::cache and can give them up.
class Reclaimer {
 public:
  virtual ~Reclaimer() = default;
  // Releases what it needs least, until about `pages` have lost their last reference; asked again while that helps. Called on
  // the thread that needs them, without a lock of the pool; it may lock and release, but neither it nor anyone who holds
  // its lock may acquire.
  virtual void reclaim(std::size_t pages) noexcept = 0;
};

class PagePool;

// Pages promised to one sequence: while it has drawn fewer than limit() of them it gets another, whatever the others do.
// What it releases it may draw again. Two exceptions: nothing returns for a page of a group without window that another
// sequence still holds, so that pages of a common beginning need one promise only. Move-only; one thread at a time; the
// rest is given back when it is destroyed. A default one promises nothing.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() { shrink(0); }

  std::size_t pages() const noexcept { return limit_ - (drawn_ < limit_ ? drawn_ : limit_); }  // promised, not drawn
  bool promises() const noexcept { return pool_ != nullptr; }  // unlike a default one, even when pages() has come to 0
  // Gives back what pages() has above that many.
  void shrink(std::size_t pages) noexcept;

 private:
  friend class PagePool;
  Reservation(std::shared_ptr<PagePool> pool, std::size_t limit) : pool_(std::move(pool)), limit_(limit) {}

  std::shared_ptr<PagePool> pool_;
  std::size_t limit_ = 0;
  std::size_t drawn_ = 0;
};

struct PoolStats {
  std::uint64_t budget_bytes = 0;
  std::uint64_t held_bytes = 0;  // taken from the system, never above the budget
  // Pages:
  std::size_t capacity = 0;  // that the budget has room for
  std::size_t used = 0;      // that sequences hold, shared ones once
  std::size_t cached = 0;    // that only caches hold
  std::size_t reserved = 0;  // promised, and not in use; used + reserved never exceeds the capacity

  std::size_t available() const { return capacity - used - reserved; }  // that may still be promised or taken
};

// Thread-safe. Pages of all groups are alike, so that any free one serves any sequence: nothing is ever stranded. They lie
// in runs, [layer][head][keys, values][page], and what one sequence acquires one after the other lies in one run
// where possible: attention reads one head of many pages, and reads from memory in long runs, not 2 KiB here and there
// (measured: 18 against 28 GB/s). Memory is taken from the system in slabs of several runs as pages are first used.
class PagePool : public std::enable_shared_from_this<PagePool> {
 public:
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  // invalid_argument: no group, or pages without bytes or of different shapes, a q8_0 head whose size is not a
  // multiple of 32, or a budget below one page.
  static Result<std::shared_ptr<PagePool>> create(std::vector<LayerGroup> groups, std::uint64_t budget_bytes);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // As given, with the head_stride of this pool's runs.
  std::span<const LayerGroup> groups() const noexcept { return groups_; }
  std::size_t page_bytes() const noexcept { return groups_[0].page_bytes(); }
  std::size_t capacity() const noexcept { return capacity_; }  // pages

  // resource_exhausted, with the numbers: so many are not available.
  Result<Reservation> reserve(std::size_t pages);
  // Asked, in the order of being added, when all memory is in use.
  void add_reclaimer(std::weak_ptr<Reclaimer> reclaimer);

  // A page with one reference, its bytes unspecified, if possible behind `after`, which the caller holds. Drawn from the
  // reservation, and else from what is available. resource_exhausted: there is none.
  Result<Page*> acquire(std::size_t group, const Page* after, Reservation& reservation);
  // Adds or drops a reference to each; null pages are skipped. The reservation is the sequence's own. `partial`: that of
  // the pages which it holds in part, and copies before it writes there. retain fails (resource_exhausted) only where it puts
  // pages into use that only caches hold, or where it shares pages of a window, or a partial one, with a sequence that has a
  // reservation; it changes nothing then.
  Result<void> retain(std::span<Page* const> pages, Holder holder, Reservation& reservation, const Page* partial = nullptr);
  void release(std::span<Page* const> pages, Holder holder, Reservation& reservation, const Page* partial = nullptr) noexcept;
  // Who retained a partial page and is its only holder now goes on in it: it is like one that he acquired.
  void keep(Page& partial, const Reservation& reservation) noexcept;
  std::size_t count_in_use(std::span<Page* const> pages) const;  // those for which one more sequence is not charged
  // Copies the bytes of one page to another.
  void copy(const Page& from, Page& to) const noexcept;

  // Whoever hands out more than there is has to be the only one: of two, each could hold what the other waits for. False: there
  // is one.
  bool begin_overcommit() noexcept { return !overcommitted_.exchange(true); }
  void end_overcommit() noexcept { overcommitted_ = false; }

  // Where new memory will be needed soon, takes some from the system: at most a huge page (2 MiB), so that it does not
  // hold up a pass much. Between passes.
  void prepare_memory() noexcept;

  PoolStats stats() const;

 private:
  friend class Reservation;
  struct Slab {
    Buffer memory;
    std::unique_ptr<Page[]> pages;
  };
  struct Run {
    Page* pages = nullptr;   // [pages_per_run_]
    std::uint64_t all = 0;   // a bit for each page
    std::uint64_t free = 0;  // of those
  };

  PagePool(std::vector<LayerGroup> groups, std::uint64_t budget_bytes);

  std::size_t charges(const Page& page) const noexcept;
  Result<void> charge(std::size_t pages, Reservation& reservation);
  void discharge(std::size_t pages, Reservation& reservation) noexcept;
  std::uint32_t& holders(Page& page, const Reservation& reservation, const Page* partial) const noexcept;
  void add_reference(Page& page, Holder holder, const Reservation& reservation, const Page* partial) noexcept;
  void drop_reference(Page& page, Holder holder, const Reservation& reservation, const Page* partial) noexcept;
  Result<Page*> take_free(const Page* after);
  std::size_t find_unused_run() const noexcept;
  bool wants_slab() const noexcept;
  Page* take_from(std::size_t run, std::size_t first_slot) noexcept;
  Result<void> add_slab();
  bool reclaim(std::unique_lock<std::mutex>& lock) noexcept;
  Error exhausted(std::size_t pages) const;

  std::vector<LayerGroup> groups_;  // these do not change
  std::uint64_t budget_bytes_;
  std::size_t capacity_;       // pages
  std::size_t pages_per_run_;
  std::size_t runs_per_slab_;
  std::atomic<bool> overcommitted_{false};

  mutable std::mutex mutex_;  // guards all below
  std::vector<Slab> slabs_;
  std::vector<Run> runs_;
  std::span<std::byte> untouched_;  // the part of the last slab that prepare_memory() has yet to populate
  std::size_t first_free_run_ = 0;  // no run below has a free page
  std::size_t held_ = 0;            // pages of all runs
  std::vector<std::weak_ptr<Reclaimer>> reclaimers_;
  // Pages. charged_ + reserved_ <= capacity_, always.
  std::size_t charged_ = 0;   // in use, or kept for a sequence that holds a page together with others
  std::size_t reserved_ = 0;  // promised to reservations, not drawn
  std::size_t used_ = 0;
  std::size_t cached_ = 0;
  std::uint64_t given_up_ = 0;  // references that caches have dropped
};

}  // namespace rill::kv
