// Requests that share one budget of pages: nobody dies for want of them, and nobody's bits change.
#include <gtest/gtest.h>

#include "rill/memory_plan.h"
#include "schedule/pool_mix.h"
#include "support/temp_dir.h"

namespace rill {
namespace {

using test::code_of;
using test::Digests;
using test::Job;
using test::pool_of;
using test::some_tokens;
using test::tiny_gemma;
using test::tiny_llama;
using test::Submitted;

TEST(SharedPool, K09PreemptionMakesProgress) {
  const test::TempDir directory;
  const SwapOptions swaps[] = {{}, {.memory_bytes = 1 << 20}, {.file_bytes = 1 << 20, .directory = directory.path()}};
  for (const auto& [sequences, prompt, tokens] : {std::tuple{2u, 40u, 52u}, {4u, 20u, 28u}}) {
    for (const SwapOptions& swap : swaps) {
      const auto pool = pool_of(tiny_llama(), 8);
      Scheduler scheduler = Scheduler::create(tiny_llama(), {.kv_pool = pool,
                                                       .admission = Admission::overcommit,
                                                       .swap = swap,
                                                       .cost_model = test::dear}).value();
      std::vector<Submitted> all;
      for (unsigned i = 0; i < sequences; ++i)
        all.push_back(test::submit(scheduler, {.prompt = some_tokens(prompt, i), .max_tokens = tokens, .seed = i}));
      std::size_t preempted = 0, most_running = 0;
      for (;;) {
        const StepReport report = scheduler.step().value();
        preempted += report.preempted;
        most_running = std::max(most_running, report.running);
        if (report.idle()) break;
        EXPECT_GT(report.generated + report.prefilled, 0u);
        EXPECT_LE(pool->use().used_bytes, pool->use().budget_bytes);
      }
      EXPECT_GT(most_running, 1u);
      EXPECT_GE(preempted, sequences == 2 ? 1u : 0u);  // the four may be spared by admission
      EXPECT_LE(preempted, 2 * sequences);
      const bool swapping = swap.memory_bytes + swap.file_bytes > 0;
      EXPECT_EQ(scheduler.metrics().swaps, swapping ? preempted : 0u);
      EXPECT_EQ(scheduler.metrics().recomputed_tokens > 0, !swapping && preempted > 0);
      EXPECT_EQ(scheduler.metrics().swapped_bytes, 0u);
      std::size_t in_ledgers = 0;
      for (const Submitted& one : all) {
        test::expect_as_alone(tiny_llama(), one);
        const Ledger ledger = one.ticket.ledger().value();
        in_ledgers += ledger.preemptions;
        EXPECT_EQ(ledger.preempted > Duration::zero(), ledger.preemptions > 0);
        EXPECT_EQ(ledger.tokenize + ledger.queued + ledger.prefill + ledger.first_sample + ledger.decode + ledger.preempted,
                  ledger.total);
      }
      EXPECT_EQ(in_ledgers, preempted);
      test::expect_empty(*pool);
    }
  }
}

TEST(SharedPool, WhatIsCheaperIsDone) {
  for (const bool swapping : {false, true}) {
    const auto pool = pool_of(tiny_llama(), 8);
    Scheduler scheduler = Scheduler::create(tiny_llama(), {.kv_pool = pool,
                                                     .admission = Admission::overcommit,
                                                     .swap = {.memory_bytes = 1 << 20},
                                                     .cost_model = swapping ? test::dear : test::cheap}).value();
    std::vector<Submitted> all;
    for (unsigned i = 0; i < 2; ++i) all.push_back(test::submit(scheduler, {.prompt = some_tokens(40, i), .max_tokens = 52}));
    scheduler.run_until_idle().value();
    EXPECT_EQ(scheduler.metrics().swaps > 0, swapping);
    EXPECT_GT(scheduler.metrics().preemptions, 0u);
  }
}

TEST(SharedPool, TheLastOfTheLowestPriorityGivesItsPages) {
  const auto pool = pool_of(tiny_llama(), 8);
  Scheduler scheduler = Scheduler::create(tiny_llama(), {.kv_pool = pool, .admission = Admission::overcommit}).value();
  std::vector<Submitted> all;
  for (const int priority : {1, 0}) {
    all.push_back(test::submit(scheduler, {.prompt = some_tokens(17, 3), .max_tokens = 50, .priority = priority}));
  }
  scheduler.run_until_idle().value();
  EXPECT_EQ(all[0].ticket.ledger().value().preemptions, 0u);
  EXPECT_GT(all[1].ticket.ledger().value().preemptions, 0u);
  for (const Submitted& one : all) test::expect_as_alone(tiny_llama(), one);
}

TEST(SharedPool, AHigherPriorityNeedNotWait) {
  const auto pool = pool_of(tiny_llama(), 8);
  Scheduler scheduler = Scheduler::create(tiny_llama(), {.kv_pool = pool, .admission = Admission::overcommit}).value();
  Submitted low = test::submit(scheduler, {.prompt = some_tokens(80), .max_tokens = 10});
  for (int step = 0; step < 3; ++step) scheduler.step().value();
  Submitted high = test::submit(scheduler, {.prompt = some_tokens(60, 2), .max_tokens = 10, .priority = 1});
  const StepReport report = scheduler.step().value();
  EXPECT_EQ(report.preempted, 1u);
  EXPECT_EQ(report.generated, 1u);
  scheduler.run_until_idle().value();
  EXPECT_EQ(high.ticket.ledger().value().preemptions, 0u);
  for (const Submitted* one : {&low, &high}) test::expect_as_alone(tiny_llama(), *one);
  test::expect_empty(*pool);
}

TEST(SharedPool, GuaranteedRequestsAreNeverPreempted) {
  const auto pool = pool_of(tiny_llama(), 8);
  Scheduler scheduler = Scheduler::create(tiny_llama(), {.kv_pool = pool}).value();
  std::vector<Submitted> all;
  for (unsigned i = 0; i < 5; ++i)
    all.push_back(test::submit(scheduler, {.prompt = some_tokens(20, i), .max_tokens = 28, .seed = i}));
  std::size_t most_running = 0;
  for (;;) {
    const StepReport report = scheduler.step().value();
    EXPECT_EQ(report.preempted, 0u);
    most_running = std::max(most_running, report.running);
    EXPECT_LE(pool->use().used_bytes + pool->use().reserved_bytes, pool->use().budget_bytes);
    if (report.idle()) break;
  }
  EXPECT_EQ(most_running, 2u);  // 3 pages and one to spare each
  for (const Submitted& one : all) test::expect_as_alone(tiny_llama(), one);
  test::expect_empty(*pool);
}

TEST(SharedPool, AsManyAtATimeAsThePlannerGuarantees) {
  EXPECT_EQ(Scheduler::create(tiny_llama()).value().options().max_sequences, 32u);
  for (const auto& model : {tiny_llama(), tiny_gemma()}) {
    for (const std::size_t sequences : {1u, 12u, 40u}) {
      const MemoryNeeds needs{.context_tokens = 100, .sequences = sequences, .prefill_chunk = 24, .sessions = false};
      SchedulerOptions options{.context_tokens = 100, .prefill_chunk = 24};
      options.kv_pool = KvPool::create(model, {.budget_bytes = plan_memory(model_memory(*model), needs).kv_peak}).value();
      EXPECT_EQ(Scheduler::create(model, options).value().options().max_sequences, std::clamp<std::size_t>(sequences, 8, 32));
      options.max_sequences = 3;
      EXPECT_EQ(Scheduler::create(model, options).value().options().max_sequences, 3u);
    }
  }
}

TEST(SharedPool, WhatCanNeverFitIsRefusedWithTheNumbers) {
  for (const Admission admission : {Admission::guaranteed, Admission::overcommit}) {
    const auto pool = pool_of(tiny_llama(), 8);
    Scheduler scheduler = Scheduler::create(tiny_llama(), {.kv_pool = pool, .admission = admission}).value();
    GenerateOptions options{.max_tokens = 40};
    const auto refused = scheduler.submit({.prompt = some_tokens(90), .options = options});
    ASSERT_EQ(code_of(refused), ErrorCode::resource_exhausted);
    for (const char* number : {"90", "40", "10 pages", "has 8"})
      EXPECT_NE(refused.error().message.find(number), std::string::npos) << refused.error().message;
    EXPECT_EQ(code_of(scheduler.submit({.prompt = some_tokens(9)})), ErrorCode::resource_exhausted);  // the window is 512
    options.max_tokens = 16;
    EXPECT_TRUE(scheduler.submit({.prompt = some_tokens(90), .options = options}));
    scheduler.run_until_idle().value();
    test::expect_empty(*pool);
  }
}

TEST(SharedPool, OneSchedulerOvercommits) {
  const auto pool = pool_of(tiny_llama(), 8);
  const SchedulerOptions options{.kv_pool = pool, .admission = Admission::overcommit};
  std::optional<Scheduler> first = Scheduler::create(tiny_llama(), options).value();
  EXPECT_EQ(code_of(Scheduler::create(tiny_llama(), options)), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(BackgroundScheduler::create(tiny_llama(), options)), ErrorCode::invalid_argument);
  EXPECT_TRUE(Scheduler::create(tiny_llama(), {.kv_pool = pool}));
  const Submitted one = test::submit(*first, {.prompt = some_tokens(40), .max_tokens = 10});
  first.reset();  // its ticket is still there
  EXPECT_TRUE(Scheduler::create(tiny_llama(), options));
  EXPECT_TRUE(BackgroundScheduler::create(tiny_llama(), options));
  EXPECT_TRUE(BackgroundScheduler::create(tiny_llama(), options));
}

TEST(SharedPool, CompletionsNeedTheirPromptOnce) {
  const Job job{.prompt = some_tokens(64), .max_tokens = 16, .seed = 2};
  const auto digests = std::make_shared<Digests>();
  const auto submit = [&](Scheduler& scheduler) {
    return scheduler.submit({.prompt = job.prompt, .options = job.options(digests), .completions = 3});
  };
  // 5 pages and one to spare; two more answers with 1 page and one to spare each.
  Scheduler small = Scheduler::create(tiny_llama(), {.kv_pool = pool_of(tiny_llama(), 9)}).value();
  EXPECT_EQ(code_of(submit(small)), ErrorCode::resource_exhausted);
  const auto pool = pool_of(tiny_llama(), 10);
  Scheduler scheduler = Scheduler::create(tiny_llama(), {.kv_pool = pool}).value();
  Ticket ticket = submit(scheduler).value();
  scheduler.run_until_idle().value();
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(ticket.result(i).value().tokens, test::alone(tiny_llama(), job, i).tokens);
  test::expect_empty(*pool);
}

TEST(SharedPool, PagesHeldByOthersAreWaitedFor) {
  const auto pool = pool_of(tiny_llama(), 8);
  std::optional<Session> holder = Session::create(tiny_llama(), {.kv_pool = pool}).value();
  holder->feed(some_tokens(100)).value();
  for (const Admission admission : {Admission::guaranteed, Admission::overcommit}) {
    Scheduler scheduler = Scheduler::create(tiny_llama(), {.kv_pool = pool, .admission = admission}).value();
    Submitted one = test::submit(scheduler, {.prompt = some_tokens(40), .max_tokens = 10});
    EXPECT_EQ(code_of(scheduler.run_until_idle()), ErrorCode::resource_exhausted);
    EXPECT_FALSE(one.ticket.finished());
    holder.reset();
    scheduler.run_until_idle().value();
    test::expect_as_alone(tiny_llama(), one);
    holder = Session::create(tiny_llama(), {.kv_pool = pool}).value();
    holder->feed(some_tokens(100)).value();
  }
}

TEST(SharedPool, PrefixesAreSharedWithinADomain) {
  for (const auto& model : {tiny_llama(), tiny_gemma()}) {
    const auto cache = PrefixCache::create(pool_of(model, 300)).value();
    Scheduler scheduler = Scheduler::create(model, {.prefix_cache = cache, .prefill_chunk = 32}).value();
    const Job job{.prompt = some_tokens(100), .max_tokens = 6, .seed = 3};
    std::vector<Token> longer = job.prompt;
    longer.resize(130, 17);
    const auto run = [&](std::vector<Token> prompt, std::string domain) {
      const auto digests = std::make_shared<Digests>();
      Ticket ticket = scheduler.submit({.prompt = prompt, .options = job.options(digests), .domain = std::move(domain)}).value();
      scheduler.run_until_idle().value();
      Job same = job;
      same.prompt = prompt;
      EXPECT_EQ((test::Outcome{ticket.result().value().tokens, ticket.result().value().text, *digests}),
                test::alone(model, same));
      const Ledger ledger = ticket.ledger().value();
      EXPECT_EQ(ledger.reused_tokens + ledger.prefilled_tokens, prompt.size());
      return ledger.reused_tokens;
    };
    EXPECT_EQ(run(job.prompt, "a"), 0u);
    EXPECT_EQ(run(longer, "a"), 100u);
    EXPECT_EQ(run(longer, "b"), 0u);
    EXPECT_EQ(run(longer, ""), 0u);
    EXPECT_EQ(run(longer, ""), 0u);
    EXPECT_EQ(scheduler.metrics().hit_rate(), 100.0 / (100 + 4 * 130));
    cache->drop("a");
    cache->drop("b");
    test::expect_empty(*cache->pool());
  }
}

std::vector<Token> behind(std::vector<Token> prefix, std::size_t count, unsigned seed) {
  const std::vector<Token> own = some_tokens(count, seed);
  prefix.insert(prefix.end(), own.begin(), own.end());
  return prefix;
}

// Each answer needs 6 pages and one to spare. Behind one that runs, 4 of them are there already.
TEST(SharedPool, APrefixThatOthersHoldIsPromisedOnce) {
  for (const auto& [pages, domain, together] : {std::tuple{13u, "a", 3u}, {12u, "a", 2u}, {13u, "b", 1u}, {13u, "", 1u}}) {
    const auto cache = PrefixCache::create(pool_of(tiny_llama(), pages)).value();
    const KvPool& pool = *cache->pool();
    Scheduler scheduler = Scheduler::create(tiny_llama(), {.prefix_cache = cache}).value();
    std::vector<Submitted> all;
    all.push_back(test::submit(scheduler, {.prompt = behind(some_tokens(64), 5, 1), .max_tokens = 20}, "a"));
    EXPECT_EQ(scheduler.step().value().running, 1u);
    for (unsigned i = 2; i < 4; ++i) {
      all.push_back(test::submit(scheduler, {.prompt = behind(some_tokens(64), 5, i), .max_tokens = 20, .seed = i}, domain));
    }
    EXPECT_EQ(scheduler.step().value().running, together);
    for (int step = 0; step < 5; ++step) scheduler.step().value();
    EXPECT_EQ(cache->statistics("a").hits, together - 1);  // those that wait only look
    for (;;) {
      const StepReport report = scheduler.step().value();
      EXPECT_EQ(report.preempted, 0u);
      EXPECT_LE(pool.use().used_bytes + pool.use().reserved_bytes, pool.use().budget_bytes);
      if (report.idle()) break;
    }
    for (const Submitted& one : all) test::expect_as_alone(tiny_llama(), one);
    for (const std::string& name : cache->domains()) cache->drop(name);
    test::expect_empty(pool);
  }
}

// What is pinned takes room: who shares it needs no more for it, and who needs that room waits until it is unpinned.
TEST(SharedPool, WhatIsPinnedIsNotPromised) {
  const auto cache = PrefixCache::create(pool_of(tiny_llama(), 8)).value();
  const KvPool& pool = *cache->pool();
  const std::vector<Token> prefix = some_tokens(64);
  ASSERT_EQ(cache->warm("a", prefix, {.pin = true}).value(), 64u);
  EXPECT_EQ(pool.use().used_bytes, 4 * pool.use().page_bytes);
  EXPECT_EQ(pool.use().free_bytes, 4 * pool.use().page_bytes);
  Scheduler scheduler = Scheduler::create(tiny_llama(), {.prefix_cache = cache}).value();
  const Submitted sharing = test::submit(scheduler, {.prompt = behind(prefix, 5, 1), .max_tokens = 20}, "a");
  EXPECT_EQ(scheduler.step().value().running, 1u);
  scheduler.run_until_idle().value();
  test::expect_as_alone(tiny_llama(), sharing);
  EXPECT_EQ(sharing.ticket.ledger().value().reused_tokens, 64u);
  EXPECT_EQ(pool.use().used_bytes, 4 * pool.use().page_bytes);
  const Submitted large = test::submit(scheduler, {.prompt = some_tokens(60, 2), .max_tokens = 10});
  for (int step = 0; step < 3; ++step) {
    const StepReport report = scheduler.step().value();
    EXPECT_EQ(report.queued, 1u);
    EXPECT_EQ(report.running, 0u);
  }
  cache->unpin("a", prefix).value();
  EXPECT_EQ(scheduler.step().value().running, 1u);
  scheduler.run_until_idle().value();
  test::expect_as_alone(tiny_llama(), large);
  EXPECT_EQ(scheduler.metrics().preemptions, 0u);
}

// One that drops its oldest tokens replaces what it shares: it is promised pages of its own.
TEST(SharedPool, WhoDropsTheOldestIsPromisedAll) {
  const auto cache = PrefixCache::create(pool_of(tiny_llama(), 14)).value();
  Scheduler scheduler = Scheduler::create(tiny_llama(), {.context_tokens = 96, .prefix_cache = cache}).value();
  const Submitted holder = test::submit(scheduler, {.prompt = behind(some_tokens(64), 5, 1), .max_tokens = 27}, "a");
  scheduler.step().value();
  const Job job{.prompt = behind(some_tokens(64), 25, 2), .max_tokens = 60};
  const auto digests = std::make_shared<Digests>();
  GenerateOptions options = job.options(digests);
  options.context_policy = ContextPolicy::drop_oldest;
  const Ticket dropping = scheduler.submit({.prompt = job.prompt, .options = options, .domain = "a"}).value();
  EXPECT_EQ(scheduler.step().value().running, 2u);
  const Submitted third = test::submit(scheduler, {.prompt = some_tokens(20), .max_tokens = 28});  // there is no room for it yet
  EXPECT_EQ(scheduler.step().value().queued, 1u);
  scheduler.run_until_idle().value();
  EXPECT_EQ(scheduler.metrics().preemptions, 0u);
  EXPECT_EQ(dropping.ledger().value().reused_tokens, 64u);
  Session session = Session::create(tiny_llama(), {.context_tokens = 96}).value();
  const auto alone_digests = std::make_shared<Digests>();
  options = job.options(alone_digests);
  options.context_policy = ContextPolicy::drop_oldest;
  EXPECT_EQ(dropping.result().value().tokens, session.generate(job.prompt, options).value().finish().value().tokens);
  EXPECT_EQ(*digests, *alone_digests);
  for (const Submitted* one : {&holder, &third}) test::expect_as_alone(tiny_llama(), *one);
}

TEST(SharedPool, RandomMixesHaveTheBitsOfEachAlone) {
  for (const auto& model : {tiny_llama(), tiny_gemma()}) {
    std::uint64_t preemptions = 0, swaps = 0;
    for (unsigned seed = 0; seed < 40; ++seed) {
      const SchedulerMetrics metrics = test::run_mix(model, seed, model == tiny_gemma() ? 50 : 9);
      preemptions += metrics.preemptions;
      swaps += metrics.swaps;
    }
    EXPECT_GT(swaps, 0u);  // of both kinds, or nothing was tried
    EXPECT_GT(preemptions - swaps, 0u);
  }
}

}  // namespace
}  // namespace rill
