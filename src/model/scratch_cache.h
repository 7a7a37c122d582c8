// Scratch memory of large forward passes, kept by the model for the next one: fresh memory costs a page fault every 4 KiB,
// and sessions that each held their own would add up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
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
    Buffer outgrown;  // the last that is kept, if all are too small: it goes before a larger one comes
    {
      const std::lock_guard lock(mutex_);
      auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Buffer& one) { return one.size() >= bytes; });
      const bool fits = found != kept_.end();
      if (!fits && !kept_.empty()) found = std::prev(kept_.end());
      if (found != kept_.end()) {
        outgrown = std::move(*found);
        kept_.erase(found);
        if (fits) return outgrown;
      }
    }
    outgrown = Buffer();
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
