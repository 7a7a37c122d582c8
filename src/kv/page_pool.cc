#include "kv/page_pool.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/os.h"

namespace rill::kv {
namespace {

// Four huge pages: enough to be backed by them, little enough to be no burden where a few pages are used.
constexpr std::size_t kSlabBytes = std::size_t{8} << 20;
// Keys and values of one head in a run, about: what is read in one go. Longer ones are not read faster, and make sequences
// hold more than they use.
constexpr std::size_t kRunBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxRunPages = 64;  // bits of Run::free

constexpr std::uint64_t low_bits(std::size_t count) {
  return count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
}

// Whole spans of attention, so that each lies in one run.
std::size_t choose_pages_per_run(const LayerGroup& group, std::size_t pages) {
  const std::size_t spans = kRunBytes / (2 * kPagesPerSpan * group.layout.head_bytes());
  return std::min(pages, std::clamp(spans * kPagesPerSpan, kPagesPerSpan, kMaxRunPages));
}

}  // namespace

Reservation::Reservation(Reservation&& other) noexcept
    : pool_(std::move(other.pool_)), limit_(std::exchange(other.limit_, 0)), drawn_(std::exchange(other.drawn_, 0)) {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(limit_, other.limit_);
  std::swap(drawn_, other.drawn_);
  return *this;
}

void Reservation::shrink(std::size_t pages) noexcept {
  if (pool_ == nullptr || pages >= this->pages()) return;
  const std::lock_guard lock(pool_->mutex_);
  pool_->reserved_ -= this->pages() - pages;
  limit_ = drawn_ + pages;
}

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
    const KvLayout& first = groups[0].layout;
    if (groups[i].layers != groups[0].layers || layout.type != first.type || layout.kv_heads != first.kv_heads ||
        layout.head_dim != first.head_dim) {
      return make_error(ErrorCode::invalid_argument, "KV layer groups 0 and {} need pages of different shapes", i);
    }
  }
  if (budget_bytes < groups[0].page_bytes()) {
    return make_error(ErrorCode::invalid_argument, "a KV budget of {} bytes has no room for one page of {}",
                      budget_bytes, groups[0].page_bytes());
  }
  return guarded([&]() -> Result<std::shared_ptr<PagePool>> {
    return std::shared_ptr<PagePool>(new PagePool(std::move(groups), budget_bytes));
  });
}

PagePool::PagePool(std::vector<LayerGroup> groups, std::uint64_t budget_bytes)
    : groups_(std::move(groups)), budget_bytes_(budget_bytes) {
  capacity_ = static_cast<std::size_t>(
      std::min<std::uint64_t>(budget_bytes / page_bytes(), std::numeric_limits<std::size_t>::max()));
  pages_per_run_ = choose_pages_per_run(groups_[0], capacity_);
  runs_per_slab_ = std::max<std::size_t>(1, kSlabBytes / (pages_per_run_ * page_bytes()));
  for (LayerGroup& group : groups_) group.layout.head_stride = pages_per_run_ * group.layout.head_bytes();
}

PagePool::~PagePool() = default;

Error PagePool::exhausted(std::size_t pages) const {
  return make_error(ErrorCode::resource_exhausted,
                    "KV pages: {} more of {} bytes are needed, and of {} for which the budget of {} bytes has room {} are in "
                    "use and {} reserved",
                    pages, page_bytes(), capacity_, budget_bytes_, used_, charged_ - used_ + reserved_);
}

// How much of the budget the page takes. Mostly all holders keep it until they end, so that one charge serves them. But a page
// of a window each drops when it has moved on, and one that it shares in part each copies to go on: then it needs another. To
// each who was promised pages such a page counts as his own. The others pay for one beside a promised holder, who may
// have filled only a part of it himself, and then be the one who copies it.
std::size_t PagePool::charges(const Page& page) const noexcept {
  const bool lasting = page.lasting[0] + page.lasting[1] > 0;
  const bool others = page.passing[0] > 0 && (page.lasting[1] > 0 || !lasting);
  return page.passing[1] + (lasting ? 1 : 0) + (others ? 1 : 0);
}

std::uint32_t& PagePool::holders(Page& page, const Reservation& reservation, const Page* partial) const noexcept {
  auto& by_promise = groups_[page.group].window != 0 || &page == partial ? page.passing : page.lasting;
  return by_promise[reservation.promises() ? 1 : 0];
}

Result<void> PagePool::charge(std::size_t pages, Reservation& reservation) {
  const std::size_t promised = std::min(pages, reservation.pages());
  if (pages - promised > capacity_ - charged_ - reserved_) return exhausted(pages);
  charged_ += pages;
  reserved_ -= promised;
  reservation.drawn_ += pages;
  return {};
}

