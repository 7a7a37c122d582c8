#include "base/pool_width.h"

#include <algorithm>

namespace rill {

void PoolWidth::observe(Duration elapsed, Duration stalled) noexcept {
  if (most_ == 1) return;
  ++window_.steps;
  window_.elapsed += elapsed;
  window_.stalled += stalled;
  if (window_.elapsed < kWindow || window_.steps < kWindowSteps) return;
  const Duration step_time = window_.elapsed / window_.steps;
  const bool stalls_now = window_.stalled > window_.elapsed / 8;
  const bool stalls = stalls_now && stalled_before_;
  stalled_before_ = stalls_now;
  window_ = {};
  if (width_ != settled_) {
    end_trial(step_time);
    return;
  }
  step_time_ = step_time_ == Duration{} ? step_time : (step_time_ + step_time) / 2;
  if (++since_trial_ >= pause_) begin_trial(stalls);
}

void PoolWidth::begin_trial(bool stalls) noexcept {
  if (stalls && width_ > 1) {
    width_ -= std::min(change_, width_ - 1);
  } else {
    width_ = std::min(width_ + change_, most_);
  }
}

void PoolWidth::end_trial(Duration step_time) noexcept {
  const bool better = step_time < step_time_ * 97 / 100;
  const bool more = width_ > settled_;
  change_ = more == better && width_ > 1 ? 2 * change_ : 1;  // further down for a gain, or up while there is one
  if (better) {
    settled_ = width_;
    step_time_ = step_time;
    pause_ = std::max<std::size_t>(pause_ / 2, 1);
  } else {
    width_ = settled_;
    pause_ = std::min(2 * pause_, kLongestPause);
  }
  since_trial_ = 0;
}

}  // namespace rill
