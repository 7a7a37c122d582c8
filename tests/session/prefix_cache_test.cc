// What a prefix cache may change: how much is computed, and nothing else.
#include "rill/prefix_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include "support/scripted.h"

namespace rill {
namespace {

using test::load_tiny;
using test::some_tokens;

struct Shared {
  std::shared_ptr<const Model> model;
  std::shared_ptr<KvPool> pool;
  std::shared_ptr<PrefixCache> cache;

  explicit Shared(std::shared_ptr<const Model> loaded, KvPoolOptions pool_options = {.budget_bytes = 64 << 20},
                  PrefixCacheOptions options = {})
      : model(std::move(loaded)),
        pool(KvPool::create(model, pool_options).value()),
        cache(PrefixCache::create(pool, options).value()) {}

  Session session(std::string domain, SessionOptions options = {}) const {
    options.prefix_cache = cache;
    options.domain = std::move(domain);
    return Session::create(model, std::move(options)).value();
  }
};

std::vector<Token> joined(std::vector<Token> a, const std::vector<Token>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<float> logits_of(const Session& session) { return session.logits().all().value(); }

class PrefixCacheTest : public testing::TestWithParam<const char*> {
 protected:
  std::vector<float> computed_alone(const std::vector<Token>& tokens) const {
    Session session = Session::create(model_).value();
    session.feed(tokens).value();
    return logits_of(session);
  }
  Timings answer(Session& session, const std::vector<Token>& prompt, GenerateOptions options = {}) const {
    options.max_tokens = options.max_tokens.value_or(1);
    return session.generate(prompt, std::move(options)).value().finish().value().timings;
  }

  std::shared_ptr<const Model> model_ = load_tiny(test::tiny_options(GetParam()));
  bool sliding_ = model_->info().sliding_window != 0;
};

INSTANTIATE_TEST_SUITE_P(Architectures, PrefixCacheTest, testing::Values("llama", "gemma3"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(PrefixCacheTest, ASecondRequestComputesWhatIsItsOwn) {
  const Shared shared(model_);
  const std::vector<Token> common = some_tokens(200);
  for (unsigned own = 0; own < 5; ++own) {
    const std::vector<Token> prompt = joined(common, some_tokens(16, 50 + own));
    Session session = shared.session("tenant");
    const Timings timings = answer(session, prompt, {.cache_boundaries = {200}});
    EXPECT_EQ(timings.reused_tokens, own == 0 ? 0u : 200u);
    EXPECT_EQ(timings.cached_tokens, timings.reused_tokens);
    EXPECT_EQ(timings.prefilled_tokens, prompt.size() - timings.reused_tokens);
    EXPECT_EQ(logits_of(session), computed_alone(prompt));
  }
  const PrefixCacheStatistics statistics = shared.cache->statistics("tenant");
  EXPECT_EQ(statistics.hits, 4u);
  EXPECT_EQ(statistics.misses, 1u);
  EXPECT_EQ(statistics.reused_tokens, 800u);
  EXPECT_EQ(statistics.bytes, shared.pool->use().cached_bytes);
}

TEST_P(PrefixCacheTest, TheLastTokenIsAlwaysComputed) {
  const Shared shared(model_);
  for (const std::size_t length : {1u, 2u, 16u, 17u, 150u, 160u}) {
    const std::vector<Token> prompt = some_tokens(length, static_cast<unsigned>(length));
    for (int round = 0; round < 2; ++round) {
      Session session = shared.session("tenant");
      const Timings timings = answer(session, prompt);
      EXPECT_EQ(timings.cached_tokens, round == 0 ? 0 : length - 1);
      EXPECT_EQ(logits_of(session), computed_alone(prompt));
    }
  }
}

// A conversation without a session of its own: each prompt repeats all that went before.
TEST_P(PrefixCacheTest, AnAnswerIsReusedAsFarAsItWasComputed) {
  const Shared shared(model_);
  std::vector<Token> prompt = some_tokens(60);
  for (unsigned turn = 0; turn < 4; ++turn) {
    Session session = shared.session("tenant");
    const GenerationResult result =
        session.generate(prompt, {.max_tokens = 30, .end_tokens = std::vector<Token>{}}).value().finish().value();
    if (turn > 0) {
      EXPECT_EQ(result.timings.cached_tokens, prompt.size() - 11);  // the answer's last token, and the next ten
    }
    prompt = joined(joined(prompt, result.tokens), some_tokens(10, turn));
  }
}

TEST_P(PrefixCacheTest, FeedReusesAndLeavesToo) {
  const Shared shared(model_);
  const std::vector<Token> prompt = some_tokens(100);
  shared.session("tenant").feed(prompt).value();
  const std::vector<std::pair<Keep, std::size_t>> cases = {
      {{Keep::Mode::last}, 99},
      {{Keep::Mode::all}, 0},
      {{Keep::Mode::positions, {}}, 99},
      {{Keep::Mode::positions, {99}}, 99},
      {{Keep::Mode::positions, {95, 97, 99}}, sliding_ ? std::size_t{0} : 95}};  // no boundary
  for (const auto& [keep, reused] : cases) {
    const std::uint64_t before = shared.cache->statistics("tenant").reused_tokens;
    Session session = shared.session("tenant"), plain = Session::create(model_).value();
    session.feed(prompt, {.keep = keep}).value();
    plain.feed(prompt, {.keep = keep}).value();
    EXPECT_EQ(shared.cache->statistics("tenant").reused_tokens - before, reused);
    for (std::size_t i = 0; plain.logits(i); ++i) {
      EXPECT_EQ(session.logits(i).value().all().value(), plain.logits(i).value().all().value());
    }
    session.feed(some_tokens(3)).value();
    plain.feed(some_tokens(3)).value();
    EXPECT_EQ(logits_of(session), logits_of(plain));
  }
  Session first = shared.session("tenant"), second = shared.session("other");
  const std::vector<Token> longer = joined(prompt, some_tokens(5, 9));
  const FeedItem items[] = {{&first, longer}, {&second, prompt}};
  feed_batch(items).value();
  EXPECT_EQ(logits_of(first), computed_alone(longer));
  EXPECT_EQ(logits_of(second), computed_alone(prompt));
  EXPECT_EQ(shared.cache->statistics("other").misses, 1u);
  EXPECT_EQ(shared.cache->statistics("tenant").misses, sliding_ ? 3u : 2u);
}

TEST_P(PrefixCacheTest, AFeedThatIsStoppedLeavesTheSessionEmpty) {
  const Shared shared(model_);
  const std::vector<Token> prompt = some_tokens(100);
  shared.session("tenant").feed(prompt).value();
  Session session = shared.session("tenant");
  EXPECT_EQ(session.feed(joined(prompt, some_tokens(9)), {.stop = test::CountedStop(1)}).error().code,
            ErrorCode::cancelled);
  EXPECT_EQ(session.length(), 0u);
  EXPECT_EQ(session.feed(joined(prompt, {-1})).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(session.length(), 0u);
  EXPECT_EQ(session.kv_bytes(), 0u);
  session.feed(prompt).value();
  EXPECT_EQ(logits_of(session), computed_alone(prompt));
}

// Case K15, and what else must not mix.
TEST_P(PrefixCacheTest, K15NothingMixes) {
  using namespace std::string_literals;
  const Shared shared(model_);
  const std::vector<Token> prompt = some_tokens(90);
  const std::string domains[] = {"x"s, "y"s, "xx"s, "X"s, " x"s, "x "s, "x\0"s, "x\0y"s, "\0x"s, "\0"s};
  for (const bool again : {false, true}) {
    for (const std::string& domain : domains) {
      Session session = shared.session(domain);
      EXPECT_EQ(answer(session, prompt).cached_tokens, again ? 89u : 0u) << domain;
    }
    Session none = shared.session("");
    EXPECT_EQ(answer(none, prompt).cached_tokens, 0u);
  }
  EXPECT_EQ(shared.cache->domains().size(), std::size(domains));
  EXPECT_EQ(shared.cache->statistics("").misses, 0u);

  const auto refused = [&](const std::shared_ptr<const Model>& model, SessionOptions options) {
    options.prefix_cache = shared.cache;
    options.domain = "x";
    const auto session = Session::create(model, std::move(options));
    return !session && session.error().code == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused(model_, {.kv_type = KvType::f32}));
  EXPECT_TRUE(refused(model_, {.kv_pool = KvPool::create(model_, {}).value()}));
  EXPECT_TRUE(refused(load_tiny(test::tiny_options(GetParam())), {}));
  EXPECT_TRUE(refused(test::load_bytes(test::make_tiny_model(test::tiny_options(GetParam())),
                                       {.threads = 1, .activations = Activations::accurate}),
                      {}));
}

TEST_P(PrefixCacheTest, WithoutADomainNothingIsLookedUpOrLeft) {
  const Shared shared(model_);
  const std::vector<Token> prompt = some_tokens(90);
  for (int round = 0; round < 2; ++round) {
    Session session = shared.session("");
    EXPECT_EQ(answer(session, prompt).cached_tokens, 0u);
    EXPECT_EQ(session.cache_prefix().error().code, ErrorCode::invalid_argument);
  }
  EXPECT_TRUE(shared.cache->domains().empty());
  EXPECT_EQ(shared.pool->use().pages, 0u);
  EXPECT_EQ(shared.cache->warm("", prompt).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Session::create(model_).value().cache_prefix().error().code, ErrorCode::invalid_argument);
}

TEST_P(PrefixCacheTest, ACacheNeedsALimit) {
  const auto unlimited = KvPool::create(model_).value();
  EXPECT_EQ(PrefixCache::create(unlimited).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(PrefixCache::create(nullptr).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(PrefixCache::create(unlimited, {.max_bytes = 1 << 20}));
}

TEST_P(PrefixCacheTest, NamedBoundariesMakeWindowsHit) {
  const Shared shared(model_);
  const std::vector<Token> common = some_tokens(150);
  Session named = shared.session("named"), unnamed = shared.session("unnamed"), fed = shared.session("fed");
  answer(named, joined(common, some_tokens(40, 2)), {.cache_boundaries = {150, 70}});
  answer(unnamed, joined(common, some_tokens(40, 2)));
  fed.feed(std::span(common).first(100)).value();
  fed.feed(std::span(common).subspan(100)).value();
  fed.cache_prefix().value();
  fed.feed(some_tokens(40, 2)).value();
  for (const auto& [domain, length, reused] :
       {std::tuple("named", 150u, 150u), {"named", 70u, 70u}, {"unnamed", 150u, 0u}, {"fed", 150u, 150u}}) {
    Session session = shared.session(domain);
    const Timings timings = answer(session, joined({common.begin(), common.begin() + length}, some_tokens(8, 7)));
    EXPECT_EQ(timings.cached_tokens, sliding_ ? reused : length) << domain;
    EXPECT_EQ(timings.window_evicted_tokens, sliding_ ? length - reused : 0) << domain;
  }
  EXPECT_EQ(shared.cache->statistics("unnamed").window_evicted, sliding_ ? 1u : 0u);
  Session session = shared.session("named");
  for (const std::size_t bad : {0u, 6u}) {
    EXPECT_EQ(session.generate(some_tokens(5), {.cache_boundaries = {bad}}).error().code, ErrorCode::invalid_argument);
  }
}

TEST_P(PrefixCacheTest, ConversationsShareTheirSystemMessage) {
  test::TinyModelOptions options = test::tiny_options(GetParam());
  options.vocabulary = 420;
  const Shared shared(load_tiny(options));
  std::string system = "Answer briefly, and";
  for (int i = 0; i < 12; ++i) system += " never in verse";
  std::size_t first = 0;
  for (const char* question : {"What is rain?", "Who was Ada Lovelace?", "anything else?"}) {
    auto conversation = Conversation::create(shared.session("tenant")).value();
    conversation.add({.role = "system", .content = system});
    const Timings timings = conversation.say(question, {.max_tokens = 2}).value().finish().value().timings;
    if (first == 0) {
      first = timings.prompt_tokens;
      EXPECT_EQ(timings.cached_tokens, 0u);
    } else {
      EXPECT_GT(timings.cached_tokens, first / 2);
      EXPECT_LT(timings.prefilled_tokens, 40u);
    }
  }
}

TEST_P(PrefixCacheTest, WarmedPrefixesAreThereAndPinnedOnesStay) {
  const std::vector<Token> common = some_tokens(100);
  Session alone = Session::create(model_).value();
  alone.feed(common).value();
  const Shared shared(model_, {.budget_bytes = 64 << 20}, {.max_bytes = 2 * alone.kv_bytes()});
  EXPECT_EQ(shared.cache->warm("tenant", common, {.pin = true}).value(), 100u);
  EXPECT_EQ(shared.cache->warm("tenant", common).value(), 0u);
  EXPECT_EQ(shared.cache->warm("tenant", some_tokens(500, 5)).error().code, ErrorCode::resource_exhausted);
  for (unsigned i = 0; i < 20; ++i) {
    Session session = shared.session("tenant");
    answer(session, some_tokens(100, 10 + i));
  }
  EXPECT_GT(shared.cache->statistics("tenant").evictions, 0u);
  Session session = shared.session("tenant");
  EXPECT_EQ(answer(session, joined(common, some_tokens(5, 3))).cached_tokens, 100u);
  EXPECT_EQ(shared.cache->pin("tenant", some_tokens(100, 3)).error().code, ErrorCode::not_found);
  shared.cache->unpin("tenant", common).value();
  EXPECT_EQ(shared.cache->unpin("tenant", common).error().code, ErrorCode::not_found);
  shared.cache->drop("tenant");
  EXPECT_TRUE(shared.cache->domains().empty());
}

// With room for one session, the next one gets all that the cache kept of the last.
TEST_P(PrefixCacheTest, NoSessionIsRefusedForWhatIsCached) {
  Session alone = Session::create(model_).value();
  alone.feed(some_tokens(400)).value();
  const Shared shared(model_, {.budget_bytes = 2 * alone.kv_bytes()});
  for (unsigned i = 0; i < 8; ++i) {
    Session session = shared.session(i % 2 == 0 ? "even" : "odd");
    for (std::size_t done = 0; done < 400; done += 50)
      session.feed(some_tokens(50, 100 * i + static_cast<unsigned>(done))).value();
    EXPECT_LE(shared.pool->use().held_bytes, shared.pool->use().budget_bytes);
  }
  EXPECT_GT(shared.pool->use().cached_bytes, 0u);
}

// One thread's session makes the pool take back what another's prompts have left.
TEST_P(PrefixCacheTest, ThreadsShareACache) {
  std::vector<std::vector<Token>> prompts;
  std::vector<std::vector<float>> expected;
  for (unsigned i = 0; i < 6; ++i) {
    prompts.push_back(joined(some_tokens(40 + 16 * (i % 3)), some_tokens(10 + i, 20 + i)));
    expected.push_back(computed_alone(prompts.back()));
  }
  const Shared shared(model_, {.budget_bytes = 600 * kv_bytes_per_token(model_->kv_shape(), KvType::f16)});
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < 3; ++id) {
    threads.emplace_back([&, id] {
      const std::string domain = id == 0 ? "a" : "b";
      for (unsigned round = 0; round < 20; ++round) {
        const std::size_t which = (id + 5 * round) % prompts.size();
        Session session = shared.session(domain);
        session.feed(prompts[which]).value();
        EXPECT_EQ(logits_of(session), expected[which]);
        if (round % 8 == 7) shared.cache->drop(domain);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.pool->use().used_bytes, 0u);
  EXPECT_EQ(shared.pool->use().cached_bytes, shared.cache->statistics().bytes);
}

// Sessions that come and go, in some domains, with some budget; each is compared with one that computes all by itself.
class RandomUse {
 public:
  RandomUse(std::uint64_t seed, const std::shared_ptr<const Model>& model)
      : random_(seed),
        setup_(model, {.budget_bytes = room_for(model, seed % 2 == 0 ? 10'000 : 640)},
               {.max_bytes = room_for(model, seed % 3 == 0 ? 320 : 10'000),
                .domain_quota_bytes = room_for(model, seed % 5 == 0 ? 200 : 10'000)}) {}

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      switch (below(10)) {
        case 0:
          if (!running_.empty()) running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(below(running_.size())));
          break;
        case 1:
          fork();
          break;
        case 2:
          truncate();
          break;
        case 3:
          manage();
          break;
        case 4:
          if (!running_.empty()) feed(running_[below(running_.size())]);
          break;
        case 5:
          if (!running_.empty()) generate(running_[below(running_.size())]);
          break;
        default:
          begin();
      }
    }
    const PrefixCacheStatistics statistics = setup_.cache->statistics();
    hits += statistics.hits;
    evictions += statistics.evictions;
    running_.clear();
    EXPECT_EQ(setup_.pool->use().used_bytes > 0, pinned_.has_value());
    EXPECT_EQ(setup_.pool->use().used_bytes + setup_.pool->use().cached_bytes, setup_.cache->statistics().bytes);
    if (pinned_) setup_.cache->unpin(pinned_->first, pinned_->second).value();
    EXPECT_EQ(setup_.pool->use().cached_bytes, setup_.cache->statistics().bytes);
    EXPECT_EQ(setup_.pool->use().used_bytes, 0u);
  }

  std::uint64_t hits = 0, evictions = 0;
  int truncated = 0;

 private:
  struct Running {
    Session session;
    std::vector<Token> tokens;
    std::size_t longest = 0;
  };

  static std::uint64_t room_for(const std::shared_ptr<const Model>& model, std::uint64_t tokens) {
    return tokens * kv_bytes_per_token(model->kv_shape(), KvType::f16);
  }
  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }
  std::string some_domain() { return std::vector<std::string>{"a", "b", ""}[below(3)]; }

  std::vector<Token> some_prompt() {
    std::vector<Token> prompt;
    if (!history_.empty() && below(4) > 0) {
      prompt = history_[below(history_.size())];
      if (below(3) == 0) prompt.resize(1 + below(prompt.size()));
    }
    const std::vector<Token> own = some_tokens(1 + below(below(2) == 0 ? 4 : 60), static_cast<unsigned>(below(4)));
    prompt.insert(prompt.end(), own.begin(), own.end());
    if (prompt.size() > 180) prompt.resize(180);
    return prompt;
  }

  // Computed once for each sequence of tokens, by a session of its own.
  const std::vector<float>& expected(const std::vector<Token>& tokens) {
    auto [found, added] = expected_.try_emplace(tokens);
    if (added) {
      Session session = Session::create(setup_.model).value();
      session.feed(tokens).value();
      found->second = logits_of(session);
    }
    return found->second;
  }

  void check(Running& one) {
    ASSERT_TRUE(std::ranges::equal(one.session.tokens(), one.tokens));
    ASSERT_EQ(logits_of(one.session), expected(one.tokens)) << one.tokens.size() << " tokens";
    one.longest = std::max(one.longest, one.tokens.size());
    history_.push_back(one.tokens);
  }

  // The pool may be full of what sessions hold, and then nothing has changed.
  template <typename T>
  bool fits(const Result<T>& result, const Running& one) {
    if (result) return true;
    EXPECT_EQ(result.error().code, ErrorCode::resource_exhausted) << result.error().message;
    EXPECT_EQ(one.session.length(), one.tokens.size());
    EXPECT_FALSE(running_.empty());
    return false;
  }

  void begin() {
    if (running_.size() > 3) running_.erase(running_.begin());
    Running one{setup_.session(some_domain(), {.prefill_chunk = 8 + below(100), .rollback_reserve = below(2) * 24}),
                {}};
    const std::vector<Token> prompt = some_prompt();
    if (below(2) == 0) {
      if (!fits(one.session.feed(prompt), one)) return;
      one.tokens = prompt;
      check(one);
      running_.push_back(std::move(one));
      return;
    }
    GenerateOptions options;
    if (below(2) == 0) options.cache_boundaries = {1 + below(prompt.size()), 1 + below(prompt.size())};
    answer(one, prompt, std::move(options));
    if (one.session.length() > 0) running_.push_back(std::move(one));
  }

  void generate(Running& one) {
    const std::size_t room = 190 - std::min<std::size_t>(190, one.tokens.size());
    if (room > 20) answer(one, some_tokens(1 + below(room - 12), static_cast<unsigned>(below(3))), {});
  }

  // Some tokens, drawn; as a session without a cache draws them.
  void answer(Running& one, const std::vector<Token>& prompt, GenerateOptions options) {
    options.max_tokens = 1 + below(8);
    options.end_tokens = std::vector<Token>{};
    options.sampling = {.temperature = 0.9f, .seed = random_()};
    Session plain = Session::create(setup_.model).value();
    std::vector<Token> all = joined(one.tokens, prompt);
    GenerateOptions same = options;
    same.cache_boundaries.clear();
    const GenerationResult wanted = plain.generate(all, same).value().finish().value();
    const auto got = one.session.generate(prompt, options).value().finish();
    if (!got) {
      one.tokens.assign(one.session.tokens().begin(), one.session.tokens().end());
      fits(got, one);
      return;
    }
    ASSERT_EQ(got.value().tokens, wanted.tokens);
    one.tokens.assign(plain.tokens().begin(), plain.tokens().end());
    check(one);
  }

  void feed(Running& one) {
    if (one.tokens.size() > 150) return;
    const std::vector<Token> more = some_tokens(1 + below(40), static_cast<unsigned>(below(3)));
    if (!fits(one.session.feed(more), one)) return;
    one.tokens = joined(one.tokens, more);
    check(one);
    if (below(2) == 0 && !one.session.options().domain.empty()) one.session.cache_prefix().value();
  }

  void fork() {
    if (running_.empty() || running_.size() > 3) return;
    Running& one = running_[below(running_.size())];
    auto forked = one.session.fork();
    if (forked) running_.push_back({std::move(forked).value(), one.tokens, one.longest});
  }

  // What a session holds after a hit can be cut back as what it computed.
  void truncate() {
    if (running_.empty()) return;
    Running& one = running_[below(running_.size())];
    const std::size_t reserve = std::min(one.longest, one.session.options().rollback_reserve);
    const std::size_t lowest = one.longest - reserve;
    if (one.tokens.size() <= lowest || lowest == 0) return;
    one.tokens.resize(lowest + below(one.tokens.size() - lowest));
    ASSERT_TRUE(one.session.truncate(one.tokens.size()));
    ++truncated;
    const std::vector<Token> more = some_tokens(1 + below(10), static_cast<unsigned>(below(3)));
    if (!fits(one.session.feed(more), one)) return;
    one.tokens = joined(one.tokens, more);
    check(one);
  }

  void manage() {
    const std::string domain = below(2) == 0 ? "a" : "b";
    if (below(6) == 0) {
      setup_.cache->drop(domain);
      if (pinned_ && pinned_->first == domain) pinned_.reset();
    } else if (pinned_) {
      if (pinned_->first == domain) {
        setup_.cache->unpin(domain, pinned_->second).value();
        pinned_.reset();
      }
    } else {
      const std::vector<Token> prompt = some_prompt();
      if (setup_.cache->warm(domain, prompt, {.pin = true, .prefill_chunk = 32})) pinned_.emplace(domain, prompt);
    }
  }

  std::mt19937_64 random_;
  Shared setup_;
  std::map<std::vector<Token>, std::vector<float>> expected_;
  std::vector<std::vector<Token>> history_;
  std::vector<Running> running_;
  std::optional<std::pair<std::string, std::vector<Token>>> pinned_;
};

TEST_P(PrefixCacheTest, RandomUseHasTheBitsOfNoCache) {
  std::uint64_t hits = 0, evictions = 0;
  int truncated = 0;
  for (std::uint64_t seed = 0; seed < 10 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomUse use(seed, model_);
    use.run(60);
    hits += use.hits;
    evictions += use.evictions;
    truncated += use.truncated;
  }
  // The runs must have been where it matters.
  EXPECT_GT(hits, 50u);
  EXPECT_GT(evictions, 50u);
  EXPECT_GT(truncated, 20);
}

}  // namespace
}  // namespace rill