void PagePool::discharge(std::size_t pages, Reservation& reservation) noexcept {
  const std::size_t before = reservation.pages();
  charged_ -= pages;
  reservation.drawn_ -= std::min(pages, reservation.drawn_);
  reserved_ += reservation.pages() - before;
}

Result<Reservation> PagePool::reserve(std::size_t pages) {
  Reservation reservation(shared_from_this(), 0);
  const std::lock_guard lock(mutex_);
  if (pages > capacity_ - charged_ - reserved_) return exhausted(pages);
  reserved_ += pages;
  reservation.limit_ = pages;
  return reservation;
}

void PagePool::add_reclaimer(std::weak_ptr<Reclaimer> reclaimer) {
  const std::lock_guard lock(mutex_);
  reclaimers_.push_back(std::move(reclaimer));
}

Result<Page*> PagePool::acquire(std::size_t group, const Page* after, Reservation& reservation) {
  std::unique_lock lock(mutex_);
  RILL_TRY(charge(1, reservation));  // before it is there: nobody else can take the room meanwhile
  Result<Page*> taken = take_free(after);
  while (!taken && reclaim(lock)) taken = take_free(after);
  if (!taken) {
    discharge(1, reservation);
    return taken;
  }
  Page& page = **taken;
  page.group = static_cast<std::uint32_t>(group);
  add_reference(page, Holder::sequence, reservation, nullptr);
  return &page;
}

Result<void> PagePool::retain(std::span<Page* const> pages, Holder holder, Reservation& reservation,
                              const Page* partial) {
  const std::lock_guard lock(mutex_);
  std::size_t added = 0;
  for (Page* const page : pages) {
    if (page == nullptr) continue;
    added -= charges(*page);
    add_reference(*page, holder, reservation, partial);
    added += charges(*page);
  }
  auto charged = charge(added, reservation);
  if (!charged) {
    for (Page* const page : pages) {
      if (page != nullptr) drop_reference(*page, holder, reservation, partial);
    }
  }
  return charged;
}

void PagePool::release(std::span<Page* const> pages, Holder holder, Reservation& reservation,
                       const Page* partial) noexcept {
  const std::lock_guard lock(mutex_);
  for (Page* const page : pages) {
    if (page == nullptr) continue;
    const std::size_t before = charges(*page);
    drop_reference(*page, holder, reservation, partial);
    discharge(before - charges(*page), reservation);
  }
}

void PagePool::keep(Page& partial, const Reservation& reservation) noexcept {
  const std::lock_guard lock(mutex_);
  --holders(partial, reservation, &partial);
  ++holders(partial, reservation, nullptr);
}

void PagePool::add_reference(Page& page, Holder holder, const Reservation& reservation, const Page* partial) noexcept {
  const std::uint32_t references = page.references.fetch_add(1, std::memory_order_relaxed);
  if (holder == Holder::cache) {
    ++page.cached;
    return;
  }
  if (references == page.cached) {
    ++used_;
    if (page.cached > 0) --cached_;
  }
  ++holders(page, reservation, partial);
}

void PagePool::drop_reference(Page& page, Holder holder, const Reservation& reservation, const Page* partial) noexcept {
  const std::uint32_t references = page.references.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if (holder == Holder::cache) {
    ++given_up_;
    if (--page.cached == 0 && references == 0) --cached_;
  } else {
    --holders(page, reservation, partial);
    if (references == page.cached) {
      --used_;
      if (page.cached > 0) ++cached_;
    }
  }
  if (references > 0) return;
  runs_[page.run].free |= std::uint64_t{1} << page.slot;
  first_free_run_ = std::min<std::size_t>(first_free_run_, page.run);
}

std::size_t PagePool::count_in_use(std::span<Page* const> pages) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(pages.begin(), pages.end(), [](const Page* page) {
    return page != nullptr && (page->lasting[1] > 0 || (page->lasting[0] > 0 && page->passing[0] == 0));
  }));
}

void PagePool::copy(const Page& from, Page& to) const noexcept {
  const LayerGroup& group = groups_[0];
  const std::size_t heads = group.layers * 2 * group.layout.kv_heads;
  for (std::size_t i = 0; i < heads; ++i) {
    std::memcpy(to.base + i * group.layout.stride(), from.base + i * group.layout.stride(), group.layout.head_bytes());
  }
}

