// Keys and values of answers that had to give up their pages, in memory or in a file, within a budget.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/os.h"
#include "kv/sequence_cache.h"
#include "rill/scheduler.h"

namespace rill::schedule {

// Memory first, then the file, which has no name and is gone with the process. One thread at a time; must outlive its slots.
class SwapStore {
 public:
  // io: the file cannot be made.
  static Result<SwapStore> create(const SwapOptions& options);

  // What was kept of one sequence; its room is free again when it is destroyed. Move-only.
  class Slot {
   public:
    Slot(Slot&& other) noexcept
        : store_(std::exchange(other.store_, nullptr)),
          extent_(std::move(other.extent_)),
          bytes_(other.bytes_),
          memory_(std::move(other.memory_)),
          offset_(other.offset_) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot();

    std::uint64_t bytes() const { return bytes_; }

   private:
    friend class SwapStore;
    Slot(SwapStore* store, kv::SequenceCache::Extent extent, std::uint64_t bytes)
        : store_(store), extent_(std::move(extent)), bytes_(bytes) {}

    SwapStore* store_;
    kv::SequenceCache::Extent extent_;
    std::uint64_t bytes_;
    std::vector<std::byte> memory_;
    std::optional<std::uint64_t> offset_ = std::nullopt;  // in the file; else it is in memory_
  };

  std::uint64_t used_bytes() const { return memory_used_ + file_used_; }
  // Nothing where there is no room for it.
  Result<std::optional<Slot>> keep(const kv::SequenceCache& cache);
  // Into an empty sequence. resource_exhausted: its pool has no room, and it stays empty.
  Result<void> restore(const Slot& slot, kv::SequenceCache& cache) const;

 private:
  explicit SwapStore(const SwapOptions& options) : options_(options) {}
  std::optional<std::uint64_t> place_in_file(std::uint64_t bytes) const;

  SwapOptions options_;
  std::optional<os::ScratchFile> file_;
  std::uint64_t memory_used_ = 0;
  std::uint64_t file_used_ = 0;
  std::map<std::uint64_t, std::uint64_t> extents_;  // of the file that are in use: where they begin, and their lengths
};

}  // namespace rill::schedule
