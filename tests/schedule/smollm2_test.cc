// The promise on a real model: requests that share too small a pool have the bits of each alone. RILL_MIXES says how many
// random mixes of them are tried (absent: 3).
#include <cstdlib>

#include "schedule/pool_mix.h"
#include "support/real_models.h"

namespace rill {
namespace {

TEST(SmolLm2, RandomMixesHaveTheBitsOfEachAlone) {
  RILL_REQUIRE_MODEL(path, "SmolLM2-135M-Instruct.Q4_1.gguf");
  const auto model = Model::load(path, {.threads = 2}).value();
  const char* const asked = std::getenv("RILL_MIXES");
  const unsigned long mixes = asked == nullptr ? 3 : std::strtoul(asked, nullptr, 10);
  ASSERT_GE(mixes, 3u) << "fewer do not preempt in both ways";
  std::uint64_t requests = 0, recomputed = 0, swaps = 0;
  for (unsigned long mix = 0; mix < mixes; ++mix) {
    const SchedulerMetrics metrics =
        test::run_mix(model, mix < 3 ? std::array{10u, 15u, 37u}[mix] : static_cast<unsigned>(1000 + mix), 9);
    requests += metrics.finished;
    recomputed += metrics.recomputed_tokens;
    swaps += metrics.swaps;
  }
  EXPECT_GT(recomputed, 0u);
  EXPECT_GT(swaps, 0u);
  std::printf("mixes=%lu requests=%llu recomputed_tokens=%llu swaps=%llu\n", mixes, static_cast<unsigned long long>(requests),
              static_cast<unsigned long long>(recomputed), static_cast<unsigned long long>(swaps));
}

}  // namespace
}  // namespace rill
