// Sessions on several threads over one model.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/thread_pool.h"
#include "support/scripted.h"

namespace rill {
namespace {

using test::some_tokens;

std::shared_ptr<const Model> model() {
  test::TinyModelOptions options = test::tiny_options("gemma3");
  return test::load_bytes(test::make_tiny_model(options), {.threads = 2});
}

GenerateOptions sampled(std::uint64_t seed) {
  GenerateOptions options{.max_tokens = 12};
  options.sampling.seed = seed;
  options.end_tokens = std::vector<Token>{};
  return options;
}

TEST(ThreadsTest, SessionsOnTheirOwnThreadsGiveWhatEachGivesAlone) {
  const auto shared = model();
  const auto run = [&](unsigned i) {
    Session session = Session::create(shared, {.prefill_chunk = 8}).value();
    auto result = session.generate(some_tokens(20 + i, i), sampled(i)).value().finish().value().tokens;
    const auto scores = session.score(some_tokens(9, i)).value();
    return std::pair(result, scores);
  };
  std::vector<std::pair<std::vector<Token>, std::vector<float>>> alone, together(4);
  for (unsigned i = 0; i < 4; ++i) alone.push_back(run(i));
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back([&, i] { together[i] = run(i); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
}

std::vector<std::vector<float>> logits_of_steps(Session& session, std::size_t steps, ThreadPool* changing = nullptr) {
  std::vector<std::vector<float>> rows;
  for (const Token token : some_tokens(steps)) {
    if (changing != nullptr) changing->set_thread_limit(1 + static_cast<int>(rows.size() % changing->threads())).value();
    session.feed(token).value();
    rows.push_back(session.logits().all().value());
  }
  return rows;
}

TEST(ThreadsTest, TheLimitMayChangeBetweenSteps) {
  ModelOptions options{.pool = ThreadPool::create({.threads = 3}).value()};
  const auto other = test::load_bytes(test::make_tiny_model(test::tiny_options("gemma3")), options);
  Session steady = Session::create(model()).value(), changing = Session::create(other).value();
  EXPECT_EQ(logits_of_steps(steady, 40), logits_of_steps(changing, 40, options.pool.get()));
}

// Once warm, a step takes no lock and makes no system call for the pool, unless the caller pauses for longer than the spin.
TEST(ThreadsTest, WarmStepsWakeNobody) {
  ModelOptions options{.pool = ThreadPool::create({.threads = 2, .spin = std::chrono::seconds(1), .narrow = false}).value()};
  const auto warm = test::load_bytes(test::make_tiny_model(test::tiny_options("gemma3")), options);
  Session session = Session::create(warm).value();
  logits_of_steps(session, 2);
  const std::uint64_t before = options.pool->workers().sleeps_and_wakes();
  logits_of_steps(session, 40);
  EXPECT_EQ(options.pool->workers().sleeps_and_wakes(), before);
}

TEST(ThreadsTest, ForksThatSharePagesRunOnTheirOwnThreads) {
  const auto shared = model();
  Session parent = Session::create(shared).value();
  parent.feed(some_tokens(37)).value();
  std::vector<Session> forks;
  for (int i = 0; i < 3; ++i) forks.push_back(parent.fork().value());
  std::vector<std::vector<Token>> results(3);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] { results[i] = forks[i].generate(some_tokens(5), sampled(7)).value().finish().value().tokens; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
  EXPECT_EQ(parent.length(), 37u);
}

TEST(ThreadsTest, A02OneSessionFromTwoThreadsIsBusyAndUnharmed) {
  const auto shared = model();
  Session session = Session::create(shared, {.prefill_chunk = 4}).value();
  session.feed(some_tokens(30)).value();
  // The first thread stands inside a feed until the second has tried everything.
  std::atomic<int> stage{0};
  std::thread second([&] {
    while (stage.load() == 0) std::this_thread::yield();
    const auto is_busy = [](const auto& result) { return !result && result.error().code == ErrorCode::busy; };
    EXPECT_TRUE(is_busy(session.feed(3)));
    EXPECT_TRUE(is_busy(session.truncate(0)));
    EXPECT_TRUE(is_busy(session.fork()));
    EXPECT_TRUE(is_busy(session.logits(0)));
    EXPECT_TRUE(is_busy(session.score(some_tokens(3))));
    EXPECT_TRUE(is_busy(session.embed(some_tokens(3), {.pooling = Pooling::mean})));
    EXPECT_TRUE(is_busy(session.generate("x")));
    EXPECT_TRUE(is_busy(session.generate(some_tokens(3))));
    const std::vector<Token> tokens = some_tokens(3);
    const FeedItem items[] = {{&session, tokens, {}}};
    EXPECT_TRUE(is_busy(feed_batch(items)));
    stage.store(2);
  });
  session.feed(some_tokens(8, 2), {.progress = [&](std::size_t, std::size_t) {
                 stage.store(stage.load() == 0 ? 1 : stage.load());
                 while (stage.load() < 2) std::this_thread::yield();
               }}).value();
  second.join();
  Session fresh = Session::create(shared).value();
  fresh.feed(some_tokens(30)).value();
  fresh.feed(some_tokens(8, 2)).value();
  EXPECT_EQ(session.logits().all().value(), fresh.logits().all().value());
}

TEST(ThreadsTest, A02GenerationsThatFightForASessionEndInBusyOrStale) {
  const auto shared = model();
  Session session = Session::create(shared).value();
  std::atomic<int> finished{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        auto generation = session.generate(some_tokens(3, i), sampled(i));
        if (!generation) {
          EXPECT_EQ(generation.error().code, ErrorCode::busy);
          continue;
        }
        const auto result = generation->finish();
        if (result) {
          EXPECT_EQ(result->tokens.size(), 12u);
          ++finished;
        } else {
          EXPECT_TRUE(result.error().code == ErrorCode::busy || result.error().code == ErrorCode::stale_handle)
              << result.error().message;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<Token> held(session.tokens().begin(), session.tokens().end());
  session.feed(4).value();
  if (held.empty()) return;
  Session fresh = Session::create(shared).value();
  fresh.feed(held).value();
  fresh.feed(4).value();
  EXPECT_EQ(session.logits().all().value(), fresh.logits().all().value());
}

TEST(ThreadsTest, A03AStopFromAnotherThreadEndsAFeedWithinAChunk) {
  test::TinyModelOptions options = test::tiny_options("llama");
  options.context = 4096;
  Session session = Session::create(test::load_tiny(options), {.prefill_chunk = 16}).value();
  StopSource source;
  std::atomic<int> chunks{0};
  std::thread stopper([&] {
    while (chunks.load() == 0) std::this_thread::yield();
    source.request_stop();
  });
  const auto progress = [&](std::size_t, std::size_t) {
    ++chunks;
    while (!source.stop_requested()) std::this_thread::yield();
  };
  const auto fed = session.feed(some_tokens(4000), {.stop = source.token(), .progress = progress});
  stopper.join();
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().code, ErrorCode::cancelled);
  EXPECT_EQ(chunks.load(), 1);
  EXPECT_EQ(session.length(), 0u);
  Session fresh = Session::create(test::load_tiny(options)).value();
  for (Session* each : {&session, &fresh}) each->feed(some_tokens(40)).value();
  EXPECT_EQ(session.logits().all().value(), fresh.logits().all().value());
}

}  // namespace
}  // namespace rill
