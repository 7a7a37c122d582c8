// A hash table from keys that are stored elsewhere to their indices.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rill::tokenizer {

// Open addressing with linear probing at a load of at most one half. A slot keeps half of the hash, so that a miss
// hardly ever looks at a key. `equal(index)` says whether the key sought is the one of `index`.
class IndexTable {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  explicit IndexTable(std::size_t capacity = 0) : slots_(std::bit_ceil(2 * capacity)), mask_(slots_.size() - 1) {}

  std::size_t memory_bytes() const noexcept { return slots_.size() * sizeof(Slot); }

  // Asks for the memory that an insert with `hash` will touch: filling a table waits for memory and for little else.
  void prefetch([[maybe_unused]] std::uint64_t hash) const {
#ifdef __GNUC__
    __builtin_prefetch(&slots_[hash & mask_], 1);
#endif
  }

  template <typename Equal>
  std::uint32_t find(std::uint64_t hash, Equal&& equal) const {
    for (std::size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
      const Slot& entry = slots_[slot];
      if (entry.index == kNone) return kNone;
      if (entry.tag == hash >> 32 && equal(entry.index)) return entry.index;
    }
  }

  // Adds `index`, at most `capacity` times in all. Returns false and changes nothing if its key is there already.
  template <typename Equal>
  bool insert(std::uint64_t hash, std::uint32_t index, Equal&& equal) {
    for (std::size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
      Slot& entry = slots_[slot];
      if (entry.index == kNone) {
        entry = {static_cast<std::uint32_t>(hash >> 32), index};
        return true;
      }
      if (entry.tag == hash >> 32 && equal(entry.index)) return false;
    }
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t index = kNone;
  };
  std::vector<Slot> slots_;
  std::size_t mask_;
};

}  // namespace rill::tokenizer
