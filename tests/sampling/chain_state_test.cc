// Copying, accepting and rolling back, for every built-in stage: what a chain answers is all that its state can be seen by.
#include <gtest/gtest.h>

#include "rill/sampler_chain.h"
#include "sampling/naive.h"

namespace rill {
namespace {

constexpr std::size_t kVocabulary = 50;
using Answer = std::vector<std::pair<Token, float>>;

std::vector<SamplerChainOptions> every_chain() {
  std::vector<SamplerChainOptions> chains;
  const auto scope = PenaltyScope::prompt_and_generated;
  for (Processor& processor : std::vector<Processor>{
           banned_tokens({1, 2}), min_tokens({.count = 5, .end_tokens = {0, 3, 7}}), logit_bias({{4, 2}}),
           repetition_penalty({.penalty = 1.5f}), repetition_penalty({.penalty = 1.5f, .window = 3}),
           repetition_penalty({.penalty = 1.5f, .scope = PenaltyScope::generated, .window = 2}),
           frequency_penalty({.penalty = 0.7f}), frequency_penalty({.penalty = 0.7f, .scope = scope, .window = 4}),
           presence_penalty({.penalty = 0.7f, .window = 3}), dry({.multiplier = 1, .allowed_length = 1}),
           dry({.multiplier = 1, .allowed_length = 1, .window = 6}), scale_temperature(0.8f), keep_top_k(9),
           keep_top_p(0.8f), keep_min_p(0.1f), keep_typical(0.8f), keep_top_n_sigma(1.2f),
           xtc({.probability = 0.5f, .threshold = 0.05f})}) {
    chains.push_back({.processors = {processor}, .sampler = categorical(), .seed = 9});
  }
  for (const Sampler& sampler : {greedy(), categorical({.temperature = 0.7f}), top_k({.temperature = 1, .top_k = 5}),
                                 top_p({.temperature = 1, .top_p = 0.7f}), min_p({.min_p = 0.2f}),
                                 mirostat({.tau = 2, .eta = 0.3f})}) {
    chains.push_back({.sampler = sampler, .seed = 9});
  }
  return chains;
}

Answer answer(SamplerChain& chain, std::span<const float> logits) {
  const Sample sample =
      chain.sample(DenseLogits(logits, 12), {.top_logprobs = kVocabulary, .raw = false}).value();
  Answer result = {{sample.token, sample.logprob_final}};
  for (const auto& [token, logprob] : sample.top_final) result.emplace_back(token, logprob);
  return result;
}

// One step as a generation takes it, mostly; sometimes a token that the chain did not choose.
Token step(SamplerChain& chain, std::mt19937_64& random, std::span<const float> logits) {
  Token token = static_cast<Token>(random() % 8);
  if (random() % 4 != 0) token = chain.sample(DenseLogits(logits, 12)).value();
  chain.accept(token);
  return token;
}

TEST(ChainStateTest, RollbackUndoesAccepts) {
  std::mt19937_64 random(21);
  for (const SamplerChainOptions& options : every_chain()) {
    SamplerChain chain = SamplerChain::create(options).value();
    SCOPED_TRACE(chain.describe().front());
    const std::vector<Token> prompt = {1, 2, 3, 1, 2};
    chain.observe(prompt);
    for (int round = 0; round < 20; ++round) {
      const std::vector<float> logits = naive::random_logits(random, kVocabulary, 1.5f);
      const Answer before = answer(chain, logits);
      const std::size_t count = random() % 10;
      for (std::size_t i = 0; i < count; ++i) step(chain, random, naive::random_logits(random, kVocabulary, 1.5f));
      ASSERT_TRUE(chain.rollback(count));
      ASSERT_EQ(answer(chain, logits), before);
      step(chain, random, logits);  // and a history of another length for the next round
    }
  }
}

TEST(ChainStateTest, SampleChangesNothingAndCopiesAreApart) {
  std::mt19937_64 random(22);
  for (const SamplerChainOptions& options : every_chain()) {
    SamplerChain chain = SamplerChain::create(options).value();
    SCOPED_TRACE(chain.describe().front());
    const std::vector<float> logits = naive::random_logits(random, kVocabulary, 1.5f);
    for (int i = 0; i < 6; ++i) step(chain, random, logits);
    const Answer before = answer(chain, logits);
    EXPECT_EQ(answer(chain, logits), before);

    SamplerChain copy = chain.clone();
    EXPECT_EQ(answer(copy, logits), before);
    for (int i = 0; i < 6; ++i) step(copy, random, logits);
    EXPECT_EQ(answer(chain, logits), before);

    chain.reset();
    SamplerChain fresh = SamplerChain::create(options).value();
    EXPECT_EQ(answer(chain, logits), answer(fresh, logits));
  }
}

// Saved between any two calls, also between a sample and the accept of what it chose.
TEST(ChainStateTest, ASavedChainGoesOnAsIfNothingHadHappened) {
  std::mt19937_64 random(23);
  for (const SamplerChainOptions& options : every_chain()) {
    SamplerChain chain = SamplerChain::create(options).value();
    SCOPED_TRACE(chain.describe().front());
    chain.observe(std::vector<Token>{1, 2, 3, 1, 2});
    for (int round = 0; round < 12; ++round) {
      const std::vector<float> logits = naive::random_logits(random, kVocabulary, 1.5f);
      const std::size_t accepted = random() % 5;
      for (std::size_t i = 0; i < accepted; ++i) step(chain, random, logits);
      const Token chosen = chain.sample(DenseLogits(logits, 12)).value();
      const std::vector<std::byte> saved = chain.save().value();

      SamplerChainOptions other_draws = options;
      other_draws.seed = 77;
      SamplerChain restored = SamplerChain::create(other_draws).value();
      restored.accept(5);
      ASSERT_TRUE(restored.restore(saved));
      EXPECT_EQ(restored.save().value(), saved);
      for (SamplerChain* each : {&chain, &restored}) each->accept(chosen);
      EXPECT_EQ(answer(restored, logits), answer(chain, logits));
      const std::size_t back = random() % (accepted + 2);
      for (SamplerChain* each : {&chain, &restored}) ASSERT_TRUE(each->rollback(back));
      EXPECT_EQ(answer(restored, logits), answer(chain, logits));
    }
  }
}

TEST(ChainStateTest, ARestoreThatFailsChangesNothing) {
  SamplerChain chain = SamplerChain::create({.processors = {repetition_penalty({.penalty = 1.5f}), min_tokens({3, {0}})},
                                             .sampler = mirostat({.tau = 2})}).value();
  chain.accept(3);
  const std::vector<std::byte> saved = chain.save().value();
  chain.accept(4);
  const std::vector<std::byte> before = chain.save().value();
  for (std::size_t size = 0; size < saved.size(); ++size) {
    EXPECT_EQ(chain.restore({saved.data(), size}).error().code, ErrorCode::malformed) << size;
  }
  EXPECT_EQ(chain.save().value(), before);
  ASSERT_TRUE(chain.restore(saved));
  EXPECT_EQ(chain.save().value(), saved);
}

TEST(ChainStateTest, RefusesTheStateOfAnotherChainByName) {
  const auto make = [](std::vector<Processor> processors, Sampler sampler) {
    return SamplerChain::create({.processors = std::move(processors), .sampler = std::move(sampler)}).value();
  };
  const std::vector<std::byte> saved = make({banned_tokens({1, 2})}, top_p({.temperature = 0.5f, .top_p = 0.9f})).save().value();
  const auto refused = [&](SamplerChain chain) {
    const auto done = chain.restore(saved);
    return done || done.error().code != ErrorCode::incompatible ? "" : done.error().message;
  };
  EXPECT_EQ(refused(make({}, top_p({.temperature = 0.5f, .top_p = 0.9f}))), "a chain of 2 stages was saved, this one has 1");
  EXPECT_EQ(refused(make({banned_tokens({1, 2})}, top_p({.temperature = 0.5f, .top_p = 0.8f}))),
            "stage 1 of the chain was top_p(temperature=0.5, top_p=0.9) when it was saved, and is "
            "top_p(temperature=0.5, top_p=0.8)");
  EXPECT_EQ(refused(make({banned_tokens({1, 3})}, top_p({.temperature = 0.5f, .top_p = 0.9f}))),
            "banned_tokens(2 tokens): state: saved with other options");
}

class Stateful final : public LogitsProcessor {
 public:
  std::string describe() const override { return "stateful()"; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Stateful>(*this); }
};

TEST(ChainStateTest, AUsersStageMustSayHowItIsSaved) {
  const SamplerChain chain = SamplerChain::create({.processors = {Stateful()}}).value();
  const auto saved = chain.save();
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::unsupported);
  EXPECT_EQ(saved.error().message, "stateful(): its state cannot be saved: it does not override save_state()");
}

TEST(ChainStateTest, PenaltiesDoChangeWithAccept) {
  const std::vector<float> logits(kVocabulary, 1.0f);
  SamplerChain chain = SamplerChain::create({.processors = {repetition_penalty({.penalty = 1.5f})}}).value();
  const Answer before = answer(chain, logits);
  chain.accept(0);
  EXPECT_NE(answer(chain, logits), before);
}

TEST(ChainStateTest, RollbackPastTheLastObserveIsRefused) {
  SamplerChain chain = SamplerChain::create().value();
  chain.accept(1);
  chain.accept(2);
  EXPECT_FALSE(chain.rollback(3));
  EXPECT_TRUE(chain.rollback(1));
  const std::vector<Token> turn = {4, 5};
  chain.observe(turn);
  const auto refused = chain.rollback(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace rill
