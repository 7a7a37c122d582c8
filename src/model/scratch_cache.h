// Scratch memory of large forward passes, kept by the model for the next one: fresh memory costs a page fault every 4 KiB,
// and sessions that each held their own would add up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "rill/result.h"

namespace rill::model {

// Thread-safe.
class ScratchCache {
 public:
  ScratchCache() { kept_.reserve(kMost); }

  // At least that many bytes, unspecified.
  Result<Buffer> take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      const auto fits = std::find_if(kept_.begin(), kept_.end(), [&](const Buffer& one) { return one.size() >= bytes; });
      if (fits != kept_.end()) {
        Buffer found = std::move(*fits);
        kept_.erase(fits);
        return found;
      }
    }
    return Buffer::allocate(bytes);
  }
  // Keeps the largest.
  void give(Buffer buffer) noexcept {
    const std::lock_guard lock(mutex_);
    if (kept_.size() < kMost) {
      kept_.push_back(std::move(buffer));
      return;
    }
    const auto least =
        std::min_element(kept_.begin(), kept_.end(), [](const Buffer& a, const Buffer& b) { return a.size() < b.size(); });
    if (least->size() < buffer.size()) *least = std::move(buffer);
  }

 private:
  static constexpr std::size_t kMost = 2;

  std::mutex mutex_;
  std::vector<Buffer> kept_;
};

}  // namespace rill::model
