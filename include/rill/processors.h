// The built-in processors and samplers. docs/sampling.md has every formula with worked numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rill/export.h"
#include "rill/logits_processor.h"
#include "rill/token.h"

// Every option is checked when a chain is created with it: NaN, infinity or a value out of the range given here is
// refused, never adjusted.
namespace rill {

// Masks: applied before logits are computed --------------------------------------------------------------------------

// Never chosen.
RILL_EXPORT Processor banned_tokens(std::vector<Token> tokens);

struct MinTokensOptions {
  std::size_t count = 0;               // generated tokens before any of end_tokens may be chosen
  std::vector<Token> end_tokens = {};  // usually the tokenizer's end-of-generation ids
};
RILL_EXPORT Processor min_tokens(MinTokensOptions options);

// Changes of logits --------------------------------------------------------------------------------------------------

struct TokenBias {
  Token token = 0;
  float bias = 0.0f;  // finite; added to the logit
};
// Error invalid_argument if a token is named twice or is outside the vocabulary.
RILL_EXPORT Processor logit_bias(std::vector<TokenBias> biases);

// Which tokens a penalty counts.
enum class PenaltyScope : std::uint8_t {
  generated,             // only accepted tokens
  prompt_and_generated,  // observed and accepted tokens
};

struct RepetitionPenaltyOptions {
  float penalty = 1.0f;  // > 0; 1 is off. A counted token's logit is divided by it if positive, else multiplied; once
  PenaltyScope scope = PenaltyScope::prompt_and_generated;
  std::optional<std::size_t> window = std::nullopt;  // counts the last so many tokens of the scope, >= 1; none: all
};
RILL_EXPORT Processor repetition_penalty(const RepetitionPenaltyOptions& options);

struct AdditivePenaltyOptions {
  float penalty = 0.0f;  // finite; 0 is off; negative encourages
  PenaltyScope scope = PenaltyScope::generated;
  std::optional<std::size_t> window = std::nullopt;  // as above
};
RILL_EXPORT Processor frequency_penalty(const AdditivePenaltyOptions& options);  // subtracted for each occurrence
RILL_EXPORT Processor presence_penalty(const AdditivePenaltyOptions& options);   // subtracted once

// "Don't repeat yourself": a token that would continue a repetition of `length` >= allowed_length tokens loses
// multiplier * base^(length - allowed_length).
struct DryOptions {
  float multiplier = 0.0f;         // >= 0; 0 is off
  float base = 1.75f;              // >= 1
  std::size_t allowed_length = 2;  // >= 1
  PenaltyScope scope = PenaltyScope::prompt_and_generated;
  std::optional<std::size_t> window = std::nullopt;
  std::vector<Token> sequence_breakers = {};  // tokens that no repetition reaches across, and that are not penalised
};
RILL_EXPORT Processor dry(DryOptions options);

// Divides by a temperature > 0. For 0 use greedy().
RILL_EXPORT Processor scale_temperature(float temperature);

// Truncations: each keeps at least one candidate ----------------------------------------------------------------------

RILL_EXPORT Processor keep_top_k(int k);           // the k best; 0 and -1 are off
RILL_EXPORT Processor keep_top_p(float p);         // 0 < p <= 1; 1 is off
RILL_EXPORT Processor keep_min_p(float p);         // 0 <= p <= 1: those with at least p times the best's probability
RILL_EXPORT Processor keep_typical(float p);       // 0 < p <= 1; 1 is off (Meister et al., 2022)
RILL_EXPORT Processor keep_top_n_sigma(float n);   // >= 0; 0 is off: at most n deviations below the best (Tang, 2024)

// "Exclude top choices": with `probability`, removes all candidates of at least `threshold` but the least likely of
// them.
struct XtcOptions {
  float probability = 0.0f;  // 0 <= probability <= 1; 0 is off
  float threshold = 0.1f;    // 0 < threshold <= 1; above 0.5 never two candidates reach it
};
RILL_EXPORT Processor xtc(const XtcOptions& options);

// Samplers ------------------------------------------------------------------------------------------------------------

// The highest logit; of equal ones the lowest id.
RILL_EXPORT Sampler greedy();

struct CategoricalOptions {
  float temperature = 1.0f;  // >= 0; logits are divided by it; 0 chooses as greedy() does
};
// Draws from the softmax of what the processors left.
RILL_EXPORT Sampler categorical(const CategoricalOptions& options = {});

struct TopKOptions {
  float temperature = 1.0f;  // >= 0, applied first; 0 chooses as greedy() does
  int top_k = 0;             // 0 and -1 are off
};
RILL_EXPORT Sampler top_k(const TopKOptions& options);

struct TopPOptions {
  float temperature = 1.0f;  // as above
  float top_p = 1.0f;        // 0 < top_p <= 1; 1 is off
};
// Draws from the smallest set of most likely tokens whose probabilities reach top_p (Holtzman et al., 2019).
RILL_EXPORT Sampler top_p(const TopPOptions& options);

struct MinPOptions {
  float temperature = 1.0f;  // as above
  float min_p = 0.0f;        // 0 <= min_p <= 1; 0 is off
};
RILL_EXPORT Sampler min_p(const MinPOptions& options);

// Mirostat 2 (Basu et al., 2021): truncates so that the surprise of what is drawn stays near `tau` bits.
struct MirostatOptions {
  float temperature = 1.0f;  // as above
  float tau = 5.0f;          // > 0, bits
  float eta = 0.1f;          // >= 0, how fast the bound follows
};
RILL_EXPORT Sampler mirostat(const MirostatOptions& options);

}  // namespace rill
