#include "rill/sampling.h"

#include <gtest/gtest.h>

#include <limits>

#include "rill/presets.h"
#include "sampling/naive.h"

namespace rill {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const VocabularyInfo kVocabulary{.size = 100, .end_tokens = {0}};
using Lines = std::vector<std::string>;

TEST(SamplingOptionsTest, DefaultIsAPlainDraw) {
  EXPECT_EQ(make_chain({}, kVocabulary).value().describe(), Lines{"categorical(temperature=1)"});
}

SamplingOptions everything() {
  SamplingOptions options;
  options.banned = {5};
  options.min_tokens = 3;
  options.logit_bias = {{7, 1.5f}};
  options.repetition = {.penalty = 1.25f, .window = 64};
  options.frequency = {.penalty = 0.5f};
  options.presence = {.penalty = 0.25f};
  options.dry = {.multiplier = 0.75f, .sequence_breakers = {9}};
  options.top_n_sigma = 2;
  options.temperature = 0.75f;
  options.top_k = 40;
  options.top_p = 0.875f;
  options.min_p = 0.0625f;
  options.typical_p = 0.9375f;
  options.xtc = {.probability = 0.5f, .threshold = 0.125f};
  return options;
}

TEST(SamplingOptionsTest, TheDefaultOrder) {
  EXPECT_EQ(make_chain(everything(), kVocabulary, {keep_top_k(90)}).value().describe(),
            (Lines{"keep_top_k(90)",
                   "banned_tokens(1 tokens)",
                   "min_tokens(count=3, 1 end tokens)",
                   "logit_bias(1 tokens)",
                   "repetition_penalty(penalty=1.25, scope=prompt_and_generated, window=64)",
                   "frequency_penalty(penalty=0.5, scope=generated, window=all)",
                   "presence_penalty(penalty=0.25, scope=generated, window=all)",
                   "dry(multiplier=0.75, base=1.75, allowed_length=2, scope=prompt_and_generated, window=all, 1 breakers)",
                   "keep_top_n_sigma(2)",
                   "scale_temperature(0.75)",
                   "keep_top_k(40)",
                   "keep_top_p(0.875)",
                   "keep_min_p(0.0625)",
                   "keep_typical(0.9375)",
                   "xtc(probability=0.5, threshold=0.125)",
                   "categorical(temperature=1)"}));
}

TEST(SamplingOptionsTest, TemperatureZeroTakesTheBestOfWhatPenaltiesLeave) {
  SamplingOptions options = everything();
  options.temperature = 0;
  const Lines lines = make_chain(options, kVocabulary).value().describe();
  EXPECT_EQ(lines.size(), 8u);
  EXPECT_EQ(lines.back(), "greedy()");
}

TEST(SamplingOptionsTest, BadValuesAreRefusedByName) {
  const auto message = [](auto change) {
    SamplingOptions options;
    change(options);
    const auto chain = make_chain(options, kVocabulary);
    return chain ? std::string("accepted") : std::string(to_string(chain.error().code)) + ", " + chain.error().message;
  };
  const auto contains = [](const std::string& text, const char* part) {
    return text.find("invalid_argument, ") == 0 && text.find(part) != std::string::npos ? "" : text;
  };
  EXPECT_EQ(contains(message([](auto& o) { o.temperature = -1; }), "temperature = -1"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.temperature = kNan; }), "temperature = nan"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.top_k = -2; }), "top_k = -2"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.top_p = 0; }), "top_p = 0"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.min_p = 1.5f; }), "min_p = 1.5"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.typical_p = kNan; }), "typical_p = nan"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.top_n_sigma = -1; }), "top_n_sigma = -1"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.xtc.threshold = 0; }), "xtc threshold = 0"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.repetition.penalty = 0; }), "repetition: penalty = 0"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.presence.window = 0; }), "presence: window = 0"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.dry.base = 0; }), "dry: base = 0"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.banned = {100}; }), "banned names token 100"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.logit_bias = {{-1, 0}}; }), "logit_bias names token -1"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.mirostat.emplace().tau = -1; }), "tau = -1"), "");
  EXPECT_EQ(contains(message([](auto& o) { o.mirostat.emplace(), o.top_k = 40; }), "mirostat together with top_k"), "");
  // Also where temperature 0 would leave the stage out.
  EXPECT_EQ(contains(message([](auto& o) { o.temperature = 0, o.top_p = 2; }), "top_p = 2"), "");
  EXPECT_FALSE(make_chain({.min_tokens = 2}, {.size = 10}));
  EXPECT_FALSE(make_chain({}, {.size = 0}));
}

