#include "sampling/softmax.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "base/math.h"
#include "sampling/order_key.h"

namespace rill::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool is_nan(float value) { return std::abs(order_key(value)) > kInfinityKey; }

void exponentiate(const float* values, float peak, float* weights) {
  for (std::size_t i = 0; i < kBlock; ++i) weights[i] = math::exp_nonpositive(values[i] - peak);
}

// The sum of a block's weights in fixed point, split in two halves of 20 bits whose sums fit 32.
std::uint64_t fixed_point_sum(const float* weights) {
  constexpr float kHalf = 1048576.0f;  // 2^20
  std::int32_t high = 0;
  std::int32_t low = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const float scaled = weights[i] * kHalf;
    const auto whole = static_cast<std::int32_t>(scaled);
    high += whole;
    low += static_cast<std::int32_t>((scaled - static_cast<float>(whole)) * kHalf);
  }
  return (static_cast<std::uint64_t>(high) << 20) + static_cast<std::uint64_t>(low);
}

// floor(a * b / 2^64)
std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a_low = a & 0xffffffffu, a_high = a >> 32, b_low = b & 0xffffffffu, b_high = b >> 32;
  const std::uint64_t middle = a_high * b_low + ((a_low * b_low) >> 32);
  const std::uint64_t other = a_low * b_high + (middle & 0xffffffffu);
  return a_high * b_high + (middle >> 32) + (other >> 32);
}

}  // namespace

Result<Peak> find_peak(Candidates& candidates) {
  const std::span<const float> values = candidates.values();
  if (values.empty()) return Error{ErrorCode::degenerate_logits, "no token is left to choose from"};
  std::int32_t highest = INT32_MIN;
  std::size_t highest_block = 0;
  bool has_nan = false;
  for (std::size_t start = 0; start < values.size(); start += kBlock) {
    const KeyRange range = key_range(values.subspan(start, std::min(kBlock, values.size() - start)));
    has_nan |= range.has_nan();
    if (range.highest > highest) highest = range.highest, highest_block = start;
  }
  if (has_nan) {
    const auto first = std::find_if(values.begin(), values.end(), is_nan) - values.begin();
    return make_error(ErrorCode::degenerate_logits, "the logit of token {} is not a number",
                      candidates.id(static_cast<std::size_t>(first)));
  }
  if (highest == -kInfinityKey) {
    return make_error(ErrorCode::degenerate_logits, "the logits of all {} candidates are -inf", values.size());
  }
  std::size_t index = highest_block;
  while (order_key(values[index]) != highest) ++index;
  if (highest < kInfinityKey) return Peak{index, values[index]};
  candidates.keep_if([index](std::size_t i) { return i == index; });
  candidates.set_value(0, 0.0f);
  return Peak{};
}

Result<Softmax> Softmax::of(Candidates& candidates) {
  Softmax result;
  RILL_ASSIGN(result.peak_, find_peak(candidates));
  const std::size_t count = candidates.size();
  candidates.scratch_.resize(count);
  float* const weights = candidates.scratch_.data();
  result.values_ = candidates.values();
  result.weights_ = candidates.scratch_;
  result.block_sums_.reserve(count / kBlock + 1);
  const float peak = result.peak_.value;
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    exponentiate(result.values_.data() + i, peak, weights + i);
    result.block_sums_.push_back(fixed_point_sum(weights + i));
  }
  std::uint64_t rest = 0;
  for (; i < count; ++i) {
    weights[i] = math::exp_nonpositive(result.values_[i] - peak);
    rest += fixed_point(weights[i]);
  }
  result.block_sums_.push_back(rest);
  for (const std::uint64_t sum : result.block_sums_) result.total_ += sum;
  result.log_total_ =
      math::log(static_cast<double>(result.total_) / static_cast<double>(std::uint64_t{1} << kWeightBits));
  return result;
}

std::size_t Softmax::pick(std::uint64_t draw) const {
  std::uint64_t target = multiply_high(draw, total_);  // uniform in [0, total)
  std::size_t block = 0;
  while (target >= block_sums_[block]) target -= block_sums_[block++];
  std::size_t i = block * kBlock;
  while (target >= weight(i)) target -= weight(i++);
  return i;
}

Result<Logprobs> log_probabilities(Candidates& candidates, Token token, std::size_t top) {
  RILL_ASSIGN(const Softmax softmax, Softmax::of(candidates));
  Logprobs result;
  if (const auto index = candidates.find(token)) result.chosen = static_cast<float>(softmax.log_probability(*index));
  for (const std::size_t index : candidates.best(top)) {
    if (candidates.value(index) == -kInfinity) break;
    result.top.push_back({candidates.id(index), static_cast<float>(softmax.log_probability(index))});
  }
  return result;
}

std::vector<std::uint32_t> Softmax::heavier_than(std::uint64_t bound) const {
  constexpr float kOne = static_cast<float>(std::uint64_t{1} << kWeightBits);
  const float lowest =
      std::max(1.0f, static_cast<float>(bound - (bound >> 20)));  // rounding may not lift it above bound
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] * kOne >= lowest) indices.push_back(static_cast<std::uint32_t>(i));
  }
  return indices;
}

std::uint64_t share(std::uint64_t total, float fraction) {
  const double exact = static_cast<double>(fraction) * static_cast<double>(total);
  return std::clamp(static_cast<std::uint64_t>(std::ceil(exact)), std::uint64_t{1}, total);
}

}  // namespace rill::sampling
