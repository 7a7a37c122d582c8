// What was computed of earlier prompts and answers, reused by later ones that begin with the same tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rill/export.h"
#include "rill/kv_pool.h"
#include "rill/result.h"
#include "rill/stop_token.h"
#include "rill/token.h"

namespace rill {

namespace kv {
class PrefixTree;
}

struct PrefixCacheOptions {
  // Of the pages it holds, pinned ones included; as they are: no limit but the pool's budget, which must then have one.
  std::uint64_t max_bytes = ~std::uint64_t{0};
  std::uint64_t domain_quota_bytes = ~std::uint64_t{0};  // most of them that one domain holds
};

struct PrefixCacheStatistics {
  std::uint64_t hits = 0;            // prompts of which at least one token was reused
  std::uint64_t misses = 0;          // the others
  std::uint64_t window_evicted = 0;  // of both: more was known, but sliding windows no longer held what it needs
  std::uint64_t reused_tokens = 0;
  std::uint64_t evictions = 0;  // chunks of up to 16 tokens, or their sliding windows, given up for want of room
  std::uint64_t bytes = 0;      // of the pages held now, those that sessions share included
};

struct WarmOptions {
  bool pin = false;                   // also pin() what was computed
  std::size_t rollback_reserve = 64;  // of the sessions that shall reuse it (SessionOptions)
  std::size_t prefill_chunk = 256;    // as SessionOptions'
  StopToken stop = {};
};

// Sessions with this cache and a domain (SessionOptions) look up what they are fed while they are empty, and leave what
// they have computed: at the end of each prompt and each answer, and at boundaries that the caller names. Logits are
// the same to the bit, whether a prefix was reused or not.
//
// Prefixes are shared within one model object, its precision and the pool's KV type, and within one domain: a tenant,
// or whoever may know of each other's prompts. Domains are compared as bytes. Tokens are compared one by one, there is
// no hash; the time of a lookup does not depend on what other domains hold.
//
// Reuse goes to the token; the last token of a prompt is always computed. In models with sliding windows it begins only
// at the ends and boundaries named above, while their windows are held.
//
// It holds no memory but the pool's pages, and gives up what was used longest ago whenever a session needs it, pinned
// prefixes excepted. Of the domains those go first that hold their equal share or more. Thread-safe.
class RILL_EXPORT PrefixCache : public std::enable_shared_from_this<PrefixCache> {
 public:
  // invalid_argument: no pool, or neither the pool nor `options` has a limit.
  static Result<std::shared_ptr<PrefixCache>> create(std::shared_ptr<KvPool> pool, PrefixCacheOptions options = {});
  PrefixCache(std::shared_ptr<KvPool> pool, std::shared_ptr<kv::PrefixTree> tree);
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  const std::shared_ptr<KvPool>& pool() const noexcept { return pool_; }

  // Computes what is not held of `tokens`, so that what begins with them can go on from there; returns how many tokens
  // were computed. The errors of Session::create and feed; resource_exhausted: the limits have no room for them.
  Result<std::size_t> warm(std::string_view domain, std::span<const Token> tokens, const WarmOptions& options = {});
  // Keeps a prefix that can be gone on from until it is unpinned as often, or its domain is dropped: its pages are in use
  // then, as by a session. not_found: it is not held, or not pinned. resource_exhausted: sessions use or were promised
  // all the pool's room.
  Result<void> pin(std::string_view domain, std::span<const Token> tokens);
  Result<void> unpin(std::string_view domain, std::span<const Token> tokens);
  // Forgets all that was computed in the domain, pinned prefixes and statistics included. Sessions keep what they hold.
  void drop(std::string_view domain);

  PrefixCacheStatistics statistics(std::string_view domain) const;  // zeros if it is unknown
  PrefixCacheStatistics statistics() const;                         // of all domains together
  // Those in use. Of more than 4,096 the ones that hold nothing are forgotten, statistics included.
  std::vector<std::string> domains() const;

  // For the other parts of rill: outside of it the type is incomplete.
  const std::shared_ptr<kv::PrefixTree>& tree() const noexcept { return tree_; }

 private:
  std::shared_ptr<KvPool> pool_;
  std::shared_ptr<kv::PrefixTree> tree_;
};

}  // namespace rill
