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

std::uint64_t peak_bytes(std::span<const LayerGroup> groups, std::uint64_t tokens, std::uint64_t chunk_tokens,
                         std::uint64_t rollback_reserve) {
  // That many neighbouring tokens, wherever they begin in their first page.
  const auto touched = [](std::uint64_t count) { return pages_for(count + kTokensPerPage - 1); };
  std::uint64_t bytes = 0;
  for (const LayerGroup& group : groups) {
    std::uint64_t pages = pages_for(tokens);
    if (group.window > 0) {
      const std::uint64_t kept = group.window + std::min(rollback_reserve, tokens);
      pages = std::min<std::uint64_t>(pages, touched(kept) + touched(kept + chunk_tokens));
    }
    bytes += (pages + 1) * group.page_bytes();
  }
  return bytes;
}

SequenceCache::SequenceCache(std::shared_ptr<PagePool> pool, std::uint64_t rollback_reserve)
    : pool_(std::move(pool)), rollback_reserve_(rollback_reserve), tables_(pool_->groups().size()) {}

SequenceCache& SequenceCache::operator=(SequenceCache&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(rollback_reserve_, other.rollback_reserve_);
  std::swap(length_, other.length_);
  std::swap(tables_, other.tables_);
  return *this;
}

SequenceCache::~SequenceCache() {
  for (Table& table : tables_) {
    drop_pages_from(table, 0);
    if (table.replaced != nullptr) pool_->release(*table.replaced);
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
  if (length_ % kTokensPerPage != 0 && count > last && table.replaced == nullptr && table.pages[last]->shared()) {
    RILL_ASSIGN(Page* const copy, pool_->acquire(group));
    pool_->copy(*table.pages[last], *copy);
    table.replaced = std::exchange(table.pages[last], copy);
    table.bases[last] = copy->base;
  }
  while (table.pages.size() < count) {
    RILL_ASSIGN(Page* const page, pool_->acquire(group));
    table.pages.push_back(page);
    table.bases.push_back(page->base);
  }
  return {};
}

void SequenceCache::drop_page(Table& table, std::size_t index) noexcept {
  if (Page* const page = std::exchange(table.pages[index], nullptr)) pool_->release(*page);
  table.bases[index] = nullptr;
}

void SequenceCache::drop_pages_from(Table& table, std::size_t count) noexcept {
  for (std::size_t index = count; index < table.pages.size(); ++index) drop_page(table, index);
  table.pages.resize(std::min(count, table.pages.size()));
  table.bases.resize(table.pages.size());
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
    for (std::size_t index = pages_for(length_); index < end; ++index) drop_page(table, index);
  }
}

void SequenceCache::commit(std::uint64_t length, std::uint64_t ahead) noexcept {
  for (std::size_t group = 0; group < tables_.size(); ++group) {
    Table& table = tables_[group];
    if (Page* const original = std::exchange(table.replaced, nullptr)) pool_->release(*original);
    drop_pages_from(table, pages_for(std::max(length, ahead)));
    const std::size_t end = std::min(first_kept_page(group, length), table.pages.size());
    while (table.first_held < end) drop_page(table, table.first_held++);
  }
  length_ = length;
}

void SequenceCache::abort() noexcept {
  const auto last = static_cast<std::size_t>(length_ / kTokensPerPage);
  for (Table& table : tables_) {
    if (Page* const original = std::exchange(table.replaced, nullptr)) {
      drop_page(table, last);
      table.pages[last] = original;
      table.bases[last] = original->base;
    }
    drop_pages_from(table, pages_for(length_));
  }
}

Result<void> SequenceCache::truncate(std::uint64_t length) {
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

SequenceCache SequenceCache::fork() const {
  SequenceCache other(pool_, rollback_reserve_);
  const auto pages = static_cast<std::ptrdiff_t>(pages_for(length_));  // not those beyond: who writes there does not look
  for (std::size_t group = 0; group < tables_.size(); ++group) {
    const Table& from = tables_[group];
    Table& to = other.tables_[group];
    to.first_held = from.first_held;
    to.bases.assign(from.bases.begin(), from.bases.begin() + pages);
    to.pages.assign(from.pages.begin(), from.pages.begin() + pages);  // the last that may throw: from here on the pages are counted
    for (Page* const page : to.pages) {
      if (page != nullptr) pool_->retain(*page);
    }
  }
  other.length_ = length_;
  return other;
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
