#include "kv/sequence_cache.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace rill::kv {
namespace {

std::size_t pages_for(std::uint64_t tokens) {
  return static_cast<std::size_t>(tokens / kTokensPerPage + (tokens % kTokensPerPage != 0));
}

}  // namespace

std::size_t peak_pages(std::span<const LayerGroup> groups, const KvSequence& growth) noexcept {
  std::uint64_t pages = 0;
  for (const LayerGroup& group : groups) pages += kv_pages_peak(growth, group.window) + 1;
  return static_cast<std::size_t>(pages);
}

SequenceCache::SequenceCache(std::shared_ptr<PagePool> pool, std::uint64_t rollback_reserve, Reservation reservation)
    : pool_(std::move(pool)),
      rollback_reserve_(rollback_reserve),
      reservation_(std::move(reservation)),
      tables_(pool_->groups().size()) {}

SequenceCache& SequenceCache::operator=(SequenceCache&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(rollback_reserve_, other.rollback_reserve_);
  std::swap(reservation_, other.reservation_);
  std::swap(length_, other.length_);
  std::swap(tables_, other.tables_);
  return *this;
}

SequenceCache::~SequenceCache() {
  for (Table& table : tables_) {
    release(table, {&table.replaced, 1});
    release(table, table.pages);
  }
}

Result<void> SequenceCache::extend_to(std::uint64_t end) {
  Result<void> result = guarded([&]() -> Result<void> {
    for (std::size_t group = 0; group < tables_.size(); ++group) RILL_TRY(add_pages(group, pages_for(end)));
    return {};
  });
  if (!result) abort();
  return result;
}

Result<void> SequenceCache::add_pages(std::size_t group, std::size_t count) {
  Table& table = tables_[group];
  if (count > table.pages.capacity()) table.pages.reserve(std::max(count, 2 * table.pages.capacity()));
  if (count > table.bases.capacity()) table.bases.reserve(std::max(count, 2 * table.bases.capacity()));

  const auto last = static_cast<std::size_t>(length_ / kTokensPerPage);
  const bool goes_on = length_ % kTokensPerPage != 0 && count > last && table.replaced == nullptr;
  if (goes_on && !table.pages[last]->shared()) {
    if (table.partial != nullptr) pool_->keep(*std::exchange(table.partial, nullptr), reservation_);
  } else if (goes_on) {
    RILL_ASSIGN(Page* const copy, acquire(group, table.pages[last]));
    pool_->copy(*table.pages[last], *copy);
    table.replaced = std::exchange(table.pages[last], copy);
    table.bases[last] = copy->base;
  }
  while (table.pages.size() < count) {
    RILL_ASSIGN(Page* const page, acquire(group, table.pages.empty() ? nullptr : table.pages.back()));
    table.pages.push_back(page);
    table.bases.push_back(page->base);
  }
  return {};
}

void SequenceCache::release(Table& table, std::span<Page* const> pages) noexcept {
  pool_->release(pages, Holder::sequence, reservation_, table.partial);
  if (std::find(pages.begin(), pages.end(), table.partial) != pages.end()) table.partial = nullptr;
}

void SequenceCache::drop_pages(Table& table, std::size_t begin, std::size_t end) noexcept {
  if (begin >= end) return;
  release(table, std::span(table.pages).subspan(begin, end - begin));
  for (std::size_t index = begin; index < end; ++index) {
    table.pages[index] = nullptr;
    table.bases[index] = nullptr;
  }
}

void SequenceCache::drop_pages_from(Table& table, std::size_t count) noexcept {
  if (count >= table.pages.size()) return;
  release(table, std::span(table.pages).subspan(count));
  table.pages.resize(count);
  table.bases.resize(count);
}

std::size_t SequenceCache::first_kept_page(std::size_t group, std::uint64_t length) const noexcept {
  const std::uint64_t window = pool_->groups()[group].window;
  if (window == 0 || length <= window || length - window <= rollback_reserve_) {
    return 0;  // the sum of the two may overflow
  }
  return static_cast<std::size_t>((length - window - rollback_reserve_) / kTokensPerPage);
}

void SequenceCache::release_passed(std::uint64_t position) noexcept {
  for (std::size_t group = 0; group < tables_.size(); ++group) {
    Table& table = tables_[group];
    const std::size_t end = std::min(first_kept_page(group, position), table.pages.size());
    drop_pages(table, pages_for(length_), end);
  }
}

void SequenceCache::commit(std::uint64_t length, std::uint64_t ahead) noexcept {
  for (std::size_t group = 0; group < tables_.size(); ++group) {
    Table& table = tables_[group];
    if (Page* const original = std::exchange(table.replaced, nullptr)) release(table, {&original, 1});
    drop_pages_from(table, pages_for(std::max(length, ahead)));
    const std::size_t end = std::min(first_kept_page(group, length), table.pages.size());
    drop_pages(table, table.first_held, end);
    table.first_held = std::max(table.first_held, end);
  }
  length_ = length;
}

void SequenceCache::abort() noexcept {
  const auto last = static_cast<std::size_t>(length_ / kTokensPerPage);
  for (Table& table : tables_) {
    if (Page* const original = std::exchange(table.replaced, nullptr)) {
      drop_pages(table, last, last + 1);
      table.pages[last] = original;
      table.bases[last] = original->base;
    }
    drop_pages_from(table, pages_for(length_));
  }
}

