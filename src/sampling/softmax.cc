#include "sampling/softmax.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/math.h"

namespace rill::sampling {
namespace {

constexpr std::size_t kBlock = 256;
constexpr std::size_t kLanes = 16;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool is_nan(float value) { return (std::bit_cast<std::uint32_t>(value) & 0x7fffffffu) > 0x7f800000u; }

// Highest value, and whether any is NaN; written as lanes so that it is vectorised.
struct Scan {
  float highest = -kInfinity;
  bool has_nan = false;
};
Scan scan(std::span<const float> values) {
  float highest[kLanes];
  std::uint32_t nan[kLanes] = {};
  std::fill(std::begin(highest), std::end(highest), -kInfinity);
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float value = values[i + lane];
      highest[lane] = value > highest[lane] ? value : highest[lane];
      nan[lane] |= value == value ? 0u : 1u;
    }
  }
  Scan result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result.highest = std::max(result.highest, highest[lane]);
    result.has_nan |= nan[lane] != 0;
  }
  for (; i < values.size(); ++i) {
    result.highest = values[i] > result.highest ? values[i] : result.highest;
    result.has_nan |= is_nan(values[i]);
  }
  return result;
}

// Writes e^(value - peak) and returns the sum of their fixed-point forms, split in two 20-bit halves so that 32-bit
// lanes hold everything: at most kBlock / kLanes of 2^20 meet in one.
std::uint64_t weigh_block(const float* values, float peak, float* weights) {
  constexpr float kHalf = 1048576.0f;  // 2^20
  std::int32_t high[kLanes] = {};
  std::int32_t low[kLanes] = {};
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float weight = math::exp_nonpositive(values[i + lane] - peak);
      weights[i + lane] = weight;
      const float scaled = weight * kHalf;
      const auto whole = static_cast<std::int32_t>(scaled);
      high[lane] += whole;
      low[lane] += static_cast<std::int32_t>((scaled - static_cast<float>(whole)) * kHalf);
    }
  }
  std::uint64_t sum = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sum += (static_cast<std::uint64_t>(high[lane]) << 20) + static_cast<std::uint64_t>(low[lane]);
  }
  return sum;
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
  const Scan scanned = scan(values);
  if (scanned.has_nan) {
    const auto first = std::find_if(values.begin(), values.end(), is_nan) - values.begin();
    return make_error(ErrorCode::degenerate_logits, "the logit of token {} is not a number",
                      candidates.id(static_cast<std::size_t>(first)));
  }
  if (scanned.highest == -kInfinity) {
    return make_error(ErrorCode::degenerate_logits, "the logits of all {} candidates are -inf", values.size());
  }
  const auto index = static_cast<std::size_t>(std::find(values.begin(), values.end(), scanned.highest) - values.begin());
  if (scanned.highest < kInfinity) return Peak{index, scanned.highest};
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
    result.block_sums_.push_back(weigh_block(result.values_.data() + i, peak, weights + i));
  }
  std::uint64_t rest = 0;
  for (; i < count; ++i) {
    weights[i] = math::exp_nonpositive(result.values_[i] - peak);
    rest += fixed_point(weights[i]);
  }
  result.block_sums_.push_back(rest);
  for (const std::uint64_t sum : result.block_sums_) result.total_ += sum;
  return result;
}

double Softmax::log_probability(std::size_t index) const {
  constexpr double kOne = static_cast<double>(std::uint64_t{1} << kWeightBits);
  return (static_cast<double>(values_[index]) - static_cast<double>(peak_.value)) -
         math::log(static_cast<double>(total_) / kOne);
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

std::uint64_t share(std::uint64_t total, float fraction) {
  const double exact = static_cast<double>(fraction) * static_cast<double>(total);
  return std::clamp(static_cast<std::uint64_t>(std::ceil(exact)), std::uint64_t{1}, total);
}

}  // namespace rill::sampling
