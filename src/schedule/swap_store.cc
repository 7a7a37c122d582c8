#include "schedule/swap_store.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace rill::schedule {

Result<SwapStore> SwapStore::create(const SwapOptions& options) {
  SwapStore store(options);
  if (options.file_bytes > 0) {
    RILL_ASSIGN(store.file_, os::ScratchFile::create(options.directory));
  }
  return store;
}

SwapStore::Slot::~Slot() {
  if (store_ == nullptr) return;
  if (offset_) {
    store_->extents_.erase(*offset_);
    store_->file_used_ -= bytes_;
  } else {
    store_->memory_used_ -= bytes_;
  }
}

// The first gap that is long enough.
std::optional<std::uint64_t> SwapStore::place_in_file(std::uint64_t bytes) const {
  if (!file_ || bytes > options_.file_bytes) return std::nullopt;
  std::uint64_t end = 0;
  for (const auto& [offset, length] : extents_) {
    if (offset - end >= bytes) return end;
    end = offset + length;
  }
  return options_.file_bytes - end >= bytes ? std::optional(end) : std::nullopt;
}

Result<std::optional<SwapStore::Slot>> SwapStore::keep(const kv::SequenceCache& cache) {
  const kv::SequenceCache::Extent extent = cache.extent();
  RILL_ASSIGN(const std::uint64_t bytes, cache.copy_bytes(extent));
  const bool in_memory = options_.memory_bytes - memory_used_ >= bytes;
  const auto place = in_memory ? std::nullopt : place_in_file(bytes);
  if (!in_memory && !place) return std::optional<Slot>();

  std::vector<std::byte> memory;
  std::uint64_t at = place.value_or(0);
  if (in_memory) memory.reserve(bytes);
  RILL_TRY(cache.copy_out([&](std::span<const std::byte> piece) -> Result<void> {
    if (in_memory) {
      memory.insert(memory.end(), piece.begin(), piece.end());
    } else {
      RILL_TRY(file_->write(at, piece));
      at += piece.size();
    }
    return {};
  }));
  Slot slot(this, extent, bytes);
  slot.memory_ = std::move(memory);
  if (place) extents_.emplace(*place, bytes);
  slot.offset_ = place;
  (place ? file_used_ : memory_used_) += bytes;
  return std::optional<Slot>(std::move(slot));
}

Result<void> SwapStore::restore(const Slot& slot, kv::SequenceCache& cache) const {
  std::uint64_t at = slot.offset_.value_or(0);
  return cache.copy_in(slot.extent_, [&](std::span<std::byte> piece) -> Result<void> {
    if (slot.offset_) {
      RILL_TRY(file_->read(at, piece));
    } else {
      std::memcpy(piece.data(), slot.memory_.data() + at, piece.size());
    }
    at += piece.size();
    return {};
  });
}

}  // namespace rill::schedule
