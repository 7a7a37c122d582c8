#include "kv/prefix_tree.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"

namespace rill::kv {
namespace {

std::size_t common(std::span<const Token> a, std::span<const Token> b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

// A place in a circular list from the latest use to the earliest, whose head is the root's.
struct PrefixTree::Use {
  Node* node = nullptr;
  Part part = kWhole;
  std::uint64_t at = 0;  // by the tree's clock
  Use* newer = this;
  Use* older = this;

  bool listed() const noexcept { return newer != this; }
  void leave() noexcept {
    newer->older = older;
    older->newer = newer;
    newer = older = this;
  }
  void follow(Use& use) noexcept {  // as the next older one
    leave();
    newer = &use;
    older = std::exchange(use.older, this);
    older->newer = this;
  }
};

struct PrefixTree::ByTokens {
  using is_transparent = void;
  static std::span<const Token> key(std::span<const Token> tokens) { return tokens; }
  static std::span<const Token> key(const std::unique_ptr<Node>& node);
  bool operator()(const auto& a, const auto& b) const {
    const auto x = key(a), y = key(b);
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
  }
};

struct PrefixTree::Node {
  // The keys and values of the first `tokens` tokens, as one sequence held them. Layers without a window hold them all.
  struct Held {
    Page* page = nullptr;
    std::size_t tokens = 0;
    bool in_use = false;  // as it is pinned: the tree has a second reference, as a sequence

    const Page* partial() const noexcept { return tokens < kTokensPerPage ? page : nullptr; }
  };

  // Of which all groups hold keys and values.
  std::size_t held_tokens() const noexcept {
    std::size_t least = kTokensPerPage;
    for (const Held& group : held) least = std::min(least, group.tokens);
    return least;
  }

  explicit Node(std::size_t groups) : held(groups), use{{this, kWhole}, {this, kWindow}} {}

  Node* parent = nullptr;
  std::vector<Token> tokens;  // 16, or less in a leaf
  std::vector<Held> held;     // [group]
  // None begins with another one's tokens.
  std::set<std::unique_ptr<Node>, ByTokens> children;
  Use use[2];  // by part. Of the whole, ancestors come before their descendants; of the window, only where it is held
  std::size_t pins[2] = {0, 0};
};

std::span<const Token> PrefixTree::ByTokens::key(const std::unique_ptr<Node>& node) { return node->tokens; }

struct PrefixTree::Pin {
  Node* last;
  std::size_t window_nodes;  // the last ones of the path, whose windows are pinned
  std::size_t count = 1;
};

constexpr std::size_t kMostIdleDomains = 4096;

struct PrefixTree::Domain {
  explicit Domain(std::size_t groups) : root(groups) {}

  Node root;  // without tokens
  PrefixCacheStatistics statistics;
  std::map<std::vector<Token>, Pin> pins;
};

PrefixTree::PrefixTree(std::shared_ptr<PagePool> pool, std::uint64_t max_bytes, std::uint64_t max_domain_bytes)
    : pool_(std::move(pool)), max_bytes_(max_bytes), max_domain_bytes_(max_domain_bytes) {}

PrefixTree::~PrefixTree() {
  for (auto& [name, domain] : domains_) clear(*domain);
}

PrefixTree::Domain& PrefixTree::domain_of(std::string_view name) {
  const auto found = domains_.find(name);
  if (found != domains_.end()) return *found->second;
  if (domains_.size() >= kMostIdleDomains) {  // names come from outside: they must not fill the memory
    std::erase_if(domains_, [this](auto& entry) {
      const bool idle = entry.second->statistics.bytes == 0;
      if (idle) clear(*entry.second);
      return idle;
    });
  }
  return *domains_.emplace(name, std::make_unique<Domain>(pool_->groups().size())).first->second;
}

PrefixTree::Path PrefixTree::walk(const Domain& domain, std::span<const Token> tokens) const {
  Path path;
  const Node* node = &domain.root;
  while (!tokens.empty()) {
    const auto chunk = tokens.first(std::min<std::size_t>(tokens.size(), kTokensPerPage));
    const auto [child, matched] = best_child(*node, chunk);
    if (matched == 0) break;
    path.nodes.push_back(child);
    path.matched += matched;
    if (matched < kTokensPerPage) break;
    node = child;
    tokens = tokens.subspan(kTokensPerPage);
  }
  return path;
}

// The child that shares most tokens with `chunk`, and how many. Of several, one that holds them in all groups, or else
// the one that holds most: they are neighbours.
std::pair<PrefixTree::Node*, std::size_t> PrefixTree::best_child(const Node& parent, std::span<const Token> chunk) {
  const auto& children = parent.children;
  const auto next = children.lower_bound(chunk);
  std::size_t matched = 0;
  if (next != children.end()) matched = common(chunk, (*next)->tokens);
  if (next != children.begin()) matched = std::max(matched, common(chunk, (*std::prev(next))->tokens));
  if (matched == 0) return {nullptr, 0};
  const auto beginning = chunk.first(matched);
  Node* best = nullptr;
  for (auto child = children.lower_bound(beginning);
       child != children.end() && common(beginning, (*child)->tokens) == matched; ++child) {
    if (best == nullptr || (*child)->held_tokens() > best->held_tokens()) best = child->get();
    if (best->held_tokens() >= matched) break;
  }
  return {best, matched};
}

// The greatest length, up to what matched, at which each group holds the last page, and all before it that the window
// of the next token reaches after a cut by the reserve.
std::uint64_t PrefixTree::longest_hit(const Path& path, std::uint64_t rollback_reserve) const {
  const std::span<const LayerGroup> groups = pool_->groups();
  std::vector<std::uint64_t> first(groups.size(), 0);  // position from which on the pages before this one are held
  std::uint64_t longest = 0;
  for (std::size_t page = 0; page < path.nodes.size(); ++page) {
    const std::vector<Node::Held>& held = path.nodes[page]->held;
    const std::uint64_t begin = page * kTokensPerPage;
    const std::uint64_t length = std::min<std::uint64_t>(path.matched, begin + path.nodes[page]->held_tokens());
    bool fits = true;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      const std::uint64_t window = groups[group].window, behind = length - first[group];
      const bool reaches = window != 0 && behind >= window - 1 && behind - (window - 1) >= rollback_reserve;
      fits = fits && (first[group] == 0 || reaches);
      if (held[group].tokens < kTokensPerPage) first[group] = begin + kTokensPerPage;
    }
    if (fits) longest = length;
  }
  return longest;
}

PrefixTree::Hit PrefixTree::find(std::string_view name, std::span<const Token> tokens, std::size_t held,
                                 SequenceCache& cache) {
  const std::lock_guard lock(mutex_);
  Domain& domain = domain_of(name);
  Path path = walk(domain, tokens);
  std::uint64_t length = longest_hit(path, cache.rollback_reserve());
  const std::uint64_t evicted = path.matched - length;
  path.nodes.resize(static_cast<std::size_t>((length + kTokensPerPage - 1) / kTokensPerPage));
  if (length <= held || !adopt(path, length, cache)) length = 0;
  touch(domain, path.nodes, cache);
  if (length > 0) {
    ++domain.statistics.hits;
    domain.statistics.reused_tokens += length - held;
  } else if (held == 0) {
    ++domain.statistics.misses;
  }
  if (evicted > 0) ++domain.statistics.window_evicted;
  return {static_cast<std::size_t>(length), static_cast<std::size_t>(evicted)};
}

std::size_t PrefixTree::pages_in_use(std::string_view name, std::span<const Token> tokens,
                                     std::uint64_t rollback_reserve) const {
  const std::lock_guard lock(mutex_);
  const auto domain = domains_.find(name);
  if (domain == domains_.end()) return 0;
  const Path path = walk(*domain->second, tokens);
  const auto whole = static_cast<std::size_t>(longest_hit(path, rollback_reserve) / kTokensPerPage);
  std::vector<Page*> pages;
  for (std::size_t group = 0; group < pool_->groups().size(); ++group) {
    if (in(kWindow, group)) continue;  // each sequence drops its own
    for (std::size_t page = 0; page < whole; ++page) pages.push_back(path.nodes[page]->held[group].page);
  }
  return pool_->count_in_use(pages);
}

bool PrefixTree::adopt(const Path& path, std::uint64_t length, SequenceCache& cache) const {
  std::vector<std::vector<Page*>> pages(pool_->groups().size());
  for (std::size_t group = 0; group < pages.size(); ++group) {
    for (std::size_t page = 0; page < path.nodes.size(); ++page) {
      const Node::Held& held = path.nodes[page]->held[group];
      const bool whole = held.tokens >= std::min<std::uint64_t>(kTokensPerPage, length - page * kTokensPerPage);
      pages[group].push_back(whole ? held.page : nullptr);
    }
  }
  return cache.adopt(length, std::move(pages)).has_value();
}

void PrefixTree::insert(std::string_view name, std::span<const Token> tokens, const SequenceCache& cache) {
  const std::lock_guard lock(mutex_);
  Domain& domain = domain_of(name);
  std::vector<Node*> path;
  path.reserve(tokens.size() / kTokensPerPage + 1);
  Node* node = &domain.root;
  for (std::size_t begin = 0; begin < tokens.size(); begin += kTokensPerPage) {
    const auto chunk = tokens.subspan(begin, std::min<std::size_t>(kTokensPerPage, tokens.size() - begin));
    node = &child_for(*node, chunk);
    hold(domain, *node, cache, path.size(), chunk.size());
    path.push_back(node);
  }
  touch(domain, path, cache);
  while (domain.statistics.bytes > max_domain_bytes_) {
    Use* const use = oldest(domain, false);
    if (use == nullptr) break;
    evict(domain, *use);
  }
  while (bytes_ > max_bytes_) {
    const auto [giving, use] = next_to_give(false);
    if (use == nullptr) break;
    evict(*giving, *use);
  }
}

// The child that begins with `chunk`: as it is there, or a shorter one that is lengthened, or a new one.
PrefixTree::Node& PrefixTree::child_for(Node& parent, std::span<const Token> chunk) {
  auto& children = parent.children;
  const auto next = children.lower_bound(chunk);
  if (next != children.end() && common(chunk, (*next)->tokens) == chunk.size()) return **next;
  std::vector<Token> tokens(chunk.begin(), chunk.end());
  if (next != children.begin()) {
    const auto before = std::prev(next);
    if (common(chunk, (*before)->tokens) == (*before)->tokens.size()) {
      auto shorter = children.extract(before);
      shorter.value()->tokens = std::move(tokens);
      return **children.insert(std::move(shorter)).position;
    }
  }
  auto node = std::make_unique<Node>(pool_->groups().size());
  node->parent = &parent;
  node->tokens = std::move(tokens);
  Node& added = **children.insert(next, std::move(node));
  added.use[kWhole].follow(parent.use[kWhole]);
  return added;
}

// Takes the pages of a sequence that hold more than the node's own.
void PrefixTree::hold(Domain& domain, Node& node, const SequenceCache& cache, std::size_t page,
                      std::size_t tokens) noexcept {
  for (std::size_t group = 0; group < node.held.size(); ++group) {
    Page* const filled = cache.pages(group)[page];
    if (filled == nullptr || node.held[group].tokens >= tokens) continue;
    Node::Held held{filled, tokens, node.held[group].in_use};
    if (held.in_use && !guarded([&] { return pool_->retain({&filled, 1}, Holder::sequence, none_, held.partial()); })) continue;
    // Never fails for a cache.
    static_cast<void>(pool_->retain({&filled, 1}, Holder::cache, none_));
    release(domain, node, group);
    node.held[group] = held;
    domain.statistics.bytes += pool_->page_bytes();
    bytes_ += pool_->page_bytes();
  }
}

// Ancestors last, so that they come before their descendants; windows where `cache` holds them.
void PrefixTree::touch(Domain& domain, std::span<Node* const> path, const SequenceCache& cache) noexcept {
  for (std::size_t page = path.size(); page-- > 0;) {
    for (Use& use : path[page]->use) {
      if (use.part == kWindow && !cache.holds_window(page)) continue;
      use.follow(domain.root.use[use.part]);
      use.at = ++clock_;
    }
  }
}

Result<PrefixTree::Path> PrefixTree::held_path(std::string_view name, std::span<const Token> tokens,
                                               std::uint64_t rollback_reserve) const {
  const auto domain = domains_.find(name);
  Path path = domain == domains_.end() ? Path{} : walk(*domain->second, tokens);
  const std::uint64_t held = longest_hit(path, rollback_reserve);
  if (held != tokens.size() || tokens.empty()) {
    return make_error(ErrorCode::not_found, "a prefix of {} tokens: the cache holds {} of them", tokens.size(), held);
  }
  return path;
}

Result<void> PrefixTree::check_holds(std::string_view name, std::span<const Token> tokens,
                                     std::uint64_t rollback_reserve) const {
  const std::lock_guard lock(mutex_);
  RILL_TRY(held_path(name, tokens, rollback_reserve));
  return {};
}

Result<void> PrefixTree::pin(std::string_view name, std::span<const Token> tokens, std::uint64_t rollback_reserve) {
  const std::lock_guard lock(mutex_);
  RILL_ASSIGN(const Path path, held_path(name, tokens, rollback_reserve));
  auto& pins = domains_.find(name)->second->pins;
  const auto [pin, added] = pins.try_emplace({tokens.begin(), tokens.end()}, Pin{path.nodes.back(), 0});
  if (!added) return ++pin->second.count, Result<void>();
  for (auto node = path.nodes.rbegin(); node != path.nodes.rend(); ++node) {
    if (!(*node)->use[kWindow].listed()) break;
    ++pin->second.window_nodes;
  }
  auto in_use = add_pin(pin->second);
  if (!in_use) pins.erase(pin);
  return in_use;
}

Result<void> PrefixTree::unpin(std::string_view name, std::span<const Token> tokens) {
  const std::lock_guard lock(mutex_);
  if (const auto domain = domains_.find(name); domain != domains_.end()) {
    auto& pins = domain->second->pins;
    if (const auto pin = pins.find({tokens.begin(), tokens.end()}); pin != pins.end()) {
      if (--pin->second.count > 0) return {};
      drop_pin(pin->second);
      pins.erase(pin);
      return {};
    }
  }
  return make_error(ErrorCode::not_found, "the prefix of {} tokens is not pinned", tokens.size());
}

Result<void> PrefixTree::add_pin(const Pin& pin) {
  Result<void> in_use;
  std::size_t window_nodes = pin.window_nodes;
  for (Node* node = pin.last; node->parent != nullptr; node = node->parent) {
    ++node->pins[kWhole];
    if (window_nodes > 0) --window_nodes, ++node->pins[kWindow];
    if (in_use) in_use = guarded([&] { return put_in_use(*node); });
  }
  if (!in_use) drop_pin(pin);
  return in_use;
}

void PrefixTree::drop_pin(const Pin& pin) noexcept {
  std::size_t window_nodes = pin.window_nodes;
  for (Node* node = pin.last; node->parent != nullptr; node = node->parent) {
    --node->pins[kWhole];
    if (window_nodes > 0) --window_nodes, --node->pins[kWindow];
    put_out_of_use(*node);
  }
}

// The pages of what is pinned.
Result<void> PrefixTree::put_in_use(Node& node) {
  for (std::size_t group = 0; group < node.held.size(); ++group) {
    Node::Held& held = node.held[group];
    if (held.in_use || held.page == nullptr || node.pins[in(kWindow, group) ? kWindow : kWhole] == 0) continue;
    RILL_TRY(pool_->retain({&held.page, 1}, Holder::sequence, none_, held.partial()));
    held.in_use = true;
  }
  return {};
}

// Those of what is not.
void PrefixTree::put_out_of_use(Node& node) noexcept {
  for (std::size_t group = 0; group < node.held.size(); ++group) {
    Node::Held& held = node.held[group];
    if (!held.in_use || node.pins[in(kWindow, group) ? kWindow : kWhole] > 0) continue;
    pool_->release({&held.page, 1}, Holder::sequence, none_, held.partial());
    held.in_use = false;
  }
}

void PrefixTree::drop(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = domains_.find(name);
  if (found == domains_.end()) return;
  clear(*found->second);
  domains_.erase(found);
}

// From the leaves up, so that nothing recurses as deep as a prefix is long.
void PrefixTree::clear(Domain& domain) noexcept {
  while (domain.root.use[kWhole].newer->node != &domain.root) evict(domain, *domain.root.use[kWhole].newer);
}

void PrefixTree::reclaim(std::size_t pages) noexcept {
  const std::lock_guard lock(mutex_);
  for (std::size_t given = 0; given < pages;) {
    auto next = next_to_give(true);
    // What a sequence shares may hang on pages that it does not.
    if (next.second == nullptr && holds_unshared()) next = next_to_give(false);
    if (next.second == nullptr) break;
    given += evict(*next.first, *next.second);
  }
}

// Anything that no sequence holds, and that is not pinned.
bool PrefixTree::holds_unshared() const noexcept {
  for (const auto& [name, domain] : domains_) {
    for (const Use* use = domain->root.use[kWhole].older; use->node != &domain->root; use = use->older) {
      for (std::size_t group = 0; group < use->node->held.size(); ++group) {
        const Page* const page = use->node->held[group].page;
        if (page != nullptr && !page->shared()) return true;
      }
    }
  }
  return false;
}

// Whether that part may be given up, and, if asked, whether this gives the pool anything.
bool PrefixTree::gives_way(const Node& node, Part part, bool only_unshared) const noexcept {
  if (node.pins[part] > 0 || (part == kWhole && !node.children.empty())) return false;
  bool shared = false;
  for (std::size_t group = 0; group < node.held.size(); ++group) {
    const Page* const page = node.held[group].page;
    if (page == nullptr || !in(part, group)) continue;
    if (!page->shared()) return true;
    shared = true;
  }
  return !only_unshared || !shared;
}

PrefixTree::Use* PrefixTree::oldest(Domain& domain, bool only_unshared) const noexcept {
  Use* found = nullptr;
  for (Use& head : domain.root.use) {
    Use* use = head.newer;
    while (use != &head && !gives_way(*use->node, use->part, only_unshared)) use = use->newer;
    if (use != &head && (found == nullptr || use->at < found->at)) found = use;
  }
  return found;
}

// The domain whose entry is the oldest, of those that hold their equal share or more; of the others if those have
// nothing.
std::pair<PrefixTree::Domain*, PrefixTree::Use*> PrefixTree::next_to_give(bool only_unshared) const noexcept {
  std::uint64_t holders = 0;
  for (const auto& [name, domain] : domains_) holders += domain->statistics.bytes > 0 ? 1 : 0;
  std::pair<Domain*, Use*> giving(nullptr, nullptr);
  std::pair<bool, std::uint64_t> first;  // below its share, time of the last use
  for (const auto& [name, domain] : domains_) {
    Use* const use = oldest(*domain, only_unshared);
    if (use == nullptr) continue;
    const std::pair order(holders > 0 && domain->statistics.bytes < bytes_ / holders, use->at);
    if (giving.second != nullptr && first < order) continue;
    giving = {domain.get(), use};
    first = order;
  }
  return giving;
}

// Returns how many pages the pool got back.
std::size_t PrefixTree::evict(Domain& domain, Use& use) noexcept {
  Node& node = *use.node;
  const Part part = use.part;
  std::size_t given = 0;
  for (std::size_t group = 0; group < node.held.size(); ++group) {
    if (in(part, group)) given += release(domain, node, group);
  }
  ++domain.statistics.evictions;
  node.use[kWindow].leave();
  if (part == kWhole) {
    node.use[kWhole].leave();
    node.parent->children.erase(node.parent->children.find(std::span<const Token>(node.tokens)));
  }
  return given;
}

std::size_t PrefixTree::release(Domain& domain, Node& node, std::size_t group) noexcept {
  const Node::Held held = std::exchange(node.held[group], {});
  Page* const page = held.page;
  if (page == nullptr) return 0;
  if (held.in_use) pool_->release({&page, 1}, Holder::sequence, none_, held.partial());
  domain.statistics.bytes -= pool_->page_bytes();
  bytes_ -= pool_->page_bytes();
  const bool shared = page->shared();
  pool_->release({&page, 1}, Holder::cache, none_);
  return shared ? 0 : 1;
}

PrefixCacheStatistics PrefixTree::statistics(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = domains_.find(name);
  return found == domains_.end() ? PrefixCacheStatistics{} : found->second->statistics;
}

PrefixCacheStatistics PrefixTree::statistics() const {
  const std::lock_guard lock(mutex_);
  PrefixCacheStatistics sum;
  for (const auto& [name, domain] : domains_) {
    const PrefixCacheStatistics& one = domain->statistics;
    sum.hits += one.hits;
    sum.misses += one.misses;
    sum.window_evicted += one.window_evicted;
    sum.reused_tokens += one.reused_tokens;
    sum.evictions += one.evictions;
    sum.bytes += one.bytes;
  }
  return sum;
}

std::vector<std::string> PrefixTree::domains() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, domain] : domains_) names.push_back(name);
  return names;
}

}  // namespace rill::kv
