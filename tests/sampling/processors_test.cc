// Worked numbers of docs/sampling.md, penalties against their definitions, refusals.
#include "rill/processors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "rill/sampler_chain.h"
#include "sampling/naive.h"

namespace rill {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> values_after(Processor processor, std::vector<float> logits) {
  Candidates candidates = naive::candidates_of(logits);
  Draws draws(0, 0, 0, 1);
  processor->process(candidates, draws).value();
  return {candidates.values().begin(), candidates.values().end()};
}

std::vector<Token> ids_after(Processor processor, std::vector<float> logits) {
  Candidates candidates = naive::candidates_of(logits);
  Draws draws(0, 0, 0, 1);
  processor->process(candidates, draws).value();
  return naive::ids_of(candidates);
}

Processor after(Processor processor, std::vector<Token> prompt, std::vector<Token> generated) {
  processor->observe(prompt).value();
  for (const Token token : generated) processor->accept(token).value();
  return processor;
}

using Logits = std::vector<float>;
using Ids = std::vector<Token>;

TEST(WorkedNumbers, RepetitionPenaltyNeverRaises) {
  EXPECT_EQ(values_after(after(repetition_penalty({.penalty = 2}), {0, 1}, {}), {2, -2, -1}), (Logits{1, -4, -1}));
}

TEST(WorkedNumbers, RepetitionPenaltyIsAppliedOnce) {
  EXPECT_EQ(values_after(after(repetition_penalty({.penalty = 2}), {1, 1}, {1}), {0, 8})[1], 4);
}

TEST(WorkedNumbers, FrequencyAndPresence) {
  const Processor frequency = after(frequency_penalty({.penalty = 0.5f}), {2}, {1, 1, 1});
  const Processor presence = after(presence_penalty({.penalty = 1.0f}), {2}, {1, 1, 1});
  const Logits both = values_after(presence, values_after(frequency, {5, 5, 5}));
  EXPECT_EQ(both, (Logits{5, 2.5f, 5}));  // token 2 is only in the prompt: unchanged
  const AdditivePenaltyOptions with_prompt{.penalty = 0.5f, .scope = PenaltyScope::prompt_and_generated};
  EXPECT_EQ(values_after(after(frequency_penalty(with_prompt), {2}, {1, 1, 1}), {5, 5, 5}), (Logits{5, 3.5f, 4.5f}));
}

TEST(WorkedNumbers, PenaltyWindow) {
  const RepetitionPenaltyOptions last_two{.penalty = 2, .window = 2};
  EXPECT_EQ(values_after(after(repetition_penalty(last_two), {0}, {1, 2}), {8, 8, 8}), (Logits{8, 4, 4}));
}

TEST(WorkedNumbers, Dry) {
  // 1 2 3 stood before 4; the history ends 1 2 3 again: 4 would continue three repeated tokens, 0.8 * 1.75^(3 - 2).
  const DryOptions options{.multiplier = 0.8f};
  EXPECT_EQ(values_after(after(dry(options), {1, 2, 3, 4, 1, 2, 3}, {}), {0, 0, 0, 0, 2})[4], 2 - 1.4f);
  // Only 3 is repeated, shorter than allowed_length.
  EXPECT_EQ(values_after(after(dry(options), {3, 4, 1, 3}, {}), {0, 0, 0, 0, 2})[4], 2);
  // A breaker at 2 leaves the repetition 1 long.
  const DryOptions broken{.multiplier = 0.8f, .sequence_breakers = {2}};
  EXPECT_EQ(values_after(after(dry(broken), {1, 2, 3, 4, 1, 2, 3}, {}), {0, 0, 0, 0, 2})[4], 2);
}

TEST(WorkedNumbers, LogitBias) {
  EXPECT_EQ(values_after(logit_bias({{2, -1.5f}, {0, 3}}), {1, 1, 1}), (Logits{4, 1, -0.5f}));
}

TEST(WorkedNumbers, Temperature) { EXPECT_EQ(values_after(scale_temperature(0.5f), {1, -2}), (Logits{2, -4})); }

TEST(WorkedNumbers, TopK) {
  EXPECT_EQ(ids_after(keep_top_k(2), {1, 3, 2, 3}), (Ids{1, 3}));
  EXPECT_EQ(ids_after(keep_top_k(0), {1, 3, 2}).size(), 3u);
  EXPECT_EQ(ids_after(keep_top_k(-1), {1, 3, 2}).size(), 3u);
}

TEST(WorkedNumbers, TopP) {
  // Probabilities .6652 .2447 .0900.
  EXPECT_EQ(ids_after(keep_top_p(0.6f), {3, 2, 1}), (Ids{0}));
  EXPECT_EQ(ids_after(keep_top_p(0.9f), {3, 2, 1}), (Ids{0, 1}));
  EXPECT_EQ(ids_after(keep_top_p(0.95f), {3, 2, 1}), (Ids{0, 1, 2}));
}

TEST(WorkedNumbers, MinP) {
  EXPECT_EQ(ids_after(keep_min_p(0.1f), {2, 1, 0, -2}), (Ids{0, 1, 2}));
  EXPECT_EQ(ids_after(keep_min_p(1.0f), {2, 1, 0, -2}), (Ids{0}));
}

TEST(WorkedNumbers, Typical) {
  // Probabilities .6652 .2447 .0900: entropy .8324; distances of the surprises .4077 .5752 1.4075 from it .4247 .5752 1.5752
  // leave ids 0, then 1, then 2.
  EXPECT_EQ(ids_after(keep_typical(0.5f), {3, 2, 1}), (Ids{0}));
  // Probabilities .4 .2 .2 .2: entropy 1.3322, surprises .9163 and 1.6094: the three lesser ones are more typical.
  const float two = static_cast<float>(std::log(2.0));
  EXPECT_EQ(ids_after(keep_typical(0.5f), {two, 0, 0, 0}), (Ids{1, 2, 3}));
}

TEST(WorkedNumbers, TopNSigma) {
  // Mean 2, deviation 2: at 1 sigma nothing below 4 is kept, at 2 nothing below 2.
  EXPECT_EQ(ids_after(keep_top_n_sigma(0.9f), {6, 2, 2, 2, -2, 2, 2, 2}), (Ids{0}));
  EXPECT_EQ(ids_after(keep_top_n_sigma(2.1f), {6, 2, 2, 2, -2, 2, 2, 2}), (Ids{0, 1, 2, 3, 5, 6, 7}));
}

TEST(WorkedNumbers, Xtc) {
  // Probabilities .6652 .2447 .0900: two reach .2, and the likelier goes.
  EXPECT_EQ(ids_after(xtc({.probability = 1, .threshold = 0.2f}), {3, 2, 1}), (Ids{1, 2}));
  EXPECT_EQ(ids_after(xtc({.probability = 1, .threshold = 0.5f}), {3, 2, 1}), (Ids{0, 1, 2}));
  EXPECT_EQ(ids_after(xtc({.probability = 0, .threshold = 0.2f}), {3, 2, 1}), (Ids{0, 1, 2}));
}

TEST(WorkedNumbers, Mirostat) {
  // tau 1: the bound starts at 2 bits. Surprises .588 2.031 3.474: only id 0 is kept, drawn with surprise 0, so the bound
  // becomes 2 - 0.5 (0 - 1) = 2.5, and id 1 is kept too.
  Sampler sampler = mirostat({.tau = 1, .eta = 0.5f});
  const auto kept = [&sampler] {
    Candidates candidates = naive::candidates_of(Logits{3, 2, 1});
    Draws draws(0, 0, 0, 0);
    (void)sampler->pick(candidates, draws).value();
    return naive::ids_of(candidates);
  };
  EXPECT_EQ(kept(), (Ids{0}));
  sampler->accept(0).value();
  EXPECT_EQ(kept(), (Ids{0, 1}));
  sampler->rollback(1);
  EXPECT_EQ(kept(), (Ids{0}));
}

TEST(WorkedNumbers, XtcHappensWithItsProbability) {
  Processor processor = xtc({.probability = 0.3f, .threshold = 0.2f});
  int happened = 0;
  for (std::size_t position = 0; position < 10000; ++position) {
    Candidates candidates = naive::candidates_of(Logits{3, 2, 1});
    Draws draws(5, 0, position, 1);
    processor->process(candidates, draws).value();
    happened += candidates.size() == 2;
  }
  EXPECT_NEAR(happened, 3000, 150);
}

// The definition of DRY, one start after the other, for random histories over a small alphabet.
TEST(DryTest, AgreesWithTheDefinition) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    const std::size_t size = random() % 60;
    std::vector<Token> history(size);
    for (Token& token : history) token = static_cast<Token>(random() % 4);
    const std::set<Token> breakers = round % 3 == 0 ? std::set<Token>{3} : std::set<Token>{};
    const std::size_t allowed = 1 + random() % 3;
    std::map<Token, std::size_t> longest;
    for (std::size_t next = 1; next < size; ++next) {
      std::size_t length = 0;
      while (length < next && history[next - 1 - length] == history[size - 1 - length] &&
             !breakers.contains(history[size - 1 - length])) {
        ++length;
      }
      if (length >= allowed && !breakers.contains(history[next])) {
        longest[history[next]] = std::max(longest[history[next]], length);
      }
    }
    Logits expected(4, 1.0f);
    for (const auto& [token, length] : longest) {
      expected[static_cast<std::size_t>(token)] -=
          static_cast<float>(0.5 * std::pow(1.75, static_cast<double>(length - allowed)));
    }
    DryOptions options{.multiplier = 0.5f, .allowed_length = allowed, .sequence_breakers = {breakers.begin(), breakers.end()}};
    const Logits actual = values_after(after(dry(options), history, {}), Logits(4, 1.0f));
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_NEAR(actual[i], expected[i], std::abs(expected[i]) * 1e-6f) << "round " << round;
    }
  }
}

