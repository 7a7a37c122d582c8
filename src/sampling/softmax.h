// Softmax as integers: the weight of a candidate is e^(logit - highest logit) in fixed point. Sums of integers are
// exact, so no result depends on the order of summation, the width of a vector, or masked tokens being absent or -inf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "rill/candidates.h"
#include "rill/result.h"
#include "rill/sampler_chain.h"
#include "rill/token.h"

namespace rill::sampling {

inline constexpr int kWeightBits = 40;  // the highest logit weighs 2^40; below e^-27.7 of it a token is never drawn
inline constexpr std::size_t kMaxVocabulary = std::size_t{1} << 23;  // so that a sum of weights stays below 2^63

// Index and value of the highest logit, of equal ones the lowest index. Error degenerate_logits if a logit is NaN or
// none is above -inf. +inf is certainty: the first candidate that has it is then made the only one, with logit 0.
struct Peak {
  std::size_t index = 0;
  float value = 0.0f;
};
Result<Peak> find_peak(Candidates& candidates);

// Refers to the candidates' own memory: valid until they are changed or another Softmax of them is made.
class Softmax {
 public:
  // Errors, and what +inf does to `candidates`, as find_peak.
  static Result<Softmax> of(Candidates& candidates);

  Peak peak() const { return peak_; }
  std::uint64_t total() const { return total_; }
  std::uint64_t weight(std::size_t index) const { return fixed_point(weights_[index]); }
  double log_probability(std::size_t index) const {
    return (static_cast<double>(values_[index]) - static_cast<double>(peak_.value)) - log_total_;
  }

  // The indices, ascending, of all that weigh more than `bound`, and perhaps of some that weigh as much; of none
  // without weight.
  std::vector<std::uint32_t> heavier_than(std::uint64_t bound) const;

  // The index that `draw`, 64 uniform bits, falls on: a walk over the weights in ascending order of id.
  std::size_t pick(std::uint64_t draw) const;

 private:
  Softmax() = default;
  static std::uint64_t fixed_point(float weight) {
    return static_cast<std::uint64_t>(
        static_cast<std::int64_t>(weight * static_cast<float>(std::uint64_t{1} << kWeightBits)));
  }

  Peak peak_;
  std::uint64_t total_ = 0;
  double log_total_ = 0;  // of the sum of e^(logit - peak)
  std::span<const float> values_;
  std::span<const float> weights_;         // e^(logit - peak), one for each candidate
  std::vector<std::uint64_t> block_sums_;  // for each kBlock weights, so that a walk is short
};

// The softmax of `candidates` for a report: of `token` (-inf if it is none of them) and of the `top` most likely ones.
struct Logprobs {
  float chosen = -std::numeric_limits<float>::infinity();
  std::vector<TokenLogprob> top;
};
Result<Logprobs> log_probabilities(Candidates& candidates, Token token, std::size_t top);

// The `fraction` of `total`, rounded up, at least 1.
std::uint64_t share(std::uint64_t total, float fraction);

}  // namespace rill::sampling
