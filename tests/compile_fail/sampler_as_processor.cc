// expect: (could not convert|no viable conversion|no known conversion|cannot convert|no match)
// A second sampler cannot be smuggled in among the processors.
#include "rill/sampler_chain.h"

rill::Result<rill::SamplerChain> caller() {
#ifdef RILL_MISUSE
  return rill::SamplerChain::create({.processors = {rill::greedy()}, .sampler = rill::greedy()});
#else
  return rill::SamplerChain::create({.processors = {}, .sampler = rill::greedy()});
#endif
}