TEST(DryTest, AHugePenaltyStaysFinite) {
  const std::vector<Token> history(2000, 1);
  const Logits values = values_after(after(dry({.multiplier = 1, .base = 100}), history, {}), {0, 0});
  EXPECT_TRUE(std::isfinite(values[1]));
  EXPECT_LT(values[1], -1e38f);
}

TEST(OptionsTest, OutOfRangeIsRefusedByName) {
  const std::vector<std::pair<std::string, Processor>> bad = {
      {"penalty = 0", repetition_penalty({.penalty = 0})},
      {"penalty = -1", repetition_penalty({.penalty = -1})},
      {"penalty = nan", repetition_penalty({.penalty = kNan})},
      {"window = 0", repetition_penalty({.window = 0})},
      {"penalty = inf", frequency_penalty({.penalty = kInf})},
      {"penalty = nan", presence_penalty({.penalty = kNan})},
      {"multiplier = -1", dry({.multiplier = -1})},
      {"base = 0.5", dry({.base = 0.5f})},
      {"allowed_length = 0", dry({.allowed_length = 0})},
      {"sequence_breakers = -3", dry({.sequence_breakers = {-3}})},
      {"temperature = 0", scale_temperature(0)},
      {"top_k = -2", keep_top_k(-2)},
      {"top_p = 0", keep_top_p(0)},
      {"top_p = 1.5", keep_top_p(1.5f)},
      {"min_p = -0.5", keep_min_p(-0.5f)},
      {"min_p = 2", keep_min_p(2)},
      {"typical_p = nan", keep_typical(kNan)},
      {"top_n_sigma = -1", keep_top_n_sigma(-1)},
      {"top_n_sigma = inf", keep_top_n_sigma(kInf)},
      {"xtc probability = 1.5", xtc({.probability = 1.5f})},
      {"xtc threshold = 0", xtc({.threshold = 0})},
      {"logit_bias of token 3 = inf", logit_bias({{3, kInf}})},
      {"logit_bias names token 3 twice", logit_bias({{3, 1}, {4, 1}, {3, 1}})},
      {"logit_bias token = -1", logit_bias({{-1, 1}})},
      {"banned = -7", banned_tokens({1, -7})},
      {"count = 2 without end_tokens", min_tokens({.count = 2})},
  };
  for (const auto& [expected, processor] : bad) {
    const auto chain = SamplerChain::create({.processors = {processor}});
    ASSERT_FALSE(chain) << expected;
    EXPECT_EQ(chain.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(chain.error().message.find(expected), std::string::npos) << chain.error().message;
  }
  const std::vector<std::pair<std::string, Sampler>> bad_samplers = {
      {"temperature = -0.5", categorical({.temperature = -0.5f})},
      {"temperature = nan", top_k({.temperature = kNan})},
      {"top_k = -5", top_k({.top_k = -5})},
      {"top_p = 0", top_p({.top_p = 0})},
      {"min_p = nan", min_p({.min_p = kNan})},
      {"tau = 0", mirostat({.tau = 0})},
      {"eta = -1", mirostat({.eta = -1})},
  };
  for (const auto& [expected, sampler] : bad_samplers) {
    const auto chain = SamplerChain::create({.sampler = sampler});
    ASSERT_FALSE(chain) << expected;
    EXPECT_NE(chain.error().message.find(expected), std::string::npos) << chain.error().message;
  }
}

TEST(OptionsTest, ABiasOutsideTheVocabularyIsAnError) {
  const Logits logits = {1, 2, 3};
  const auto token = SamplerChain::create({.processors = {logit_bias({{3, 1}})}}).value().sample(DenseLogits(logits, 0));
  ASSERT_FALSE(token);
  EXPECT_NE(token.error().message.find("token 3, outside the vocabulary of 3"), std::string::npos);
}

}  // namespace
}  // namespace rill