Result<void> SequenceCache::check_truncation(std::uint64_t length) const {
  if (length > length_) {
    return make_error(ErrorCode::invalid_argument, "cannot truncate to {} tokens: the sequence has {}", length,
                      length_);
  }
  if (length != 0 && length < lowest_truncation()) {
    return make_error(
        ErrorCode::window_evicted,
        "cannot truncate to {} tokens: sliding-window layers no longer hold what the next token would see; {} is "
        "the lowest length possible",
        length, lowest_truncation());
  }
  return {};
}

Result<void> SequenceCache::truncate(std::uint64_t length) {
  RILL_TRY(check_truncation(length));
  for (Table& table : tables_) {
    drop_pages_from(table, pages_for(length));
    table.first_held = std::min(table.first_held, table.pages.size());
  }
  length_ = length;
  return {};
}

std::uint64_t SequenceCache::lowest_truncation() const noexcept {
  std::uint64_t lowest = 0;
  for (std::size_t group = 0; group < tables_.size(); ++group) {
    const std::uint64_t first_position = tables_[group].first_held * kTokensPerPage;
    // The next token, at position n, sees (n - window, n].
    if (first_position > 0) lowest = std::max(lowest, first_position + pool_->groups()[group].window - 1);
  }
  return lowest;
}

Result<SequenceCache> SequenceCache::fork_at(std::uint64_t length, Reservation reservation) const {
  RILL_TRY(check_truncation(length));
  return guarded([&]() -> Result<SequenceCache> {
    SequenceCache other(pool_, rollback_reserve_, std::move(reservation));
    const std::size_t pages = pages_for(length);  // not those beyond: who writes there does not look
    for (std::size_t group = 0; group < tables_.size(); ++group) {
      const Table& from = tables_[group];
      Table& to = other.tables_[group];
      const auto held = std::span(from.pages).first(pages);
      to.pages.reserve(pages);
      to.bases.assign(from.bases.begin(), from.bases.begin() + static_cast<std::ptrdiff_t>(pages));
      Page* const partial = length % kTokensPerPage != 0 ? held.back() : nullptr;
      RILL_TRY(pool_->retain(held, Holder::sequence, other.reservation_, partial));
      to.partial = partial;
      to.pages.assign(held.begin(), held.end());
      to.first_held = std::min(from.first_held, pages);
    }
    other.length_ = length;
    return other;
  });
}

// With a page of each group to spare for a copy on write.
std::size_t SequenceCache::pages_to_come(const KvSequence& growth) const noexcept {
  std::uint64_t needed = 0;
  for (std::size_t group = 0; group < tables_.size(); ++group) {
    const Table& table = tables_[group];
    const std::uint64_t most = kv_pages_peak(growth, pool_->groups()[group].window);
    needed += 1 + most - std::min<std::uint64_t>(most, table.pages.size() - table.first_held);
  }
  return static_cast<std::size_t>(needed);
}

Result<void> SequenceCache::adopt(std::uint64_t length, std::vector<std::vector<Page*>> pages) {
  for (std::size_t group = 0; group < tables_.size(); ++group) tables_[group].bases.assign(pages[group].size(), nullptr);
  for (std::size_t group = 0; group < tables_.size(); ++group) {
    const auto kept = pages[group].begin() + static_cast<std::ptrdiff_t>(first_kept_page(group, length));
    const auto hole = std::find(pages[group].rbegin(), std::make_reverse_iterator(kept), nullptr);
    std::fill(pages[group].begin(), hole.base(), nullptr);
    Page* const partial = length % kTokensPerPage != 0 ? pages[group].back() : nullptr;
    if (const auto retained = pool_->retain(pages[group], Holder::sequence, reservation_, partial); !retained) {
      for (Table& table : tables_) {
        drop_pages_from(table, 0);
        table.bases.clear();
        table.first_held = 0;
      }
      return retained.error();
    }
    Table& table = tables_[group];
    table.first_held = static_cast<std::size_t>(hole.base() - pages[group].begin());
    table.pages = std::move(pages[group]);
    table.partial = partial;
    for (std::size_t page = table.first_held; page < table.pages.size(); ++page) table.bases[page] = table.pages[page]->base;
  }
  length_ = length;
  return {};
}

bool SequenceCache::holds_window(std::size_t page) const noexcept {
  for (std::size_t group = 0; group < tables_.size(); ++group) {
    if (pool_->groups()[group].window != 0 && page < tables_[group].pages.size() && tables_[group].pages[page] != nullptr) {
      return true;
    }
  }
  return false;
}

std::uint64_t SequenceCache::bytes_held() const noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t group = 0; group < tables_.size(); ++group) {
    const Table& table = tables_[group];
    const auto holes = std::count(table.pages.begin(), table.pages.end(), nullptr);
    const std::size_t pages =
        table.pages.size() - static_cast<std::size_t>(holes) + (table.replaced != nullptr ? 1 : 0);
    bytes += pages * pool_->groups()[group].page_bytes();
  }
  return bytes;
}

}  // namespace rill::kv
