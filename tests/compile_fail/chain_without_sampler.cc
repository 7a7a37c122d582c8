// expect: (could not convert|no viable conversion|no known conversion|cannot convert|no match)
// A chain has exactly one sampler, in its own place: a processor is none.
#include "rill/sampler_chain.h"

rill::Result<rill::SamplerChain> caller() {
#ifdef RILL_MISUSE
  return rill::SamplerChain::create({.sampler = rill::repetition_penalty({.penalty = 1.1f})});
#else
  return rill::SamplerChain::create({.processors = {rill::repetition_penalty({.penalty = 1.1f})}, .sampler = rill::greedy()});
#endif
}
