// Sampling as one plain struct, and the chain that it stands for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rill/export.h"
#include "rill/processors.h"
#include "rill/result.h"
#include "rill/sampler_chain.h"
#include "rill/token.h"

namespace rill {

// In the order of application. Everything is off by default: a draw from the model's own distribution.
struct SamplingOptions {
  std::vector<Token> banned = {};           // masks
  std::size_t min_tokens = 0;               // generated tokens before an end token may be chosen
  std::vector<TokenBias> logit_bias = {};   // changes of logits
  RepetitionPenaltyOptions repetition = {};
  AdditivePenaltyOptions frequency = {};
  AdditivePenaltyOptions presence = {};
  DryOptions dry = {};
  float top_n_sigma = 0.0f;                 // from here on nothing applies at temperature 0, which takes the best
  float temperature = 1.0f;
  int top_k = 0;
  float top_p = 1.0f;
  float min_p = 0.0f;
  float typical_p = 1.0f;
  XtcOptions xtc = {};
  // Draws with mirostat; its own temperature must then be left at 1, and top_n_sigma to xtc off.
  std::optional<MirostatOptions> mirostat = std::nullopt;
  std::uint64_t seed = 0;
  std::uint32_t completion_index = 0;
};

struct VocabularyInfo {
  std::size_t size = 0;
  std::vector<Token> end_tokens = {};  // needed by min_tokens
};

// The chain of `options` in the default order, after `first`, the caller's own processors (a grammar's mask, say).
// Error invalid_argument names the option that is out of range, or the token that is outside the vocabulary.
RILL_EXPORT Result<SamplerChain> make_chain(const SamplingOptions& options, const VocabularyInfo& vocabulary,
                                            std::vector<Processor> first = {});

}  // namespace rill
