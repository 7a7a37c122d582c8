// Memory for the keys and values of many sessions of one model, under one byte budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rill/export.h"
#include "rill/kv_plan.h"
#include "rill/result.h"

namespace rill {

namespace kv {
class PagePool;
}
class Model;

struct KvPoolOptions {
  std::uint64_t budget_bytes = ~std::uint64_t{0};  // that the pool may take from the system; as it is: no limit
  KvType kv_type = KvType::f16;
};

// A snapshot. used + reserved + free is the budget, rounded down to whole pages.
struct KvPoolUse {
  std::uint64_t budget_bytes = 0;
  std::uint64_t used_bytes = 0;      // of pages that sessions hold or prefix caches have pinned, shared ones once
  std::uint64_t reserved_bytes = 0;  // promised to requests and not taken yet
  std::uint64_t cached_bytes = 0;    // of pages that only prefix caches hold: given up when they are needed, so they are free
  std::uint64_t free_bytes = 0;      // that may still be promised or taken
  std::uint64_t held_bytes = 0;      // taken from the system, kept for reuse; never above the budget
  std::uint64_t page_bytes = 0;      // 16 tokens of a group of layers
  std::size_t pages = 0;             // that anyone holds: 0 when all sessions have ended and caches are empty
};

// Pages of 16 tokens that sessions share by reference and copy when they write. A page is free the moment that no session
// needs it, and then serves any other: there is no fragmentation. When it has no room the pool refuses the one who asks
// (resource_exhausted, with the numbers), and leaves all others alone. Thread-safe.
class RILL_EXPORT KvPool {
 public:
  // invalid_argument: no model, or a budget that has no room for 16 tokens.
  static Result<std::shared_ptr<KvPool>> create(std::shared_ptr<const Model> model, KvPoolOptions options = {});
  KvPool(std::shared_ptr<const Model> model, KvPoolOptions options, std::shared_ptr<kv::PagePool> pages);
  ~KvPool();
  KvPool(const KvPool&) = delete;
  KvPool& operator=(const KvPool&) = delete;

  const std::shared_ptr<const Model>& model() const noexcept { return model_; }
  const KvPoolOptions& options() const noexcept { return options_; }
  KvPoolUse use() const;

  // For the other parts of rill: outside of it the type is incomplete.
  const std::shared_ptr<kv::PagePool>& pages() const noexcept { return pages_; }

 private:
  std::shared_ptr<const Model> model_;
  KvPoolOptions options_;
  std::shared_ptr<kv::PagePool> pages_;
};

}  // namespace rill
