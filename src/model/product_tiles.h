// How the 16-row groups of a product are dealt out to threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace rill::model {

// Each thread takes one long run of weights first, which is what memory gives fastest, and ever shorter ones from what
// is left, so that the threads end together: one that comes late leaves its last tile to another, and then waits for it.
class ProductTiles {
 public:
  // `group_work`: multiply-adds of one group with all rows of activations.
  ProductTiles(std::size_t groups, std::size_t group_work, std::size_t threads)
      : groups_(groups),
        threads_(threads),
        rounds_(groups * group_work < kLong ? std::span<const std::size_t>(kCoarse) : kFine) {}

  std::size_t count() const { return (rounds_.size() - 1) * threads_; }
  // The first group of a tile; that of tile count() is the number of groups.
  std::size_t begin(std::size_t tile) const {
    if (tile == count()) return groups_;
    const std::size_t round = tile / threads_, share = rounds_[round + 1] - rounds_[round];
    return groups_ * (rounds_[round] * threads_ + share * (tile % threads_)) / (rounds_.back() * threads_);
  }

 private:
  // Multiply-adds of some 100 us on two cores; in a shorter product fine tiles would cost more than they save.
  static constexpr std::size_t kLong = 32'000'000;
  // Where the rounds begin, one tile for each thread, in shares of the whole.
  static constexpr std::array<std::size_t, 4> kCoarse = {0, 22, 28, 32};
  static constexpr std::array<std::size_t, 7> kFine = {0, 36, 50, 57, 61, 63, 64};

  std::size_t groups_, threads_;
  std::span<const std::size_t> rounds_;
};

// Tiles of which neighbours share cache lines, or lie beside each other in memory: each thread takes one run of them,
// where else the threads would take turns.
class NeighbouringTiles {
 public:
  NeighbouringTiles(std::size_t tiles, std::size_t threads)
      : threads_(std::max<std::size_t>(1, std::min(threads, tiles))),
        each_(tiles / threads_),
        longer_(tiles % threads_) {}
  // What the pool is to do as its tile of that number.
  std::size_t operator[](std::size_t tile) const {
    const std::size_t thread = tile % threads_;
    return thread * each_ + std::min(thread, longer_) + tile / threads_;
  }

 private:
  std::size_t threads_, each_;
  std::size_t longer_;  // so many threads have one tile more than the others
};

}  // namespace rill::model
