// Pages of 16 tokens of keys and values, counted under one byte budget and shared by reference.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
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

struct Slab;

// Belongs to a PagePool. Whoever holds a reference may read the bytes; the holder of the only one may write them.
struct Page {
  std::byte* base = nullptr;  // of layer 0, head 0; the others lie as the group's layout says
  std::uint32_t group = 0;
  std::atomic<std::uint32_t> references{0};
  Slab* slab = nullptr;
  Page* next_free = nullptr;

  // What the other holders did with the page has happened before, if this is false.
  bool shared() const noexcept { return references.load(std::memory_order_acquire) > 1; }
};

struct PoolStats {
  std::uint64_t budget_bytes = 0;
  std::uint64_t used_bytes = 0;        // of pages that are referenced; never above the budget unless that shrank
  std::uint64_t held_bytes = 0;        // pages in use, and free ones kept for reuse
  std::vector<std::size_t> used_pages;  // [group]
  std::vector<std::size_t> free_pages;  // [group]
};

// Thread-safe. The pages of a slab lie head by head beside each other, [layer][keys, values][head][page]: attention
// reads one head of many pages, and reads from memory in long runs, not 2 KiB here and there (measured: 18 against 28
// GB/s). Slabs are taken from the system as pages are first used and kept for reuse; those without a page in use go
// back when another group needs the room. Must outlive its pages.
class PagePool {
 public:
  // invalid_argument: no group, or a group without bytes, or a q8_0 head whose size is not a multiple of 32.
  static Result<std::shared_ptr<PagePool>> create(std::vector<LayerGroup> groups, std::uint64_t budget_bytes);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // As given, with the head_stride of this pool's slabs.
  std::span<const LayerGroup> groups() const noexcept { return groups_; }

  // A page with one reference, its bytes unspecified. resource_exhausted: the budget has no room.
  Result<Page*> acquire(std::size_t group);
  void retain(Page& page) noexcept { page.references.fetch_add(1, std::memory_order_relaxed); }
  void release(Page& page) noexcept;
  // Copies the bytes of one page of a group to another.
  void copy(const Page& from, Page& to) const noexcept;

  void grow_budget(std::uint64_t bytes) noexcept;
  // Pages in use stay so, even above what is left.
  void shrink_budget(std::uint64_t bytes) noexcept;

  PoolStats stats() const;

 private:
  struct Group {
    Page* free = nullptr;
    std::size_t pages_per_slab = 0;
    std::size_t used_pages = 0;
    std::vector<std::unique_ptr<Slab>> slabs;
  };

  PagePool(std::vector<LayerGroup> groups, std::uint64_t budget_bytes);

  Result<void> add_slab(std::size_t group);
  void give_back_free_slabs() noexcept;

  std::vector<LayerGroup> groups_;  // does not change
  mutable std::mutex mutex_;  // guards all below
  std::uint64_t budget_bytes_;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t held_bytes_ = 0;
  std::vector<Group> state_;  // [group]
};

}  // namespace rill::kv
