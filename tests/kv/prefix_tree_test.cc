#include "kv/prefix_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "base/hash.h"

namespace rill::kv {
namespace {

constexpr std::uint64_t kReserve = 10;
constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
constexpr std::size_t kAllPages = ~std::size_t{0};

LayerGroup tiny_group(std::uint64_t window) {
  return {.layers = 1, .window = window, .layout = {.type = KvType::f32, .kv_heads = 1, .head_dim = 1}};
}

// A page of either group has 128 bytes.
constexpr std::uint64_t kPageBytes = 128;

std::shared_ptr<PagePool> make_pool(std::vector<std::uint64_t> windows) {
  std::vector<LayerGroup> groups;
  for (const std::uint64_t window : windows) groups.push_back(tiny_group(window));
  return PagePool::create(groups, 1 << 20).value();
}

// What stands for the keys of the last of these tokens: a function of all of them and of their domain.
std::uint32_t content(std::string_view domain, std::span<const Token> tokens) {
  Hasher hasher;
  hasher.add_value(domain.size());
  hasher.add(std::as_bytes(std::span(domain)));
  hasher.add(std::as_bytes(tokens));
  return static_cast<std::uint32_t>(hasher.digest().low);
}

std::byte* slot(const SequenceCache& cache, std::size_t group, std::uint64_t position) {
  std::byte* const page = cache.page_table(group)[position / kTokensPerPage];
  return page == nullptr ? nullptr : page + position % kTokensPerPage * sizeof(std::uint32_t);
}

// Computes what the cache does not hold of `tokens`, as a forward pass would.
void compute(SequenceCache& cache, std::string_view domain, std::span<const Token> tokens) {
  const std::uint64_t begin = cache.length();
  ASSERT_TRUE(cache.extend_to(tokens.size()));
  for (std::uint64_t i = begin; i < tokens.size(); ++i) {
    const std::uint32_t value = content(domain, tokens.first(static_cast<std::size_t>(i + 1)));
    for (std::size_t group = 0; group < cache.pool().groups().size(); ++group) {
      std::memcpy(slot(cache, group, i), &value, sizeof value);
    }
  }
  cache.commit(tokens.size());
}

// That the cache holds what a sequence holds that computed these tokens itself: every page that the next token sees,
// also after a cut by the reserve.
void verify(const SequenceCache& cache, std::string_view domain, std::span<const Token> tokens,
            std::uint64_t reserve = kReserve) {
  for (std::size_t group = 0; group < cache.pool().groups().size(); ++group) {
    const std::uint64_t window = cache.pool().groups()[group].window;
    for (std::uint64_t i = 0; i < cache.length(); ++i) {
      std::byte* const place = slot(cache, group, i);
      if (place == nullptr) {
        ASSERT_NE(window, 0u) << i;
        ASSERT_LE(i + window + reserve, cache.length()) << i;
        continue;
      }
      std::uint32_t value;
      std::memcpy(&value, place, sizeof value);
      ASSERT_EQ(value, content(domain, tokens.first(static_cast<std::size_t>(i + 1))))
          << "group " << group << ", " << i;
    }
  }
}

std::vector<Token> numbers(std::size_t count, Token first = 0) {
  std::vector<Token> tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = first + static_cast<Token>(i);
  return tokens;
}

void add(PrefixTree& tree, const std::shared_ptr<PagePool>& pool, std::string_view domain,
         std::span<const Token> tokens) {
  SequenceCache cache(pool, kReserve);
  compute(cache, domain, tokens);
  tree.insert(domain, tokens, cache);
}

struct Found {
  SequenceCache cache;
  std::size_t window_evicted;
};

Found find(PrefixTree& tree, const std::shared_ptr<PagePool>& pool, std::string_view domain,
           std::span<const Token> tokens, std::uint64_t reserve = kReserve) {
  SequenceCache cache(pool, reserve);
  const auto hit = tree.find(domain, tokens, 0, cache);
  EXPECT_EQ(hit.tokens, cache.length());
  return {std::move(cache), hit.window_evicted};
}

std::uint64_t found(PrefixTree& tree, const std::shared_ptr<PagePool>& pool, std::string_view domain,
                    std::span<const Token> tokens) {
  return find(tree, pool, domain, tokens).cache.length();
}

// Who goes on from the middle of a page will have one of its own; those behind who takes it whole share it nevertheless,
// whoever came first.
TEST(PrefixTreeTest, WhoTakesAPageWholeSharesIt) {
  for (const bool promised : {true, false}) {
    for (const bool partial_first : {true, false}) {
      const auto pool = make_pool({0});
      PrefixTree tree(pool, kNoLimit, kNoLimit);
      const std::vector<Token> tokens = numbers(64);
      add(tree, pool, "d", tokens);
      SequenceCache partial(pool, kReserve, promised ? pool->reserve(7).value() : Reservation());
      SequenceCache whole(pool, kReserve, pool->reserve(7).value());
      if (!partial_first) {
        ASSERT_EQ(tree.find("d", tokens, 0, whole).tokens, 64u);
      }
      ASSERT_EQ(tree.find("d", std::span(tokens).first(56), 0, partial).tokens, 56u);
      if (partial_first) {
        EXPECT_EQ(tree.pages_in_use("d", tokens, kReserve), 3u);
        ASSERT_EQ(tree.find("d", tokens, 0, whole).tokens, 64u);
      }
      EXPECT_EQ(tree.pages_in_use("d", tokens, kReserve), 4u);
      const std::size_t reserved = pool->stats().reserved;
      std::vector<SequenceCache> followers;
      for (int i = 0; i < 3; ++i) {
        followers.push_back(whole.fork(pool->reserve(3).value()).value());
        EXPECT_EQ(followers.back().reservation().pages(), 3u) << "nothing is charged twice";
      }
      EXPECT_EQ(pool->stats().reserved, reserved + 9);
      // All go on: each has what it was promised, in whatever order.
      const std::size_t left = partial.reservation().pages();
      compute(partial, "d", numbers(70));
      if (promised) {
        EXPECT_EQ(partial.reservation().pages(), left - 1) << "page 4: its own page 3 is paid";
      }
      compute(whole, "d", numbers(90));
      for (SequenceCache& follower : followers) {
        compute(follower, "d", numbers(90));
        EXPECT_EQ(follower.reservation().pages(), 1u);
      }
      partial = SequenceCache(pool), whole = SequenceCache(pool);
      followers.clear();
      EXPECT_EQ(pool->stats().available(), pool->stats().capacity);
    }
  }
}

TEST(PrefixTreeTest, FindsTheLongestPrefixToTheToken) {
  const auto pool = make_pool({0});
  PrefixTree tree(pool, kNoLimit, kNoLimit);
  const std::vector<Token> tokens = numbers(50);
  add(tree, pool, "d", tokens);
  EXPECT_EQ(found(tree, pool, "d", tokens), 50u);
  EXPECT_EQ(found(tree, pool, "d", {}), 0u);
  for (std::size_t length = 1; length <= 50; ++length) {
    EXPECT_EQ(found(tree, pool, "d", std::span(tokens).first(length)), length);
    std::vector<Token> other = numbers(50);
    other[length - 1] = 1000;
    EXPECT_EQ(found(tree, pool, "d", other), length - 1);
  }
  std::vector<Token> longer = numbers(80);
  EXPECT_EQ(found(tree, pool, "d", longer), 50u);
  add(tree, pool, "d", longer);  // the page that was partly filled is replaced
  EXPECT_EQ(found(tree, pool, "d", longer), 80u);
  EXPECT_EQ(tree.statistics("d").bytes, 5 * kPageBytes);
}

TEST(PrefixTreeTest, APrefixIsKeptOnce) {
  const auto pool = make_pool({0});
  PrefixTree tree(pool, kNoLimit, kNoLimit);
  std::vector<Token> tokens = numbers(1000);
  for (Token own = 0; own < 20; ++own) {
    tokens.resize(1000);
    SequenceCache cache = find(tree, pool, "d", tokens).cache;
    EXPECT_EQ(cache.length(), own == 0 ? 0u : 1000u);
    for (Token i = 0; i < 16; ++i) tokens.push_back(2000 + own);
    compute(cache, "d", tokens);
    tree.insert("d", tokens, cache);
  }
  EXPECT_EQ(tree.statistics("d").bytes, (62 + 20 * 2) * kPageBytes);
  EXPECT_EQ(pool->stats().cached, 62u + 20 * 2);
}

// Case K15, and domains that are easily taken for one another.
TEST(PrefixTreeTest, K15DomainsNeverMix) {
  using namespace std::string_view_literals;
  const auto pool = make_pool({0, 20});
  PrefixTree tree(pool, kNoLimit, kNoLimit);
  const std::string_view domains[] = {"x"sv,   "y"sv,  "xx"sv, "X"sv,        "x\0"sv,       "x\0y"sv,
                                      "\0x"sv, " x"sv, "x "sv, "\xc3\xa9"sv, "e\xcc\x81"sv, "xy"sv};
  const std::vector<Token> tokens = numbers(40);
  for (const std::string_view domain : domains) {
    EXPECT_EQ(found(tree, pool, domain, tokens), 0u);
    add(tree, pool, domain, tokens);
  }
  for (const std::string_view domain : domains) {
    const auto hit = find(tree, pool, domain, tokens);
    EXPECT_EQ(hit.cache.length(), 40u);
    verify(hit.cache, domain, tokens);
  }
  EXPECT_EQ(tree.domains().size(), std::size(domains));
  tree.drop("x");
  EXPECT_EQ(found(tree, pool, "x", tokens), 0u);
  EXPECT_EQ(found(tree, pool, "x\0"sv, tokens), 40u);
}

TEST(PrefixTreeTest, NamesOfDomainsDoNotPileUp) {
  const auto pool = make_pool({0});
  PrefixTree tree(pool, kNoLimit, kNoLimit);
  const std::vector<Token> tokens = numbers(40);
  add(tree, pool, "kept", tokens);
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(found(tree, pool, std::to_string(i), tokens), 0u);
  EXPECT_LE(tree.domains().size(), 4096u);
  EXPECT_EQ(found(tree, pool, "kept", tokens), 40u);
}

TEST(PrefixTreeTest, AWindowHitsAtItsBoundariesOnly) {
  const auto pool = make_pool({0, 20});
  PrefixTree tree(pool, kNoLimit, kNoLimit);
  const std::vector<Token> tokens = numbers(400);
  add(tree, pool, "d", std::span(tokens).first(100));
  add(tree, pool, "d", std::span(tokens).first(300));
  EXPECT_EQ(found(tree, pool, "d", tokens), 300u);
  EXPECT_EQ(found(tree, pool, "d", std::span(tokens).first(299)), 299u);  // so that the last token is computed
  EXPECT_EQ(tree.statistics("d").window_evicted, 0u);
  const auto hit = find(tree, pool, "d", std::span(tokens).first(250));
  EXPECT_EQ(hit.cache.length(), 100u);
  EXPECT_EQ(hit.window_evicted, 150u);
  EXPECT_EQ(tree.statistics("d").window_evicted, 1u);
  verify(hit.cache, "d", tokens);
}

// Whatever the length of a prompt is, asking again computes its last token alone, and can be cut back as before.
TEST(PrefixTreeTest, TheSamePromptHitsAtEveryLength) {
  const auto pool = make_pool({0, 20});
  for (std::size_t length = 2; length < 150; ++length) {
    PrefixTree tree(pool, kNoLimit, kNoLimit);
    const std::vector<Token> tokens = numbers(length);
    add(tree, pool, "d", tokens);
    const auto hit = find(tree, pool, "d", std::span(tokens).first(length - 1));
    ASSERT_EQ(hit.cache.length(), length - 1);
    verify(hit.cache, "d", tokens);
  }
}

TEST(PrefixTreeTest, TheLeastRecentlyUsedGoesFirst) {
  const auto pool = make_pool({0});
  PrefixTree tree(pool, 6 * kPageBytes, kNoLimit);
  add(tree, pool, "d", numbers(32, 0));
  add(tree, pool, "d", numbers(32, 100));
  add(tree, pool, "d", numbers(32, 200));
  EXPECT_EQ(found(tree, pool, "d", numbers(32, 0)), 32u);
  add(tree, pool, "d", numbers(32, 300));
  EXPECT_EQ(found(tree, pool, "d", numbers(32, 0)), 32u);
  EXPECT_EQ(found(tree, pool, "d", numbers(32, 100)), 0u);
  EXPECT_EQ(found(tree, pool, "d", numbers(32, 200)), 32u);
  add(tree, pool, "d", numbers(16, 400));
  EXPECT_EQ(found(tree, pool, "d", numbers(32, 300)), 16u);  // from its end
  EXPECT_EQ(tree.statistics("d").evictions, 3u);
  add(tree, pool, "d", numbers(200, 500));  // as much of it as there is room for
  EXPECT_EQ(found(tree, pool, "d", numbers(200, 500)), 96u);
  EXPECT_EQ(tree.statistics("d").bytes, 6 * kPageBytes);
}

// Old boundaries give up their windows before the prefix that goes on behind them.
TEST(PrefixTreeTest, OldWindowsGoBeforeWhatIsInUse) {
  const auto pool = make_pool({0, 20});
  const std::vector<Token> tokens = numbers(400);
  PrefixTree tree(pool, (25 + 6) * kPageBytes, kNoLimit);
  for (std::size_t end = 50; end <= 400; end += 50) add(tree, pool, "d", std::span(tokens).first(end));
  EXPECT_EQ(found(tree, pool, "d", tokens), 400u);
  EXPECT_EQ(found(tree, pool, "d", std::span(tokens).first(120)), 0u);
  EXPECT_GT(tree.statistics("d").evictions, 0u);
}

TEST(PrefixTreeTest, ADomainBelowItsShareIsNotPushedOut) {
  const auto pool = make_pool({0});
  PrefixTree tree(pool, 20 * kPageBytes, kNoLimit);
  for (int i = 0; i < 9; ++i) add(tree, pool, "small", numbers(16, 1000 * i));
  for (int i = 0; i < 100; ++i) add(tree, pool, "flood", numbers(16, 1000 * i));
  EXPECT_EQ(tree.statistics("small").bytes, 9 * kPageBytes);
  EXPECT_EQ(tree.statistics("flood").bytes, 11 * kPageBytes);
  EXPECT_EQ(tree.statistics("small").evictions, 0u);
  for (int i = 0; i < 100; ++i) add(tree, pool, "small", numbers(16, 1000 * i));
  EXPECT_EQ(tree.statistics("small").bytes, 10 * kPageBytes);
}

TEST(PrefixTreeTest, AQuotaHoldsWhateverIsFree) {
  const auto pool = make_pool({0, 20});
  PrefixTree tree(pool, kNoLimit, 10 * kPageBytes);
  for (int i = 0; i < 30; ++i) add(tree, pool, "a", numbers(70, 1000 * i));
  EXPECT_LE(tree.statistics("a").bytes, 10 * kPageBytes);
  EXPECT_EQ(found(tree, pool, "a", numbers(70, 29'000)), 70u);
  add(tree, pool, "b", numbers(70));
  EXPECT_EQ(found(tree, pool, "b", numbers(70)), 70u);
}

TEST(PrefixTreeTest, PinnedPrefixesStay) {
  const auto pool = make_pool({0, 20});
  PrefixTree tree(pool, 20 * kPageBytes, kNoLimit);
  const std::vector<Token> pinned = numbers(100);
  EXPECT_EQ(tree.pin("d", pinned, 0).error().code, ErrorCode::not_found);
  add(tree, pool, "d", pinned);
  ASSERT_TRUE(tree.pin("d", pinned, 0));
  ASSERT_TRUE(tree.pin("d", pinned, 0));
  EXPECT_EQ(tree.pin("d", std::span(pinned).first(60), 0).error().code, ErrorCode::not_found);  // no boundary
  EXPECT_EQ(tree.pin("d", {}, 0).error().code, ErrorCode::not_found);
  for (int i = 1; i < 20; ++i) add(tree, pool, "d", numbers(100, 1000 * i));
  tree.reclaim(kAllPages);
  EXPECT_EQ(pool->stats().used, 7u + 3);
  EXPECT_EQ(pool->stats().cached, 0u);
  EXPECT_EQ(found(tree, pool, "d", pinned), 100u);
  ASSERT_TRUE(tree.unpin("d", pinned));
  tree.reclaim(kAllPages);
  EXPECT_EQ(pool->stats().used, 7u + 3);
  EXPECT_EQ(pool->stats().cached, 0u);
  ASSERT_TRUE(tree.unpin("d", pinned));
  EXPECT_EQ(tree.unpin("d", pinned).error().code, ErrorCode::not_found);
  tree.reclaim(kAllPages);
  EXPECT_EQ(pool->stats().cached, 0u);

  add(tree, pool, "d", pinned);
  ASSERT_TRUE(tree.pin("d", pinned, 0));
  tree.drop("d");
  EXPECT_EQ(pool->stats().available(), pool->stats().capacity);
  EXPECT_EQ(pool->stats().cached, 0u);
  EXPECT_EQ(tree.unpin("d", pinned).error().code, ErrorCode::not_found);
}

// They are not to be had for a promise, and nothing is pinned that was promised.
TEST(PrefixTreeTest, PinnedPagesAreInUse) {
  const auto pool = PagePool::create({tiny_group(0), tiny_group(20)}, 16 * kPageBytes).value();
  PrefixTree tree(pool, kNoLimit, kNoLimit);
  const std::vector<Token> tokens = numbers(100);
  add(tree, pool, "d", tokens);
  EXPECT_EQ(pool->stats().available(), 16u);
  {
    const Reservation most = pool->reserve(7).value();
    EXPECT_EQ(tree.pin("d", tokens, 0).error().code, ErrorCode::resource_exhausted);
    EXPECT_EQ(tree.unpin("d", tokens).error().code, ErrorCode::not_found);
    EXPECT_EQ(pool->stats().used, 0u) << "nothing of it is pinned";
    EXPECT_EQ(pool->stats().cached, 10u);
  }
  ASSERT_TRUE(tree.pin("d", tokens, 0));
  ASSERT_TRUE(tree.check_holds("d", tokens, 0));
  EXPECT_EQ(pool->stats().used, 10u);
  EXPECT_EQ(pool->reserve(7).error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(tree.pages_in_use("d", tokens, kReserve), 6u) << "a sequence shares the full pages";
  SequenceCache sequence(pool, kReserve, pool->reserve(6).value());  // the page in part, windows, pages to spare
  ASSERT_EQ(tree.find("d", tokens, 0, sequence).tokens, 100u);
  EXPECT_EQ(sequence.reservation().pages(), 6u - 1 - 3);
  compute(sequence, "d", numbers(112));
  EXPECT_EQ(sequence.reservation().pages(), 6u - 1 - 2) << "what it copied is paid, and its window touches a page less";
  tree.insert("d", numbers(112), sequence);  // the page that was pinned in part is full now
  EXPECT_EQ(pool->stats().used, 10u);
  sequence = SequenceCache(pool);
  EXPECT_EQ(pool->stats().used, 10u);
  EXPECT_EQ(found(tree, pool, "d", numbers(112)), 112u);
  ASSERT_TRUE(tree.unpin("d", tokens));
  EXPECT_EQ(pool->stats().used, 0u);
  EXPECT_TRUE(pool->reserve(16));
}

TEST(PrefixTreeTest, ReclaimGivesBackWhatNoSequenceUses) {
  const auto pool = make_pool({0, 20});
  PrefixTree tree(pool, kNoLimit, kNoLimit);
  add(tree, pool, "d", numbers(100));
  add(tree, pool, "d", numbers(100, 1000));
  const std::size_t each = 7 + 3;
  EXPECT_EQ(pool->stats().cached, 2 * each);
  SequenceCache cache = find(tree, pool, "d", numbers(100)).cache;
  tree.reclaim(1);  // the last page of both groups
  EXPECT_EQ(pool->stats().cached, each - 2);
  tree.reclaim(kAllPages);
  EXPECT_EQ(pool->stats().cached, 0u);
  EXPECT_EQ(pool->stats().used, each);
  EXPECT_EQ(found(tree, pool, "d", numbers(100)), 100u);
  verify(cache, "d", numbers(100));
  cache = SequenceCache(pool);
  tree.reclaim(kAllPages);
  EXPECT_EQ(pool->stats().cached, 0u);
}

// A sequence that could not reuse a beginning shares what it added behind that, and not the beginning.
TEST(PrefixTreeTest, WhatASequenceSharesDoesNotHoldWhatItDoesNot) {
  const auto pool = make_pool({0});
  PrefixTree tree(pool, kNoLimit, kNoLimit);
  add(tree, pool, "d", numbers(64));
  SequenceCache cache(pool, kReserve);
  compute(cache, "d", numbers(80));
  tree.insert("d", numbers(80), cache);
  EXPECT_EQ(pool->stats().cached, 4u);
  tree.reclaim(2);
  EXPECT_EQ(pool->stats().cached, 2u);
  verify(cache, "d", numbers(80));
}

// The pool asks by itself, before it refuses anyone.
TEST(PrefixTreeTest, NoSequenceIsRefusedForWhatIsCached) {
  const auto pool = PagePool::create({tiny_group(0), tiny_group(20)}, 40 * kPageBytes).value();
  const auto tree = std::make_shared<PrefixTree>(pool, kNoLimit, kNoLimit);
  pool->add_reclaimer(tree);
  for (Token round = 0; round < 50; ++round) add(*tree, pool, "d", numbers(200, 1000 * round));
  const auto [used, cached] = std::pair(pool->stats().used, pool->stats().cached);
  EXPECT_EQ(used, 0u);
  EXPECT_GT(cached, 16u);
  EXPECT_EQ(found(*tree, pool, "d", numbers(200, 49'000)), 200u);
}

// Longer than any stack is deep.
TEST(PrefixTreeTest, ALongPrefixIsFreedWithoutRecursion) {
  const auto pool = PagePool::create({tiny_group(0)}, std::uint64_t{1} << 30).value();
  PrefixTree tree(pool, kNoLimit, kNoLimit);
  const std::vector<Token> tokens = numbers(1'000'000);
  SequenceCache cache(pool, kReserve);
  ASSERT_TRUE(cache.extend_to(tokens.size()));
  cache.commit(tokens.size());
  tree.insert("d", tokens, cache);
  EXPECT_EQ(found(tree, pool, "d", tokens), tokens.size());
}

// Sequences of few different tokens begin alike; any of them may come and go, be cut and gone on with.
class RandomUse {
 public:
  static constexpr std::uint64_t kManyPages = 1 << 20;

  RandomUse(std::uint64_t seed, std::vector<std::uint64_t> windows, std::uint64_t pages)
      : random_(seed),
        max_bytes_(pages * kPageBytes),
        pool_(make_pool(std::move(windows))),
        tree_(std::make_unique<PrefixTree>(pool_, max_bytes_, max_bytes_ / 3 * 2)) {}

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      switch (below(12)) {
        case 0:
          cut();
          break;
        case 1:
          reclaim();
          break;
        case 2:
          if (!running_.empty()) running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(below(running_.size())));
          break;
        case 3:
          if (below(8) == 0) drop();
          break;
        case 4:
          pin();
          break;
        default:
          request();
      }
    }
    running_.clear();
    if (testing::Test::HasFatalFailure()) return;
    EXPECT_EQ(pool_->stats().used > 0, !pins_.empty());
    EXPECT_EQ((pool_->stats().used + pool_->stats().cached) * kPageBytes, tree_->statistics().bytes);
    for (const auto& [domain, tokens] : pins_) ASSERT_TRUE(tree_->unpin(domain, tokens));
    EXPECT_EQ(pool_->stats().cached * kPageBytes, tree_->statistics().bytes);
    EXPECT_EQ(pool_->stats().used, 0u);
    tree_.reset();
    EXPECT_EQ(pool_->stats().cached, 0u);
  }

  int exact = 0, shorter = 0, reclaimed = 0, cuts = 0;

 private:
  struct Running {
    std::string domain;
    std::vector<Token> tokens;
    SequenceCache cache;
    std::size_t longest = 0;  // that it was
  };

  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }
  std::string some_domain() { return std::string(1, static_cast<char>('a' + below(3))); }

  std::vector<Token> some_prompt() {
    if (!history_.empty() && below(3) > 0) {
      std::vector<Token> tokens = history_[below(history_.size())].second;
      tokens.resize(below(3) == 0 ? 1 + below(tokens.size()) : tokens.size());
      while (below(4) != 0) tokens.push_back(static_cast<Token>(below(2)));
      return tokens;
    }
    std::vector<Token> tokens(1 + below(90), static_cast<Token>(below(2)));
    for (std::size_t i = below(100); i < tokens.size(); ++i) tokens[i] = static_cast<Token>(below(2));
    return tokens;
  }

  // The longest common prefix with anything ever inserted into the domain.
  std::size_t longest(const std::string& domain, std::span<const Token> tokens) const {
    std::size_t best = 0;
    for (const auto& [name, known] : history_) {
      if (name != domain) continue;
      const auto differs = std::mismatch(tokens.begin(), tokens.end(), known.begin(), known.end());
      best = std::max(best, static_cast<std::size_t>(differs.first - tokens.begin()));
    }
    return best;
  }

  void request() {
    const std::string domain = some_domain();
    const std::vector<Token> prompt = some_prompt();
    const auto limited = std::span(prompt).first(prompt.size() - 1);
    const std::size_t known = longest(domain, limited);
    Found hit = find(*tree_, pool_, domain, limited);
    ASSERT_LE(hit.cache.length() + hit.window_evicted, known);
    if (max_bytes_ == kManyPages * kPageBytes && !reclaimed_) {
      ASSERT_EQ(hit.cache.length() + hit.window_evicted, known);
      if (pool_->groups().back().window == 0) {
        ASSERT_EQ(hit.window_evicted, 0u);
      }
    }
    ++(hit.cache.length() == known ? exact : shorter);
    verify(hit.cache, domain, prompt);
    compute(hit.cache, domain, prompt);
    verify(hit.cache, domain, prompt);
    insert(domain, prompt, hit.cache);
    if (below(2) == 0) return;
    std::vector<Token> tokens = prompt;
    for (std::size_t i = below(60); i > 0; --i) tokens.push_back(static_cast<Token>(below(2)));
    compute(hit.cache, domain, tokens);
    if (below(2) == 0) insert(domain, tokens, hit.cache);
    if (running_.size() < 4) running_.push_back({domain, std::move(tokens), std::move(hit.cache)});
  }

  void insert(const std::string& domain, const std::vector<Token>& tokens, const SequenceCache& cache) {
    tree_->insert(domain, tokens, cache);
    history_.emplace_back(domain, tokens);
    ASSERT_LE(tree_->statistics().bytes, max_bytes_);
    ASSERT_LE(tree_->statistics(domain).bytes, max_bytes_ / 3 * 2);
  }

  // A running sequence is cut and goes on otherwise; nobody else sees it.
  void cut() {
    if (running_.empty()) return;
    Running& one = running_[below(running_.size())];
    one.longest = std::max(one.longest, one.tokens.size());
    const std::size_t lowest = std::min(one.tokens.size(), one.longest - std::min<std::size_t>(one.longest, kReserve));
    one.tokens.resize(lowest + below(one.tokens.size() - lowest + 1));
    ASSERT_TRUE(one.cache.truncate(one.tokens.size())) << one.tokens.size() << " of " << one.longest;
    for (std::size_t i = 1 + below(20); i > 0; --i) one.tokens.push_back(static_cast<Token>(below(3)));
    compute(one.cache, one.domain, one.tokens);
    for (const Running& each : running_) verify(each.cache, each.domain, each.tokens, 0);
    if (below(2) == 0) insert(one.domain, one.tokens, one.cache);
    ++cuts;
  }

  void reclaim() {
    if (below(3) != 0) return;
    const PoolStats before = pool_->stats();
    const std::size_t wanted = below(4) == 0 ? kAllPages : below(5);
    tree_->reclaim(wanted);
    const PoolStats after = pool_->stats();
    ASSERT_EQ(after.used, before.used);
    if (pins_.empty()) {
      ASSERT_GE(before.cached - after.cached, std::min(wanted, before.cached));
    }
    reclaimed_ = reclaimed_ || wanted > 0;
    ++reclaimed;
  }

  void drop() {
    const std::string domain = some_domain();
    tree_->drop(domain);
    std::erase_if(history_, [&](const auto& entry) { return entry.first == domain; });
    std::erase_if(pins_, [&](const auto& entry) { return entry.first == domain; });
    ASSERT_EQ(tree_->statistics(domain).bytes, 0u);
  }

  void pin() {
    if (!pins_.empty() && below(2) == 0) {
      ASSERT_TRUE(tree_->unpin(pins_.back().first, pins_.back().second));
      pins_.pop_back();
      return;
    }
    if (history_.empty() || pins_.size() > 3) return;
    const auto& [domain, tokens] = history_[below(history_.size())];
    if (tree_->pin(domain, tokens, 0)) pins_.emplace_back(domain, tokens);
    for (const auto& [pinned_domain, pinned] : pins_) {
      ASSERT_EQ(find(*tree_, pool_, pinned_domain, pinned, 0).cache.length(), pinned.size());
    }
  }

  std::mt19937_64 random_;
  std::uint64_t max_bytes_;
  bool reclaimed_ = false;
  std::shared_ptr<PagePool> pool_;
  std::unique_ptr<PrefixTree> tree_;
  std::vector<std::pair<std::string, std::vector<Token>>> history_;  // inserted
  std::vector<std::pair<std::string, std::vector<Token>>> pins_;
  std::vector<Running> running_;
};

TEST(PrefixTreeTest, RandomUseAgreesWithAPlainModel) {
  int exact = 0, shorter = 0, reclaimed = 0, cuts = 0;
  for (std::uint64_t seed = 0; seed < 120 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<std::uint64_t> windows[] = {{0}, {0, 20}, {0, 20, 1}};
    RandomUse use(seed, windows[seed % 3], seed % 2 == 0 ? RandomUse::kManyPages : 30);
    use.run(150);
    exact += use.exact;
    shorter += use.shorter;
    reclaimed += use.reclaimed;
    cuts += use.cuts;
  }
  // The runs must have been where it matters.
  EXPECT_GT(exact, 1000);
  EXPECT_GT(shorter, 1000);
  EXPECT_GT(reclaimed, 100);
  EXPECT_GT(cuts, 100);
}

TEST(PrefixTreeTest, ThreadsShareATree) {
  const auto pool = make_pool({0, 20});
  PrefixTree tree(pool, 60 * kPageBytes, kNoLimit);
  std::vector<std::thread> threads;
  for (std::uint64_t id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      std::mt19937_64 random(id);
      const std::string domain = id % 2 == 0 ? "even" : "odd";
      for (int round = 0; round < 200; ++round) {
        std::vector<Token> tokens = numbers(1 + random() % 100, static_cast<Token>(1000 * (random() % 3)));
        SequenceCache cache = find(tree, pool, domain, std::span(tokens).first(tokens.size() - 1)).cache;
        compute(cache, domain, tokens);
        verify(cache, domain, tokens);
        tree.insert(domain, tokens, cache);
        if (round % 16 == 0) tree.reclaim(4 * kPageBytes);
        if (round % 64 == 0) tree.drop(domain);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool->stats().cached * kPageBytes, tree.statistics().bytes);
  EXPECT_EQ(pool->stats().used, 0u);
}

}  // namespace
}  // namespace rill::kv