// Behind `after` or else in its run; or else in a run of which nothing is used, unless most of the memory lies idle in runs
// that are in use; or else anywhere.
Result<Page*> PagePool::take_free(const Page* after) {
  if (after != nullptr && runs_[after->run].free != 0) return take_from(after->run, after->slot);
  while (first_free_run_ < runs_.size() && runs_[first_free_run_].free == 0) ++first_free_run_;
  if (const std::size_t run = find_unused_run(); run < runs_.size()) return take_from(run, 0);
  const std::size_t free = held_ - used_ - cached_;
  Error error;
  if (wants_slab()) {
    const Result<void> added = add_slab();
    if (added) return take_from(runs_.size() - 1, 0);
    error = added.error();
  } else if (free == 0) {
    error = exhausted(1);
  }
  if (free == 0) return error;
  return take_from(first_free_run_, 0);
}

// The number of runs if there is none.
std::size_t PagePool::find_unused_run() const noexcept {
  const auto unused = [](const Run& run) { return run.free == run.all; };
  const auto begin = runs_.begin() + static_cast<std::ptrdiff_t>(first_free_run_);
  return static_cast<std::size_t>(std::find_if(begin, runs_.end(), unused) - runs_.begin());
}

bool PagePool::wants_slab() const noexcept {
  return held_ < capacity_ && held_ - used_ - cached_ <= held_ / 2;
}

void PagePool::prepare_memory() noexcept {
  std::span<std::byte> piece;
  {
    const std::lock_guard lock(mutex_);
    if (untouched_.empty()) {
      if (held_ == 0 || !wants_slab() || find_unused_run() < runs_.size() || !add_slab()) return;
    }
    piece = untouched_.first(std::min(untouched_.size(), os::kHugePageBytes));
    untouched_ = untouched_.subspan(piece.size());
  }
  os::populate(piece.data(), piece.size());
}

Page* PagePool::take_from(std::size_t run, std::size_t first_slot) noexcept {
  std::uint64_t& free = runs_[run].free;
  const std::uint64_t behind = free & ~low_bits(first_slot);
  const int slot = std::countr_zero(behind != 0 ? behind : free);
  free &= ~(std::uint64_t{1} << slot);
  return &runs_[run].pages[slot];
}

Result<void> PagePool::add_slab() {
  return guarded([&]() -> Result<void> {
    const std::size_t room = capacity_ - held_;
    const std::size_t runs = std::clamp<std::size_t>(room / pages_per_run_, 1, runs_per_slab_);
    const std::size_t run_bytes = pages_per_run_ * page_bytes();
    Slab slab;
    RILL_ASSIGN(slab.memory, Buffer::allocate(runs * run_bytes));
    slab.pages = std::make_unique<Page[]>(runs * pages_per_run_);
    slabs_.reserve(slabs_.size() + 1);
    runs_.reserve(runs_.size() + runs);
    // The last run of a budget may be a short one. What lies between its pages is never touched, and so takes no memory.
    const std::size_t count = std::min(room, pages_per_run_);
    const bool whole = count == pages_per_run_;
    if (!whole) os::advise_small_pages(slab.memory.data(), run_bytes);
    untouched_ = {slab.memory.data(), whole ? slab.memory.size() : 0};
    for (std::size_t i = 0; i < runs; ++i) {
      Page* const pages = &slab.pages[i * pages_per_run_];
      for (std::size_t slot = 0; slot < count; ++slot) {
        pages[slot].base = slab.memory.data() + i * run_bytes + slot * groups_[0].layout.head_bytes();
        pages[slot].run = static_cast<std::uint32_t>(runs_.size());
        pages[slot].slot = static_cast<std::uint32_t>(slot);
      }
      runs_.push_back({pages, low_bits(count), low_bits(count)});
    }
    slabs_.push_back(std::move(slab));
    held_ += runs * count;
    return {};
  });
}

// Whether a page has become free.
bool PagePool::reclaim(std::unique_lock<std::mutex>& lock) noexcept {
  for (std::size_t i = 0; i < reclaimers_.size();) {
    std::shared_ptr<Reclaimer> reclaimer = reclaimers_[i].lock();
    if (reclaimer == nullptr) {
      reclaimers_.erase(reclaimers_.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    std::uint64_t before;
    do {
      before = given_up_;
      lock.unlock();
      reclaimer->reclaim(1);
      lock.lock();
    } while (used_ + cached_ == held_ && given_up_ != before);
    lock.unlock();
    reclaimer.reset();  // here: if it is the last reference, its end releases pages
    lock.lock();
    if (used_ + cached_ < held_) return true;
    ++i;
  }
  return false;
}

PoolStats PagePool::stats() const {
  const std::lock_guard lock(mutex_);
  PoolStats stats;
  stats.budget_bytes = budget_bytes_;
  stats.held_bytes = held_ * page_bytes();
  stats.capacity = capacity_;
  stats.used = used_;
  stats.cached = cached_;
  stats.reserved = charged_ - used_ + reserved_;
  return stats;
}

}  // namespace rill::kv
