// The promise on a real model: requests that share too small a pool have the bits of each alone.
#include "schedule/pool_mix.h"
#include "support/real_models.h"

namespace rill {
namespace {

TEST(SmolLm2, RandomMixesHaveTheBitsOfEachAlone) {
  RILL_REQUIRE_MODEL(path, "SmolLM2-135M-Instruct.Q4_1.gguf");
  const auto model = Model::load(path, {.threads = 2}).value();
  std::uint64_t recomputed = 0, swaps = 0;
  for (const unsigned seed : {10u, 15u, 37u}) {
    const SchedulerMetrics metrics = test::run_mix(model, seed, 9);
    recomputed += metrics.recomputed_tokens;
    swaps += metrics.swaps;
  }
  EXPECT_GT(recomputed, 0u);
  EXPECT_GT(swaps, 0u);
}

}  // namespace
}  // namespace rill
