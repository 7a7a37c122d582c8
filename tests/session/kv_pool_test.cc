// Sessions that share a KvPool: who asks for too much is refused, and nobody notices.
#include "rill/kv_pool.h"

#include <gtest/gtest.h>

#include "support/scripted.h"

namespace rill {
namespace {

using test::load_tiny;
using test::some_tokens;

class KvPoolTest : public testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<const Model> model_ = load_tiny(test::tiny_options(GetParam()));
  const std::uint64_t page_bytes_ = KvPool::create(model_).value()->use().page_bytes;
  const std::uint64_t groups_ = kv_bytes_per_token(model_->kv_shape(), KvType::f16) * 16 / page_bytes_;

  // A pool with room for so many tokens in pages of all groups.
  std::shared_ptr<KvPool> pool_for(std::uint64_t tokens) {
    return KvPool::create(model_, {.budget_bytes = (tokens + 15) / 16 * groups_ * page_bytes_}).value();
  }
  Session start(std::shared_ptr<KvPool> pool) {
    return Session::create(model_, {.context_tokens = 256, .prefill_chunk = 16, .kv_pool = std::move(pool)}).value();
  }
};

std::vector<float> logits_of(const Session& session) { return session.logits().all().value(); }

TEST_P(KvPoolTest, OptionsMustAgree) {
  const auto refused = [](const auto& result) { return !result && result.error().code == ErrorCode::invalid_argument; };
  EXPECT_TRUE(refused(KvPool::create(nullptr)));
  EXPECT_TRUE(refused(KvPool::create(model_, {.budget_bytes = 0})));
  EXPECT_TRUE(refused(KvPool::create(model_, {.budget_bytes = groups_ * page_bytes_ - 1})));
  EXPECT_TRUE(refused(KvPool::create(model_, {.kv_type = static_cast<KvType>(9)})));
  const auto pool = KvPool::create(model_).value();
  EXPECT_TRUE(refused(Session::create(model_, {.kv_type = KvType::f32, .kv_pool = pool})));
  EXPECT_TRUE(refused(Session::create(load_tiny(test::tiny_options(GetParam())), {.kv_pool = pool})));
}

TEST_P(KvPoolTest, ExhaustionConcernsOnlyWhoAsks) {
  const auto pool = pool_for(112);  // a page more in each group than the two hold
  const std::vector<Token> tokens = some_tokens(200);
  const auto part = [&](std::size_t begin, std::size_t count) { return std::span(tokens).subspan(begin, count); };
  Session alone = start(nullptr), first = start(pool);
  alone.feed(part(0, 40)).value();
  first.feed(part(0, 40)).value();
  {
    Session second = start(pool), other = start(nullptr);
    second.feed(part(100, 40)).value();
    other.feed(part(100, 40)).value();
    const KvPoolUse before = pool->use();
    for (const std::size_t count : {60u, 100u}) {
      const auto refused = first.feed(part(40, count));
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
      EXPECT_NE(refused.error().message.find(std::to_string(before.budget_bytes)), std::string::npos);
      const FeedItem both[] = {{&second, part(140, 1)}, {&first, part(40, count)}};
      EXPECT_EQ(feed_batch(both).error().code, ErrorCode::resource_exhausted);
    }
    EXPECT_EQ(pool->use().used_bytes, before.used_bytes);
    EXPECT_EQ(first.length(), 40u);
    EXPECT_EQ(logits_of(first), logits_of(alone));
    second.feed(part(140, 8)).value();
    other.feed(part(140, 8)).value();
    EXPECT_EQ(logits_of(second), logits_of(other));
  }
  first.feed(part(40, 50)).value();  // there is room again
  alone.feed(part(40, 50)).value();
  EXPECT_EQ(logits_of(first), logits_of(alone));
  first.truncate(0).value();
  const KvPoolUse use = pool->use();
  EXPECT_EQ(use.pages, 0u);
  EXPECT_EQ(use.free_bytes, use.budget_bytes);
  EXPECT_LE(use.held_bytes, use.budget_bytes);
}

TEST_P(KvPoolTest, AForkTakesPagesOnlyWhenItGoesItsOwnWay) {
  const auto pool = pool_for(512);
  Session parent = start(pool);
  parent.feed(some_tokens(40)).value();
  const std::uint64_t used = pool->use().used_bytes;
  std::vector<Session> forks;
  for (int i = 0; i < 5; ++i) forks.push_back(parent.fork().value());
  EXPECT_EQ(pool->use().used_bytes, used);
  forks[0].feed(some_tokens(1, 7)).value();
  EXPECT_EQ(pool->use().used_bytes, used + groups_ * page_bytes_);  // copies of the pages that are not full
  forks.clear();
  EXPECT_EQ(pool->use().used_bytes, used);
  EXPECT_EQ(parent.kv_bytes(), used);
}

INSTANTIATE_TEST_SUITE_P(Architectures, KvPoolTest, testing::Values("llama", "gemma3"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace rill
