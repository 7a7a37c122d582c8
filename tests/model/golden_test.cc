// The real models against the float64 reference (tests/golden/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rill/rill.h"
#include "support/f32_copy.h"
#include "support/golden.h"
#include "support/real_models.h"

namespace rill {
namespace {

using nlohmann::json;

struct Top {
  Token token;
  double logit;
};

std::vector<Top> tops(const json& list) {
  std::vector<Top> out;
  for (const json& one : list) out.push_back({one[0].get<Token>(), one[1].get<double>()});
  return out;
}

double log_sum_exp(std::span<const float> logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - max);
  return max + std::log(sum);
}

Token greedy(const Session& session) {
  const std::vector<float> logits = session.logits().all().value();
  return static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Kullback-Leibler over the listed ids and a bin for the rest, reference first. Each term is p log(p/q) - p + q, whose error is
// of second order in that of the golden numbers, which have six decimals; a rest that those decimals cannot tell is left out.
double divergence(const std::vector<Top>& reference, double reference_lse, std::span<const float> logits) {
  const double lse = log_sum_exp(logits);
  const auto term = [](double p, double q) { return p * std::log(p / q) - p + q; };
  double kl = 0, p_rest = 1, q_rest = 1;
  for (const Top& top : reference) {
    const double p = std::exp(top.logit - reference_lse);
    const double q = std::exp(static_cast<double>(logits[static_cast<std::size_t>(top.token)]) - lse);
    kl += term(p, q);
    p_rest -= p;
    q_rest -= q;
  }
  return p_rest > 1e-3 ? kl + term(p_rest, std::max(q_rest, 1e-9)) : kl;
}

struct GoldenModel {
  std::string golden_file;
  std::string model_file;
};

class GoldenTest : public testing::TestWithParam<GoldenModel> {};

INSTANTIATE_TEST_SUITE_P(RealModels, GoldenTest,
                         testing::Values(GoldenModel{"smollm2.json", "SmolLM2-135M-Instruct.Q4_1.gguf"},
                                         GoldenModel{"gemma3.json", "gemma-3-270m-q4_k_m.gguf"}),
                         [](const auto& param) { return param.param.golden_file.substr(0, param.param.golden_file.find('.')); });

// Nothing is rounded but to float: every mistake in the architecture shows, a window off by one among them.
TEST_P(GoldenTest, F32WeightsGiveTheReferencesLogits) {
  RILL_REQUIRE_MODEL(path, GetParam().model_file);
  const auto model = Model::load(test::f32_copy(open_file(path).value())).value();
  const json prompts = test::read_golden(GetParam().golden_file).at("prompts");
  ASSERT_EQ(prompts.size(), 10u);
  for (const json& prompt : prompts) {
    SCOPED_TRACE(prompt["name"].get<std::string>());
    const auto ids = prompt["ids"].get<std::vector<Token>>();
    auto session = Session::create(model, {.context_tokens = 2048, .kv_type = KvType::f32}).value();
    session.feed(ids, {.keep = {.mode = Keep::Mode::all}}).value();
    const std::vector<float> logits = session.logits().all().value();
    const double lse = log_sum_exp(logits);
    EXPECT_NEAR(lse, prompt["logsumexp"].get<double>(), 1e-3);
    const std::vector<Top> reference = tops(prompt["top20"]);
    for (const Top& top : reference) EXPECT_NEAR(logits[static_cast<std::size_t>(top.token)], top.logit, 1e-3) << top.token;
    EXPECT_LE(divergence(reference, prompt["logsumexp"].get<double>(), logits), 1e-8);

    const std::vector<float> scores = session.score(ids).value();
    const auto expected = prompt["prompt_logprob"].get<std::vector<double>>();
    ASSERT_EQ(scores.size(), expected.size());
    for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(scores[i], expected[i], 2e-3) << i;

    // A greedy continuation, as long as the reference's own choice is clear.
    for (const json& step : prompt["greedy"]) {
      const Token best = greedy(session);
      if (step[1].get<double>() < 2e-3) break;
      ASSERT_EQ(best, step[0].get<Token>());
      session.feed(best).value();
    }
  }
}

// 8-bit activations are chaotic noise: what holds is how far they may lead.
TEST_P(GoldenTest, QuantisedWeightsStayNearTheReference) {
  RILL_REQUIRE_MODEL(path, GetParam().model_file);
  const auto model = Model::load(path).value();
  int flips = 0;
  const json prompts = test::read_golden(GetParam().golden_file).at("prompts");
  ASSERT_EQ(prompts.size(), 10u);
  for (const json& prompt : prompts) {
    SCOPED_TRACE(prompt["name"].get<std::string>());
    auto session = Session::create(model, {.context_tokens = 2048}).value();
    session.feed(prompt["ids"].get<std::vector<Token>>()).value();
    const std::vector<float> logits = session.logits().all().value();
    const std::vector<Top> reference = tops(prompt["top20"]);
    EXPECT_LE(divergence(reference, prompt["logsumexp"].get<double>(), logits), 0.05);
    for (const Top& top : reference) EXPECT_NEAR(logits[static_cast<std::size_t>(top.token)], top.logit, 1.2) << top.token;

    // Fed the reference's continuation, the best token is the reference's wherever its margin is wide.
    for (const json& step : prompt["greedy"]) {
      const Token best = greedy(session);
      const double margin = step[1].get<double>();
      if (best != step[0].get<Token>()) {
        EXPECT_LE(margin, 0.8) << "token " << best << " instead of " << step[0];
        flips += margin > 0.3;
      }
      session.feed(step[0].get<Token>()).value();
    }
  }
  EXPECT_LE(flips, 3);
}

}  // namespace
}  // namespace rill
