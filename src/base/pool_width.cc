#include "base/pool_width.h"

#include <algorithm>
#include <bit>

namespace rill {

void PoolWidth::observe(std::size_t kind, Duration elapsed, Duration stalled) noexcept {
  if (most_ == 1) return;
  constexpr auto kWindowTime = static_cast<double>(kWindow.count());
  const auto time = static_cast<double>(elapsed.count());
  double& step_time = step_time_[std::min<std::size_t>(std::bit_width(kind), step_time_.size() - 1)];
  const bool trial = width_ != settled_;
  if (trial) {
    if (step_time == 0) {  // nothing to compare with
      width_ = settled_;
      window_ = {};
      return;
    }
    window_.expected += step_time;
  } else if (step_time == 0) {
    step_time = time;
  } else {
    step_time += (time - step_time) * std::min(1.0, time / kWindowTime / 2);  // mean of the last two windows or so
  }
  window_.elapsed += time;
  window_.stalled += static_cast<double>(stalled.count());
  if (window_.elapsed < kWindowTime) return;
  if (trial) {
    end_trial();
  } else if (++since_trial_ >= pause_) {
    begin_trial();
  }
  window_ = {};
}

void PoolWidth::begin_trial() noexcept {
  if (window_.stalled > window_.elapsed / 8 && width_ > 1) {
    width_ -= std::min(step_, width_ - 1);
  } else {
    width_ = std::min(width_ + step_, most_);
  }
}

void PoolWidth::end_trial() noexcept {
  const bool better = window_.elapsed < 0.97 * window_.expected;
  const bool more = width_ > settled_;
  step_ = more == better && width_ > 1 ? 2 * step_ : 1;  // further down for a gain, or up while there is one
  if (better) {
    settled_ = width_;
    step_time_ = {};
    pause_ = std::max<std::size_t>(pause_ / 2, 1);
  } else {
    width_ = settled_;
    pause_ = std::min(2 * pause_, kLongestPause);
  }
  since_trial_ = 0;
}

}  // namespace rill
