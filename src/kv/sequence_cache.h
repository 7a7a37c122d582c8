// The keys and values of one sequence: page tables, and appends that happen wholly or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kv/page_pool.h"
#include "rill/result.h"

namespace rill::kv {

inline constexpr std::uint64_t kDefaultRollbackReserve = 64;  // tokens

// Pages that a sequence which grows so, each step committed, may hold at its worst moment, with a page of each group to spare
// for a copy on write.
std::size_t peak_pages(std::span<const LayerGroup> groups, const KvSequence& growth) noexcept;

// One thread at a time; sequences that share pages may be used by different threads. Move-only; a moved-from sequence
// may only be destroyed or assigned.
//
// An append: extend_to once or more, writes into the pages, then commit or abort. Nothing but release_passed may come
// between.
class SequenceCache {
 public:
  // Draws its pages from the reservation first, and keeps it as long as it lives.
  explicit SequenceCache(std::shared_ptr<PagePool> pool, std::uint64_t rollback_reserve = kDefaultRollbackReserve,
                         Reservation reservation = {});
  SequenceCache(SequenceCache&&) noexcept = default;
  SequenceCache& operator=(SequenceCache&& other) noexcept;
  ~SequenceCache();

  std::uint64_t length() const noexcept { return length_; }  // tokens
  const PagePool& pool() const noexcept { return *pool_; }
  std::uint64_t rollback_reserve() const noexcept { return rollback_reserve_; }

  // Makes the slots of positions [length(), end) writable; may be called again with a greater end. If it fails the
  // append is aborted. resource_exhausted: the pool has no room.
  Result<void> extend_to(std::uint64_t end);
  // Every query from now on stands at `position` or later: pages that this append filled, and that lie below the window
  // and its reserve, go back to the pool. Those from before the append stay until it is committed.
  void release_passed(std::uint64_t position) noexcept;
  // Ends the append at `length`, in [length() and every position passed, the end extended to]. What it wrote in
  // [length, ahead) stays, hidden, and may be committed later as long as nothing but fork() and such commits come between.
  void commit(std::uint64_t length, std::uint64_t ahead = 0) noexcept;
  // Leaves everything as it was before the append.
  void abort() noexcept;

  // Drops the positions from `length` on. invalid_argument: it is beyond length(). window_evicted: a sliding-window
  // layer no longer holds what the next token would see; the message names the least length that works (and 0 always
  // does).
  Result<void> truncate(std::uint64_t length);
  // The least length above 0 to which the sequence can be truncated, or 0 if any length will do.
  std::uint64_t lowest_truncation() const noexcept;

  // Another sequence with the same content; pages are shared until one of the two appends to them. resource_exhausted:
  // PagePool::retain says when; never where neither has a reservation. Takes no page.
  Result<SequenceCache> fork(Reservation reservation = {}) const { return fork_at(length_, std::move(reservation)); }
  // With the first `length` tokens only. Errors of truncate, too.
  Result<SequenceCache> fork_at(std::uint64_t length, Reservation reservation = {}) const;

  const Reservation& reservation() const noexcept { return reservation_; }
  // Pages that it may have to take besides what it holds when it grows so, each step committed.
  std::size_t pages_to_come(const KvSequence& growth) const noexcept;
  // Gives back what is promised beyond those. Only for one with a reservation.
  void shrink_reservation(const KvSequence& growth) noexcept { reservation_.shrink(pages_to_come(growth)); }

  // What a sequence holds: the positions [16 * first_held[group], length) of each group.
  struct Extent {
    std::uint64_t length = 0;               // tokens
    std::vector<std::uint64_t> first_held;  // [group] pages

    bool operator==(const Extent&) const = default;
  };
  Extent extent() const;
  // Of the keys and values in it: layers * kv_bytes_per_token for each position and group, and nothing for the rest of a
  // page. malformed: no sequence of these groups can have that extent.
  Result<std::uint64_t> copy_bytes(const Extent& extent) const;

  // Hands the keys and values in extent() to `sink`, in pieces of any size; not between extend_to and commit. The same
  // bytes for the same content, however pools lay their pages. Returns the sink's first error.
  using Sink = std::function<Result<void>(std::span<const std::byte>)>;
  Result<void> copy_out(const Sink& sink) const;
  // Makes this sequence, which must be empty, hold what was copied out, with pages of its own; `source` fills what it is
  // given. On error it stays empty. malformed: as above. resource_exhausted: the pool has no room. Else the source's error.
  using Source = std::function<Result<void>(std::span<std::byte>)>;
  Result<void> copy_in(const Extent& extent, const Source& source);
  // Makes this sequence, which must be empty, hold `length` tokens on pages that others hold, too: [group][position / 16],
  // the last ones all there, before them null where a window need not be held. On error (PagePool::retain) it stays empty.
  Result<void> adopt(std::uint64_t length, std::vector<std::vector<Page*>> pages);
  // The group's pages, by position / 16, of an append that is not committed, too; null where the window has passed.
  std::span<Page* const> pages(std::size_t group) const noexcept { return tables_[group].pages; }
  // Whether a group with a window holds its page of the positions [16 * page, 16 * page + 16).
  bool holds_window(std::size_t page) const noexcept;

  // Bases of the group's pages by position / 16; null where the window has passed.
  std::span<std::byte* const> page_table(std::size_t group) const noexcept { return tables_[group].bases; }
  // Of all pages referenced, shared ones included.
  std::uint64_t bytes_held() const noexcept;

 private:
  struct Table {
    std::vector<Page*> pages;
    std::vector<std::byte*> bases;
    std::size_t first_held = 0;  // the window has passed all pages below
    Page* replaced = nullptr;  // the page that this append copied in order to write to it
    Page* partial = nullptr;   // the page that it shares in part, and has not written to
  };

  Result<void> add_pages(std::size_t group, std::size_t count);
  Result<Page*> acquire(std::size_t group, const Page* after) { return pool_->acquire(group, after, reservation_); }
  void release(Table& table, std::span<Page* const> pages) noexcept;
  // Drops the pages [begin, end) and leaves null in their places.
  void drop_pages(Table& table, std::size_t begin, std::size_t end) noexcept;
  void drop_pages_from(Table& table, std::size_t count) noexcept;
  Result<void> check_truncation(std::uint64_t length) const;
  // The first page that the group must keep for a sequence of that length.
  std::size_t first_kept_page(std::size_t group, std::uint64_t length) const noexcept;

  std::shared_ptr<PagePool> pool_;
  std::uint64_t rollback_reserve_;
  Reservation reservation_;
  std::uint64_t length_ = 0;
  std::vector<Table> tables_;  // [group]
};

}  // namespace rill::kv
