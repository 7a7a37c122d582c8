// Prefixes of sequences that were computed before, kept on the pages that those filled: a tree for each domain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kv/page_pool.h"
#include "kv/sequence_cache.h"
#include "rill/prefix_cache.h"
#include "rill/result.h"
#include "rill/token.h"

namespace rill::kv {

// Thread-safe. A node stands for the up to 16 tokens of a page, and holds its page of each group of layers; pages of
// sliding windows only where a sequence that was inserted still held them. Children are ordered by their tokens, so
// that a descent compares every token, and those that share most with a chunk are neighbours of its place: there is no
// hash, and nothing to collide. A domain is a tree of its own: what others hold is not looked at, and costs no time.
//
// No page is taken from the pool: it only keeps what sequences filled, and gives up what is not pinned, least recently used
// first.
class PrefixTree final : public Reclaimer {
 public:
  // Pages of at most that many bytes in all, and of each domain.
  PrefixTree(std::shared_ptr<PagePool> pool, std::uint64_t max_bytes, std::uint64_t max_domain_bytes);
  ~PrefixTree() override;

  struct Hit {
    std::size_t tokens = 0;
    std::size_t window_evicted = 0;  // tokens beyond that which are known, but without the pages of a window
  };
  // Makes `cache`, which must be empty, hold the longest prefix of `tokens` that can be gone on from, if it is longer
  // than the `held` ones which the asker has himself. Sliding windows then hold what they do in a sequence that
  // computed it, so that it can be cut back by the cache's rollback reserve. A miss if nothing was found or held, or
  // the pool has no room.
  Hit find(std::string_view domain, std::span<const Token> tokens, std::size_t held, SequenceCache& cache);
  // Of the pages that find() would adopt, those that take no more room in the pool, as sequences hold them already. Only a
  // look: it is no use of them.
  std::size_t pages_in_use(std::string_view domain, std::span<const Token> tokens, std::uint64_t rollback_reserve) const;
  // Keeps what `cache` holds, which is that of `tokens`. What the limits have no room for is given up again.
  void insert(std::string_view domain, std::span<const Token> tokens, const SequenceCache& cache);

  // not_found: it does not hold `tokens` so that they can be gone on from.
  Result<void> check_holds(std::string_view domain, std::span<const Token> tokens, std::uint64_t rollback_reserve) const;
  // Keeps such a prefix until it is unpinned as often, or dropped: its pages are in use then, as by a sequence. not_found: as
  // above. resource_exhausted: all room is in use or promised.
  Result<void> pin(std::string_view domain, std::span<const Token> tokens, std::uint64_t rollback_reserve);
  Result<void> unpin(std::string_view domain, std::span<const Token> tokens);
  // Forgets the domain, pinned prefixes and statistics included.
  void drop(std::string_view domain);

  // Gives up what is not pinned, a domain with less than its equal share of all bytes last.
  void reclaim(std::size_t pages) noexcept override;

  PrefixCacheStatistics statistics(std::string_view domain) const;  // zeros if it is unknown
  PrefixCacheStatistics statistics() const;                         // of all domains together
  std::vector<std::string> domains() const;

 private:
  enum Part : std::uint8_t { kWhole, kWindow };  // of what a node holds: all, or its pages of sliding windows
  struct Node;
  struct Domain;
  struct ByTokens;
  struct Use;
  struct Pin;
  struct Path {
    std::vector<Node*> nodes;   // of successive pages; the last one may match in part
    std::uint64_t matched = 0;  // tokens
  };

  Domain& domain_of(std::string_view name);
  Path walk(const Domain& domain, std::span<const Token> tokens) const;
  static std::pair<Node*, std::size_t> best_child(const Node& parent, std::span<const Token> chunk);
  std::uint64_t longest_hit(const Path& path, std::uint64_t rollback_reserve) const;
  Node& child_for(Node& parent, std::span<const Token> chunk);
  void hold(Domain& domain, Node& node, const SequenceCache& cache, std::size_t page, std::size_t tokens) noexcept;
  bool adopt(const Path& path, std::uint64_t length, SequenceCache& cache) const;
  void touch(Domain& domain, std::span<Node* const> path, const SequenceCache& cache) noexcept;
  Result<Path> held_path(std::string_view name, std::span<const Token> tokens, std::uint64_t rollback_reserve) const;
  Result<void> add_pin(const Pin& pin);
  void drop_pin(const Pin& pin) noexcept;
  Result<void> put_in_use(Node& node);
  void put_out_of_use(Node& node) noexcept;

  bool in(Part part, std::size_t group) const noexcept { return part == kWhole || pool_->groups()[group].window != 0; }
  bool gives_way(const Node& node, Part part, bool only_unshared) const noexcept;
  Use* oldest(Domain& domain, bool only_unshared) const noexcept;
  std::pair<Domain*, Use*> next_to_give(bool only_unshared) const noexcept;
  bool holds_unshared() const noexcept;
  std::size_t evict(Domain& domain, Use& use) noexcept;
  std::size_t release(Domain& domain, Node& node, std::size_t group) noexcept;
  void clear(Domain& domain) noexcept;

  std::shared_ptr<PagePool> pool_;
  Reservation none_;  // neither what is cached nor what is pinned has a promise
  std::uint64_t max_bytes_;
  std::uint64_t max_domain_bytes_;
  mutable std::mutex mutex_;  // guards all below; taken before the pool's own
  std::map<std::string, std::unique_ptr<Domain>, std::less<>> domains_;
  std::uint64_t bytes_ = 0;  // of all domains
  std::uint64_t clock_ = 0;  // counts uses
};

}  // namespace rill::kv
