// Counts work, so that hostile input ends in an error that names the limit instead of taking for ever.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "rill/stop_token.h"

namespace rill {

inline constexpr std::size_t kBytesOfStep = 16;  // of a text that is gone through

class StepBudget {
 public:
  StepBudget() = default;  // without a limit
  // `name`: of the limit; lasts as long as the budget.
  StepBudget(std::string_view name, std::size_t most, StopToken stop)
      : name_(name), most_(most), left_(most), stop_(std::move(stop)) {}

  // Throws ErrorException: limit_exceeded, cancelled.
  void spend(std::size_t steps) {
    if (steps > left_) {
      throw ErrorException(make_error(ErrorCode::limit_exceeded, "more than {} = {} steps of work", name_, most_));
    }
    left_ -= steps;
    if (left_ / kPollSteps == polled_) return;
    polled_ = left_ / kPollSteps;
    if (stop_.stop_requested()) throw ErrorException(Error{ErrorCode::cancelled, "stopped"});
  }

 private:
  static constexpr std::size_t kPollSteps = 1 << 14;

  std::string_view name_ = {};
  std::size_t most_ = std::numeric_limits<std::size_t>::max();
  std::size_t left_ = most_;
  std::size_t polled_ = 0;
  StopToken stop_ = {};
};

}  // namespace rill
