#include "rill/kv_pool.h"

#include <utility>

#include "base/error.h"
#include "kv/page_pool.h"
#include "model/kv_places.h"
#include "model/loaded_model.h"

namespace rill {

Result<std::shared_ptr<KvPool>> KvPool::create(std::shared_ptr<const Model> model, KvPoolOptions options) {
  return guarded([&]() -> Result<std::shared_ptr<KvPool>> {
    if (model == nullptr) return make_error(ErrorCode::invalid_argument, "model is null");
    if (options.kv_type > KvType::q8_0) {
      return make_error(ErrorCode::invalid_argument, "kv_type is not one of f32, f16, q8_0");
    }
    std::vector<kv::LayerGroup> groups = model::kv_groups(model->loaded().config, options.kv_type);
    const std::size_t least = groups.size();
    RILL_ASSIGN(std::shared_ptr<kv::PagePool> pages, kv::PagePool::create(std::move(groups), options.budget_bytes));
    if (pages->capacity() < least) {
      return make_error(ErrorCode::invalid_argument, "budget_bytes = {} has no room for 16 tokens, which take {}",
                        options.budget_bytes, least * pages->page_bytes());
    }
    return std::make_shared<KvPool>(std::move(model), options, std::move(pages));
  });
}

KvPool::KvPool(std::shared_ptr<const Model> model, KvPoolOptions options, std::shared_ptr<kv::PagePool> pages)
    : model_(std::move(model)), options_(options), pages_(std::move(pages)) {}

KvPool::~KvPool() = default;

KvPoolUse KvPool::use() const {
  const kv::PoolStats stats = pages_->stats();
  const std::uint64_t page_bytes = pages_->page_bytes();
  return {.budget_bytes = stats.budget_bytes,
          .used_bytes = stats.used * page_bytes,
          .reserved_bytes = stats.reserved * page_bytes,
          .cached_bytes = stats.cached * page_bytes,
          .free_bytes = stats.available() * page_bytes,
          .held_bytes = stats.held_bytes,
          .page_bytes = page_bytes,
          .pages = stats.used + stats.cached};
}

}  // namespace rill
