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

}  // namespace
}  // namespace rill
