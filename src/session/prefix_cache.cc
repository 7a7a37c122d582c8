#include "rill/prefix_cache.h"

#include <utility>

#include "base/error.h"
#include "kv/page_pool.h"
#include "kv/prefix_tree.h"
#include "rill/session.h"
#include "session/session_state.h"

namespace rill {

Result<std::shared_ptr<PrefixCache>> PrefixCache::create(std::shared_ptr<KvPool> pool, PrefixCacheOptions options) {
  return guarded([&]() -> Result<std::shared_ptr<PrefixCache>> {
    if (pool == nullptr) return make_error(ErrorCode::invalid_argument, "pool is null");
    const std::uint64_t unlimited = PrefixCacheOptions{}.max_bytes;
    if (options.max_bytes == unlimited && pool->options().budget_bytes == KvPoolOptions{}.budget_bytes) {
      return make_error(ErrorCode::invalid_argument,
                        "the pool has no budget, so that the prefix cache needs a limit of its own: max_bytes");
    }
    auto tree = std::make_shared<kv::PrefixTree>(pool->pages(), options.max_bytes, options.domain_quota_bytes);
    pool->pages()->add_reclaimer(tree);
    return std::make_shared<PrefixCache>(std::move(pool), std::move(tree));
  });
}

PrefixCache::PrefixCache(std::shared_ptr<KvPool> pool, std::shared_ptr<kv::PrefixTree> tree)
    : pool_(std::move(pool)), tree_(std::move(tree)) {}

PrefixCache::~PrefixCache() = default;

Result<std::size_t> PrefixCache::warm(std::string_view domain, std::span<const Token> tokens,
                                      const WarmOptions& options) {
  return guarded([&]() -> Result<std::size_t> {
    if (domain.empty()) return make_error(ErrorCode::invalid_argument, "domain is empty");
    std::size_t computed = 0;
    const auto keep = [&] {
      return options.pin ? tree_->pin(domain, tokens, options.rollback_reserve)
                         : tree_->check_holds(domain, tokens, options.rollback_reserve);
    };
    Result<void> kept = keep();
    if (!kept && kept.error().code == ErrorCode::not_found) {
      RILL_ASSIGN(const auto state,
                  session::SessionState::create(pool_->model(), {.kv_type = pool_->options().kv_type,
                                                                 .prefill_chunk = options.prefill_chunk,
                                                                 .rollback_reserve = options.rollback_reserve,
                                                                 .kv_pool = pool_,
                                                                 .prefix_cache = shared_from_this(),
                                                                 .domain = std::string(domain)}));
      RILL_ASSIGN(const auto reused, state->replace({tokens.begin(), tokens.end()}, {}, options.stop, {}));
      state->cache_prefix();
      computed = tokens.size() - reused.tokens;
      kept = keep();
      if (!kept && kept.error().code == ErrorCode::not_found) {
        return make_error(ErrorCode::resource_exhausted, "a prefix of {} tokens is more than the prefix cache may hold",
                          tokens.size());
      }
    }
    RILL_TRY(kept);
    return computed;
  });
}

Result<void> PrefixCache::pin(std::string_view domain, std::span<const Token> tokens) {
  return guarded([&] { return tree_->pin(domain, tokens, 0); });
}

Result<void> PrefixCache::unpin(std::string_view domain, std::span<const Token> tokens) {
  return guarded([&] { return tree_->unpin(domain, tokens); });
}

void PrefixCache::drop(std::string_view domain) { tree_->drop(domain); }
PrefixCacheStatistics PrefixCache::statistics(std::string_view domain) const { return tree_->statistics(domain); }
PrefixCacheStatistics PrefixCache::statistics() const { return tree_->statistics(); }
std::vector<std::string> PrefixCache::domains() const { return tree_->domains(); }

}  // namespace rill
