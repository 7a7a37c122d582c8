// A scheduler under more than it can hold: benchmarks/load_test at the size of a test, in both ways to run one.
#include <gtest/gtest.h>

#include <tuple>

#include "rill/rill.h"
#include "support/request_load.h"
#include "support/tiny_model.h"

namespace rill {
namespace {

class RequestLoadTest : public testing::TestWithParam<std::tuple<const char*, Admission, bool>> {};

TEST_P(RequestLoadTest, NothingIsLostOrLeakedAndEveryBitIsThatOfTheRequestAlone) {
  const auto& [architecture, admission, background] = GetParam();
  const auto bytes = own_buffer(test::make_tiny_model(test::tiny_options(architecture, ElementType::q8_0))).value();
  const auto model = Model::load(bytes, {.threads = 2}).value();
  test::RequestLoad load;
  load.requests = 60;
  load.longest = 150;
  load.longest_answer = 24;
  load.impossible = 0.1;
  load.background = background;
  SchedulerOptions options;
  options.admission = admission;
  options.max_sequences = 8;
  options.prefill_chunk = 24;
  const test::LoadReport report = test::run_load(model, load, options);
  EXPECT_EQ(report.lost, 0u);
  EXPECT_EQ(report.leaked_pages, 0u);
  EXPECT_EQ(report.bit_differences, 0u);
  EXPECT_EQ(report.wrongly_refused, 0u);
  EXPECT_EQ(report.finished + report.cancelled + report.refused, report.requests);
  // Or the test would show nothing.
  EXPECT_GT(report.refused, 2u);
  EXPECT_GT(report.finished, 30u);
  EXPECT_LT(report.pool_bytes, report.demand_bytes / 2);
  if (admission == Admission::guaranteed) {
    EXPECT_EQ(report.preempted, 0u);
  } else if (!background) {
    EXPECT_GT(report.preempted, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, RequestLoadTest,
                         testing::Combine(testing::Values("llama", "gemma3"),
                                          testing::Values(Admission::guaranteed, Admission::overcommit),
                                          testing::Bool()));

// What the planner calls guaranteed is what is admitted: over a pool of that many sequences, and not one page more.
TEST(PlannedTest, ASchedulerAdmitsAsManyAsAreGuaranteed) {
  for (const char* architecture : {"llama", "gemma3"}) {
    const auto bytes = own_buffer(test::make_tiny_model(test::tiny_options(architecture))).value();
    const auto model = Model::load(bytes, {.threads = 1}).value();
    const ModelMemory memory = model_memory(*model);
    MemoryNeeds needs{.context_tokens = 200, .prefill_chunk = 24, .sessions = false};
    for (const std::uint64_t wanted : {1u, 2u, 5u}) {
      needs.sequences = wanted;
      const MemoryPlan plan = plan_memory(memory, needs);
      ASSERT_EQ(sequences_guaranteed(memory, needs, plan.peak()), wanted);
      SchedulerOptions options;
      options.kv_pool = KvPool::create(model, {.budget_bytes = plan.kv_peak}).value();
      options.context_tokens = needs.context_tokens;
      options.prefill_chunk = needs.prefill_chunk;
      Scheduler scheduler = Scheduler::create(model, options).value();
      std::vector<Ticket> tickets;
      for (std::uint64_t i = 0; i < wanted + 2; ++i) {
        Request request;
        request.prompt = std::vector<Token>(100, 100);
        request.options = {.max_tokens = 100, .end_tokens = std::vector<Token>()};
        tickets.push_back(scheduler.submit(std::move(request)).value());
      }
      EXPECT_EQ(scheduler.step().value().admitted, wanted) << architecture;
      ASSERT_TRUE(scheduler.run_until_idle());
      for (const Ticket& ticket : tickets) EXPECT_EQ(ticket.result().value().tokens.size(), 100u);
    }
  }
}

}  // namespace
}  // namespace rill