// Off by 0 and by -1: all three ids are drawn, near their probabilities.
TEST(SamplingOptionsTest, TopKZeroIsOff) {
  const std::vector<float> logits = {1, 2, 3};
  for (const int off : {0, -1}) {
    SamplerChain chain = make_chain({.top_k = off, .seed = 3}, {.size = 3}).value();
    std::vector<int> drawn(3);
    for (std::size_t position = 0; position < 10000; ++position) {
      ++drawn[static_cast<std::size_t>(chain.sample(DenseLogits(logits, position)).value())];
    }
    EXPECT_NEAR(drawn[0], 900, 90);
    EXPECT_NEAR(drawn[1], 2447, 130);
    EXPECT_NEAR(drawn[2], 6652, 150);
  }
}

TEST(PresetsTest, AllMakeAChain) {
  for (const SamplingOptions& options : {presets::extraction(), presets::classification(), presets::tool_call(),
                                         presets::code(), presets::chat(), presets::creative()}) {
    EXPECT_TRUE(make_chain(options, kVocabulary));
  }
  EXPECT_EQ(make_chain(presets::extraction(), kVocabulary).value().describe(), Lines{"greedy()"});
}

TEST(PresetsTest, AModelThatRecommendsNothingSaysSo) {
  const presets::FromModel none = presets::from_model({});
  EXPECT_TRUE(none.used.empty());
  EXPECT_EQ(none.absent.size(), 12u);
  EXPECT_EQ(make_chain(none.options, kVocabulary).value().describe(), Lines{"categorical(temperature=1)"});
}

TEST(PresetsTest, FromModelTakesWhatTheFileNames) {
  const presets::FromModel model = presets::from_model(
      {.sequence = "ktp", .temp = 0.6f, .top_k = 20, .top_p = 0.95f, .penalty_last_n = 64, .penalty_repeat = 1.1f});
  EXPECT_EQ(model.options.temperature, 0.6f);
  EXPECT_EQ(model.options.top_k, 20);
  EXPECT_EQ(model.options.top_p, 0.95f);
  EXPECT_EQ(model.options.repetition.penalty, 1.1f);
  EXPECT_EQ(model.options.repetition.window, 64u);
  EXPECT_EQ(model.used, (Lines{"temp", "top_k", "top_p", "penalty_repeat", "penalty_last_n"}));
  EXPECT_EQ(model.ignored, Lines{"sequence: the order of a chain is rill's own"});
}

TEST(PresetsTest, FromModelWithMirostat) {
  const presets::FromModel model = presets::from_model({.temp = 0.5f, .top_k = 20, .mirostat = 2, .mirostat_tau = 4.0f});
  EXPECT_TRUE(make_chain(model.options, kVocabulary));
  ASSERT_TRUE(model.options.mirostat);
  EXPECT_EQ(model.options.mirostat->temperature, 0.5f);
  EXPECT_EQ(model.options.mirostat->tau, 4.0f);
  EXPECT_EQ(model.ignored, Lines{"top_k: mirostat sets the truncation"});
  EXPECT_EQ(presets::from_model({.mirostat = 1}).ignored, Lines{"mirostat: only version 2 exists here"});
  EXPECT_FALSE(make_chain(presets::from_model({.temp = -3.0f}).options, kVocabulary));
}

}  // namespace
}  // namespace rill
