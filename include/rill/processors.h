// The built-in processors and samplers. docs/sampling.md has every formula with worked numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "rill/export.h"
#include "rill/logits_processor.h"
#include "rill/token.h"

// Every option is checked when a chain is created with it: NaN, infinity or a value out of the range given here is
// refused, never adjusted.
namespace rill {

// Samplers ---------------------------------------------------------------------------------------------------------

// The highest logit; of equal ones the lowest id.
RILL_EXPORT Sampler greedy();

struct CategoricalOptions {
  float temperature = 1.0f;  // >= 0; logits are divided by it; 0 chooses as greedy() does
};
// Draws from the softmax of what the processors left.
RILL_EXPORT Sampler categorical(const CategoricalOptions& options = {});

struct TopPOptions {
  float temperature = 1.0f;  // >= 0, applied first; 0 chooses as greedy() does
  float top_p = 1.0f;        // 0 < top_p <= 1; 1 is off
};
// Draws from the smallest set of most likely tokens whose probabilities reach top_p (Holtzman et al., 2019).
RILL_EXPORT Sampler top_p(const TopPOptions& options);

}  // namespace rill
