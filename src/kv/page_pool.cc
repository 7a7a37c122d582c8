#include "kv/page_pool.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"

namespace rill::kv {

// Memory for several pages of one group.
struct Slab {
  Buffer memory;
  std::unique_ptr<Page[]> pages;
  std::size_t count = 0;
  std::size_t used = 0;
};

namespace {

// Four huge pages: enough to be backed by them, little enough to be no burden where a few pages are used.
constexpr std::size_t kSlabBytes = std::size_t{8} << 20;
// Pages of large models are larger than that allows; a span of attention should still lie in one run.
constexpr std::size_t kMinSlabPages = kPagesPerSpan;

}  // namespace

Result<std::shared_ptr<PagePool>> PagePool::create(std::vector<LayerGroup> groups, std::uint64_t budget_bytes) {
  if (groups.empty()) return make_error(ErrorCode::invalid_argument, "a KV pool needs at least one group of layers");
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const KvLayout& layout = groups[i].layout;
    if (layout.type == KvType::q8_0 && layout.head_dim % 32 != 0) {
      return make_error(ErrorCode::invalid_argument,
                        "KV type q8_0 needs a head size that is a multiple of 32, this is {}", layout.head_dim);
    }
    if (groups[i].page_bytes() == 0) {
      return make_error(ErrorCode::invalid_argument, "KV layer group {} is empty: {} layers, {} KV heads of {}", i,
                        groups[i].layers, layout.kv_heads, layout.head_dim);
    }
  }
  return guarded([&]() -> Result<std::shared_ptr<PagePool>> {
    return std::shared_ptr<PagePool>(new PagePool(std::move(groups), budget_bytes));
  });
}

PagePool::PagePool(std::vector<LayerGroup> groups, std::uint64_t budget_bytes)
    : groups_(std::move(groups)), budget_bytes_(budget_bytes), state_(groups_.size()) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    LayerGroup& group = groups_[i];
    const std::uint64_t affordable = std::max<std::uint64_t>(1, budget_bytes / group.page_bytes());
    const std::size_t wanted = std::max(kSlabBytes / group.page_bytes(), kMinSlabPages);
    state_[i].pages_per_slab = static_cast<std::size_t>(std::min<std::uint64_t>(affordable, wanted));
    group.layout.head_stride = state_[i].pages_per_slab * group.layout.head_bytes();
  }
}

PagePool::~PagePool() = default;

Result<Page*> PagePool::acquire(std::size_t group) {
  const std::uint64_t bytes = groups_[group].page_bytes();
  const std::lock_guard lock(mutex_);
  if (used_bytes_ + bytes > budget_bytes_) {
    return make_error(ErrorCode::resource_exhausted,
                      "KV pages: {} more bytes are needed (16 tokens of layer group {}), and {} of {} are in use",
                      bytes, group, used_bytes_, budget_bytes_);
  }
  Group& state = state_[group];
  if (state.free == nullptr) RILL_TRY(add_slab(group));
  Page* const page = std::exchange(state.free, state.free->next_free);
  page->references.store(1, std::memory_order_relaxed);
  ++page->slab->used;
  ++state.used_pages;
  used_bytes_ += bytes;
  return page;
}

void PagePool::release(Page& page) noexcept {
  if (page.references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::lock_guard lock(mutex_);
  Group& state = state_[page.group];
  page.next_free = std::exchange(state.free, &page);
  --page.slab->used;
  --state.used_pages;
  used_bytes_ -= groups_[page.group].page_bytes();
}

void PagePool::copy(const Page& from, Page& to) const noexcept {
  const LayerGroup& group = groups_[from.group];
  const std::size_t heads = group.layers * 2 * group.layout.kv_heads;
  for (std::size_t i = 0; i < heads; ++i) {
    std::memcpy(to.base + i * group.layout.stride(), from.base + i * group.layout.stride(), group.layout.head_bytes());
  }
}

Result<void> PagePool::add_slab(std::size_t group) {
  const std::size_t page_bytes = groups_[group].page_bytes();
  const std::size_t pages_per_slab = state_[group].pages_per_slab;
  if (held_bytes_ + pages_per_slab * page_bytes > budget_bytes_) give_back_free_slabs();
  const std::uint64_t room = budget_bytes_ > held_bytes_ ? budget_bytes_ - held_bytes_ : 0;
  // One page at least: pages that are free among used ones of another group must not stand in the way of the budget.
  // What the budget has no room for is reserved with the others, and never touched.
  const auto count = static_cast<std::size_t>(std::clamp<std::uint64_t>(room / page_bytes, 1, pages_per_slab));
  return guarded([&]() -> Result<void> {
    auto slab = std::make_unique<Slab>();
    RILL_ASSIGN(slab->memory, Buffer::allocate(pages_per_slab * page_bytes));
    slab->pages = std::make_unique<Page[]>(count);
    slab->count = count;
    Group& state = state_[group];
    state.slabs.push_back(std::move(slab));
    Slab& added = *state.slabs.back();
    for (std::size_t i = count; i-- > 0;) {
      Page& page = added.pages[i];
      page.base = added.memory.data() + i * groups_[group].layout.head_bytes();
      page.group = static_cast<std::uint32_t>(group);
      page.slab = &added;
      page.next_free = std::exchange(state.free, &page);
    }
    held_bytes_ += count * page_bytes;
    return {};
  });
}

void PagePool::give_back_free_slabs() noexcept {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    Group& state = state_[group];
    for (Page** link = &state.free; *link != nullptr;) {
      if ((*link)->slab->used == 0) {
        *link = (*link)->next_free;
      } else {
        link = &(*link)->next_free;
      }
    }
    std::erase_if(state.slabs, [&](const std::unique_ptr<Slab>& slab) {
      if (slab->used > 0) return false;
      held_bytes_ -= slab->count * groups_[group].page_bytes();
      return true;
    });
  }
}

void PagePool::grow_budget(std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  budget_bytes_ += std::min(bytes, std::numeric_limits<std::uint64_t>::max() - budget_bytes_);
}

void PagePool::shrink_budget(std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  budget_bytes_ -= std::min(budget_bytes_, bytes);
}

PoolStats PagePool::stats() const {
  const std::lock_guard lock(mutex_);
  PoolStats stats{budget_bytes_, used_bytes_, held_bytes_, {}, {}};
  for (const Group& group : state_) {
    std::size_t pages = 0;
    for (const auto& slab : group.slabs) pages += slab->count;
    stats.used_pages.push_back(group.used_pages);
    stats.free_pages.push_back(pages - group.used_pages);
  }
  return stats;
}

}  // namespace rill::kv
