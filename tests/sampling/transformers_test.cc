// Where transformers defines the same thing, the same tokens are kept: tests/golden/sampling.json.
#include <gtest/gtest.h>

#include <algorithm>

#include "rill/sampling.h"
#include "sampling/naive.h"
#include "support/golden.h"

namespace rill {
namespace {

std::vector<Token> kept(Processor processor, const std::vector<float>& logits) {
  Candidates candidates = naive::candidates_of(logits);
  Draws draws(0, 0, 0, 1);
  processor->process(candidates, draws).value();
  return naive::ids_of(candidates);
}

TEST(TransformersTest, KeepsTheSameTokens) {
  const auto golden = test::read_golden("sampling.json");
  ASSERT_EQ(golden["cases"].size(), 40u);
  for (const auto& one : golden["cases"]) {
    std::vector<float> logits;
    for (const int unit : one["logits"]) logits.push_back(static_cast<float>(unit) / golden["unit"].get<float>());
    const auto history = one["history"].get<std::vector<Token>>();
    const auto ids = [&one](const char* key) { return one[key].get<std::vector<Token>>(); };
    SCOPED_TRACE(one["k"].dump() + " " + one["p"].dump());
    EXPECT_EQ(kept(keep_top_k(one["k"]), logits), ids("top_k"));
    EXPECT_EQ(kept(keep_top_p(one["p"]), logits), ids("top_p"));
    EXPECT_EQ(kept(keep_min_p(one["min_p"]), logits), ids("min_p_kept"));
    EXPECT_EQ(kept(keep_typical(one["p"]), logits), ids("typical"));

    Processor penalty = repetition_penalty({.penalty = one["penalty"]});
    penalty->observe(history).value();
    Candidates candidates = naive::candidates_of(logits);
    Draws draws(0, 0, 0, 1);
    penalty->process(candidates, draws).value();
    for (std::size_t i = 0; i < logits.size(); ++i) {
      EXPECT_NEAR(candidates.value(i), one["penalised"][i].get<float>(), 2e-6f);
    }

    SamplingOptions options;
    options.repetition.penalty = one["penalty"];
    options.temperature = one["temperature"];
    options.top_k = one["k"];
    options.top_p = one["p"];
    options.min_p = one["min_p"];
    options.typical_p = one["p"];
    SamplerChain chain = make_chain(options, {.size = logits.size()}).value();
    chain.observe(history);
    const Sample sample =
        chain.sample(DenseLogits(logits, 0), {.top_logprobs = logits.size(), .raw = false}).value();
    std::vector<Token> final_ids;
    for (const TokenLogprob& top : sample.top_final) final_ids.push_back(top.token);
    std::sort(final_ids.begin(), final_ids.end());
    EXPECT_EQ(final_ids, ids("chain"));
  }
}

}  // namespace
}  // namespace rill
