#include <utility>

#include "base/error.h"
#include "base/float_mode.h"
#include "rill/sampling.h"

namespace rill {
namespace {

Result<void> check_tokens(const char* option, const std::vector<Token>& tokens, std::size_t vocabulary) {
  for (const Token token : tokens) {
    if (token < 0 || static_cast<std::size_t>(token) >= vocabulary) {
      return make_error(ErrorCode::invalid_argument, "{} names token {}, outside the vocabulary of {}", option, token,
                        vocabulary);
    }
  }
  return {};
}

Result<void> check_vocabulary(const SamplingOptions& options, const VocabularyInfo& vocabulary) {
  if (vocabulary.size == 0) return Error{ErrorCode::invalid_argument, "the vocabulary's size is 0"};
  RILL_TRY(check_tokens("banned", options.banned, vocabulary.size));
  RILL_TRY(check_tokens("end_tokens", vocabulary.end_tokens, vocabulary.size));
  RILL_TRY(check_tokens("sequence_breakers", options.dry.sequence_breakers, vocabulary.size));
  for (const TokenBias& bias : options.logit_bias) RILL_TRY(check_tokens("logit_bias", {bias.token}, vocabulary.size));
  return {};
}

// Mirostat sets the truncation itself.
Result<void> check_mirostat(const SamplingOptions& options) {
  if (!options.mirostat) return {};
  const auto conflict = [](const char* option) {
    return make_error(ErrorCode::invalid_argument, "mirostat together with {}: leave one of them off", option);
  };
  if (options.temperature != 1.0f) {
    return Error{ErrorCode::invalid_argument, "mirostat together with temperature: set mirostat's own"};
  }
  if (options.top_n_sigma != 0.0f) return conflict("top_n_sigma");
  if (options.top_k != 0 && options.top_k != -1) return conflict("top_k");
  if (options.top_p != 1.0f) return conflict("top_p");
  if (options.min_p != 0.0f) return conflict("min_p");
  if (options.typical_p != 1.0f) return conflict("typical_p");
  if (options.xtc.probability != 0.0f) return conflict("xtc");
  return {};
}

}  // namespace

// Every stage is made and checked, those that are off too, so that a bad value is refused wherever it stands; stages
// that are off are then left out.
Result<SamplerChain> make_chain(const SamplingOptions& options, const VocabularyInfo& vocabulary,
                                std::vector<Processor> first) {
  const ScopedFloatMode mode;  // or a subnormal passes for 0
  return guarded([&]() -> Result<SamplerChain> {
    RILL_TRY(check_vocabulary(options, vocabulary));
    RILL_TRY(categorical({.temperature = options.temperature})->validate());
    RILL_TRY(check_mirostat(options));

    SamplerChainOptions chain{.processors = std::move(first),
                              .sampler = options.mirostat ? mirostat(*options.mirostat) : categorical(),
                              .seed = options.seed,
                              .completion_index = options.completion_index};
    const auto add = [&chain](const char* option, bool on, Processor processor) -> Result<void> {
      if (Result<void> valid = processor->validate(); !valid) {
        return make_error(valid.error().code, "{}: {}", option, valid.error().message);
      }
      if (on) chain.processors.push_back(std::move(processor));
      return {};
    };
    const bool draws = options.temperature != 0.0f;
    const float temperature = draws ? options.temperature : 1.0f;
    RILL_TRY(add("banned", !options.banned.empty(), banned_tokens(options.banned)));
    RILL_TRY(add("min_tokens", options.min_tokens > 0,
                 rill::min_tokens({.count = options.min_tokens, .end_tokens = vocabulary.end_tokens})));
    RILL_TRY(add("logit_bias", !options.logit_bias.empty(), logit_bias(options.logit_bias)));
    RILL_TRY(add("repetition", options.repetition.penalty != 1.0f, repetition_penalty(options.repetition)));
    RILL_TRY(add("frequency", options.frequency.penalty != 0.0f, frequency_penalty(options.frequency)));
    RILL_TRY(add("presence", options.presence.penalty != 0.0f, presence_penalty(options.presence)));
    RILL_TRY(add("dry", options.dry.multiplier != 0.0f, dry(options.dry)));
    RILL_TRY(add("top_n_sigma", draws && options.top_n_sigma != 0.0f, keep_top_n_sigma(options.top_n_sigma)));
    RILL_TRY(add("temperature", temperature != 1.0f, scale_temperature(temperature)));
    RILL_TRY(add("top_k", draws && options.top_k > 0, keep_top_k(options.top_k)));
    RILL_TRY(add("top_p", draws && options.top_p != 1.0f, keep_top_p(options.top_p)));
    RILL_TRY(add("min_p", draws && options.min_p != 0.0f, keep_min_p(options.min_p)));
    RILL_TRY(add("typical_p", draws && options.typical_p != 1.0f, keep_typical(options.typical_p)));
    RILL_TRY(add("xtc", draws && options.xtc.probability != 0.0f, xtc(options.xtc)));
    if (!draws) chain.sampler = greedy();
    return SamplerChain::create(std::move(chain));
  });
}

}  // namespace rill
