#include "rill/sampler_chain.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "sampling/philox.h"

namespace rill {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

SamplerChain chain_of(SamplerChainOptions options) { return SamplerChain::create(std::move(options)).value(); }

// The known answers of Random123, tests/kat_vectors.
TEST(PhiloxTest, KnownAnswers) {
  using Block = std::array<std::uint32_t, 4>;
  EXPECT_EQ(sampling::philox4x32({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(sampling::philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(sampling::philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(SamplerChainTest, GreedyTakesTheLowestIdOfEqualLogits) {
  const std::array<float, 4> logits = {1, 3, 3, -kInf};
  EXPECT_EQ(chain_of({}).sample(DenseLogits(logits, 0)).value(), 1);
  EXPECT_EQ(chain_of({.sampler = top_p({.temperature = 0, .top_p = 0.5f})}).sample(DenseLogits(logits, 0)).value(), 1);
}

TEST(SamplerChainTest, DegenerateLogitsAreErrors) {
  const std::array<std::array<float, 3>, 3> bad = {{{-kInf, -kInf, -kInf}, {kNan, kNan, kNan}, {kNan, 1, 2}}};
  const std::array<float, 3> certain = {kInf, 0, 0};
  for (const Sampler& sampler : {greedy(), categorical(), top_p({.temperature = 0.7f, .top_p = 0.9f})}) {
    SamplerChain chain = chain_of({.sampler = sampler});
    for (const auto& logits : bad) {
      const auto token = chain.sample(DenseLogits(logits, 0));
      ASSERT_FALSE(token);
      EXPECT_EQ(token.error().code, ErrorCode::degenerate_logits);
    }
    EXPECT_EQ(chain.sample(DenseLogits(certain, 0)).value(), 0);
    EXPECT_FALSE(chain.sample(DenseLogits({}, 0)));
  }
}

TEST(SamplerChainTest, DrawsFollowTheSoftmax) {
  const std::array<float, 3> logits = {1, 2, 3};
  SamplerChain chain = chain_of({.sampler = categorical(), .seed = 1});
  std::array<int, 3> drawn = {};
  for (std::size_t position = 0; position < 10000; ++position) {
    ++drawn[static_cast<std::size_t>(chain.sample(DenseLogits(logits, position)).value())];
  }
  EXPECT_NEAR(drawn[0], 900, 90);
  EXPECT_NEAR(drawn[1], 2447, 130);
  EXPECT_NEAR(drawn[2], 6652, 150);
}

TEST(SamplerChainTest, BadOptionsAreRefusedWithNameAndValue) {
  for (const Sampler& bad : {top_p({.top_p = 0}), top_p({.top_p = kNan}), top_p({.top_p = 1.5f})}) {
    const auto chain = SamplerChain::create({.sampler = bad});
    ASSERT_FALSE(chain);
    EXPECT_EQ(chain.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(chain.error().message.find("top_p = "), std::string::npos) << chain.error().message;
  }
  EXPECT_FALSE(SamplerChain::create({.sampler = categorical({.temperature = -1})}));
  EXPECT_FALSE(SamplerChain::create({.sampler = categorical({.temperature = kInf})}));
}

// Counts what is asked of the head.
class CountingLogits final : public LogitsSource {
 public:
  explicit CountingLogits(std::span<const float> logits) : dense_(logits, 3) {}
  std::size_t vocabulary_size() const override { return dense_.vocabulary_size(); }
  std::size_t position() const override { return dense_.position(); }
  Result<void> all(std::span<float> out) const override {
    ++full_heads;
    return dense_.all(out);
  }
  Result<void> rows(std::span<const Token> ids, std::span<float> out) const override {
    rows_computed += ids.size();
    return dense_.rows(ids, out);
  }
  mutable std::size_t full_heads = 0;
  mutable std::size_t rows_computed = 0;

 private:
  DenseLogits dense_;
};

// A user's own processor: allows a few tokens, and sees the whole head if asked to.
class OnlyThese final : public LogitsProcessor {
 public:
  explicit OnlyThese(std::vector<Token> tokens, bool look = false) : tokens_(std::move(tokens)), look_(look) {}
  std::string describe() const override { return "only_these"; }
  bool allow(TokenSet& allowed) override {
    TokenSet mine(allowed.vocabulary_size());
    mine.clear();
    for (const Token token : tokens_) mine.allow(token);
    allowed.intersect(mine);
    return true;
  }
  bool needs_full_logits() const override { return look_; }
  Result<void> inspect(std::span<const float> logits) override {
    seen = logits.size();
    return {};
  }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<OnlyThese>(*this); }
  std::size_t seen = 0;

 private:
  std::vector<Token> tokens_;
  bool look_;
};

std::vector<float> ramp(std::size_t size) {
  std::vector<float> logits(size);
  for (std::size_t i = 0; i < size; ++i) logits[i] = static_cast<float>((i * 7919) % size) / 100.0f;
  return logits;
}

TEST(SamplerChainTest, FewAllowedTokensComputeTheirRowsOnly) {
  const std::vector<float> logits = ramp(1000);
  const CountingLogits source(logits);
  // allow() of a processor that stands last still comes before every process().
  SamplerChain chain = chain_of({.processors = {keep_top_k(1), OnlyThese({5, 17, 900})}, .sampler = categorical()});
  const Token token = chain.sample(source).value();
  EXPECT_TRUE(token == 5 || token == 17 || token == 900);
  EXPECT_EQ(source.full_heads, 0u);
  EXPECT_EQ(source.rows_computed, 3u);
}

TEST(SamplerChainTest, AForcedTokenComputesNothing) {
  const std::vector<float> logits = ramp(1000);
  const CountingLogits source(logits);
  SamplerChain chain = chain_of({.processors = {OnlyThese({42})}, .sampler = categorical()});
  EXPECT_EQ(chain.sample(source).value(), 42);
  EXPECT_EQ(source.full_heads + source.rows_computed, 0u);
  const Sample sample = chain.sample(source, {.top_logprobs = 3, .raw = false}).value();
  EXPECT_EQ(sample.logprob_final, 0.0f);
  EXPECT_EQ(sample.top_final.size(), 1u);
  EXPECT_EQ(source.full_heads + source.rows_computed, 0u);
}

TEST(SamplerChainTest, ManyAllowedTokensOrAnInspectorComputeTheHead) {
  const std::vector<float> logits = ramp(100);
  const CountingLogits source(logits);
  EXPECT_TRUE(chain_of({.processors = {banned_tokens({1})}}).sample(source));
  EXPECT_EQ(source.full_heads, 1u);
  EXPECT_EQ(chain_of({.processors = {OnlyThese({42}, true)}}).sample(source).value(), 42);
  EXPECT_EQ(source.full_heads, 2u);
  EXPECT_EQ(source.rows_computed, 0u);
}

// The same mask through rows of the head and through the full head: the same draws at every position.
TEST(SamplerChainTest, RowsAndFullHeadDrawTheSame) {
  const std::vector<float> logits = ramp(2000);
  std::vector<Token> allowed;
  for (Token token = 3; token < 2000; token += 19) allowed.push_back(token);
  const auto chain_with = [&](bool look) {
    return chain_of({.processors = {OnlyThese(allowed, look), keep_top_n_sigma(2), scale_temperature(2), keep_top_p(0.9f),
                                    keep_typical(0.9f), xtc({.probability = 0.5f, .threshold = 0.01f})},
                     .sampler = categorical(), .seed = 4});
  };
  SamplerChain rows = chain_with(false);
  SamplerChain full = chain_with(true);
  std::set<Token> distinct;
  for (std::size_t position = 0; position < 300; ++position) {
    const DenseLogits source(logits, position);
    const Token token = rows.sample(source).value();
    ASSERT_EQ(token, full.sample(source).value());
    distinct.insert(token);
  }
  EXPECT_GT(distinct.size(), 5u);
}

TEST(SamplerChainTest, FinalAndRawLogprobs) {
  const std::array<float, 3> logits = {2, 1, 5};
  SamplerChain chain = chain_of({.processors = {banned_tokens({2})}, .sampler = categorical()});
  const Sample sample = chain.sample(DenseLogits(logits, 0), {.top_logprobs = 5}).value();
  ASSERT_EQ(sample.top_final.size(), 2u);
  EXPECT_EQ(sample.top_final[0].token, 0);
  EXPECT_NEAR(std::exp(sample.top_final[0].logprob), 0.7311, 5e-5);
  EXPECT_NEAR(std::exp(sample.top_final[1].logprob), 0.2689, 5e-5);
  ASSERT_EQ(sample.top_raw.size(), 3u);
  EXPECT_EQ(sample.top_raw[0].token, 2);
  EXPECT_NEAR(std::exp(sample.top_raw[0].logprob), 0.9362, 5e-5);
  EXPECT_NEAR(std::exp(*sample.logprob_raw), sample.token == 0 ? 0.0466 : 0.0171, 5e-5);
  EXPECT_NEAR(std::exp(sample.logprob_final), sample.token == 0 ? 0.7311 : 0.2689, 5e-5);
}

TEST(SamplerChainTest, EveryTokenMaskedIsAnError) {
  const std::array<float, 3> logits = {2, 1, 5};
  const auto token = chain_of({.processors = {banned_tokens({0, 1, 2})}}).sample(DenseLogits(logits, 7));
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().code, ErrorCode::degenerate_logits);
  EXPECT_EQ(token.error().message, "no token is allowed at position 7");
}

TEST(SamplerChainTest, MinTokensHoldsBackTheEnd) {
  const std::array<float, 3> logits = {9, 1, 0};
  SamplerChain chain = chain_of({.processors = {min_tokens({.count = 2, .end_tokens = {0}})}});
  std::vector<Token> tokens;
  for (std::size_t position = 0; position < 3; ++position) {
    tokens.push_back(chain.sample(DenseLogits(logits, position)).value());
    chain.accept(tokens.back());
  }
  EXPECT_EQ(tokens, (std::vector<Token>{1, 1, 0}));
}

TEST(SamplerChainTest, DrawsDependOnSeedCompletionAndPositionAlone) {
  const std::vector<float> logits(1000, 0.0f);
  const auto draw = [&](std::uint64_t seed, std::uint32_t completion, std::size_t position) {
    SamplerChain chain = chain_of({.sampler = categorical(), .seed = seed, .completion_index = completion});
    return chain.sample(DenseLogits(logits, position)).value();
  };
  EXPECT_EQ(draw(1, 2, 3), draw(1, 2, 3));
  std::set<Token> distinct = {draw(1, 0, 0), draw(2, 0, 0), draw(1, 1, 0), draw(1, 0, 1), draw(std::uint64_t{1} << 32, 0, 0),
                              draw(1, 0, std::size_t{1} << 32)};
  EXPECT_EQ(distinct.size(), 6u);
  // A processor that draws does not shift the sampler's own numbers.
  SamplerChain with_xtc = chain_of(
      {.processors = {xtc({.probability = 0.5f, .threshold = 0.9f})}, .sampler = categorical(), .seed = 1});
  EXPECT_EQ(with_xtc.sample(DenseLogits(logits, 5)).value(), draw(1, 0, 5));
}

// A stage that refuses a token, and a sampler that chooses none of the candidates.
class Refusing final : public LogitsProcessor {
 public:
  std::string describe() const override { return "refusing"; }
  Result<void> accept(Token) override { return Error{ErrorCode::invalid_argument, "not a word of mine"}; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Refusing>(*this); }
};
class Astray final : public TokenSampler {
 public:
  std::string describe() const override { return "astray"; }
  Result<Token> pick(Candidates&, Draws&) override { return Token{77}; }
  std::unique_ptr<TokenSampler> clone() const override { return std::make_unique<Astray>(*this); }
};

TEST(SamplerChainTest, AnErrorOfAcceptComesWithTheNextSample) {
  const std::array<float, 3> logits = {2, 1, 5};
  SamplerChain chain = chain_of({.processors = {Refusing()}});
  EXPECT_TRUE(chain.sample(DenseLogits(logits, 0)));
  chain.accept(1);
  EXPECT_EQ(chain.sample(DenseLogits(logits, 1)).error().message, "not a word of mine");
  chain.reset();
  EXPECT_TRUE(chain.sample(DenseLogits(logits, 0)));
}

TEST(SamplerChainTest, MisuseIsAnError) {
  const std::array<float, 3> logits = {2, 1, 5};
  EXPECT_FALSE(chain_of({.sampler = Astray()}).sample(DenseLogits(logits, 0)));
  Processor used = keep_top_k(1);
  const Processor taken = std::move(used);
  EXPECT_FALSE(SamplerChain::create({.processors = {used}}));
  SamplerChain chain = chain_of({});
  const SamplerChain moved = std::move(chain);
  EXPECT_FALSE(chain.sample(DenseLogits(logits, 0)));
  chain.accept(1);  // harmless
  EXPECT_EQ(moved.describe(), std::vector<std::string>{"greedy()"});
}

}  // namespace
}  // namespace rill
