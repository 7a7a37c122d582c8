#include "rill/sampler_chain.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

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

}  // namespace
}  // namespace rill
