// How many threads of a pool a step should use while other programs want the cores too.
#pragma once

#include <chrono>
#include <cstddef>

namespace rill {

// A thread that loses its core holds up all others until it is back, milliseconds later, so that fewer threads may be
// faster. How much depends on the work (reading memory gains little from a second thread, arithmetic gains all) and on
// the neighbours, so it is tried: when much of two windows of steps was spent waiting for stragglers, the next one runs on
// fewer threads, and the better width stays. Later it tries more again, ever more seldom while that fails. One window may
// have met with something that does not come back.
// For steps of about the same work. It holds no clock and no threads, and belongs to one thread at a time.
class PoolWidth {
 public:
  using Duration = std::chrono::nanoseconds;

  static constexpr Duration kWindow = std::chrono::milliseconds(20);  // at least; several slices of a scheduler
  static constexpr std::size_t kWindowSteps = 3;                      // at least
  static constexpr std::size_t kLongestPause = 16;                    // windows between two trials

  explicit PoolWidth(std::size_t most) : most_(most), settled_(most), width_(most) {}

  std::size_t most() const noexcept { return most_; }
  std::size_t width() const noexcept { return width_; }  // of the next step: [1, most]

  // A step has run on width() threads, each of which waited `stalled` of it on average, with nothing left to do but for
  // the others to finish.
  void observe(Duration elapsed, Duration stalled) noexcept;

 private:
  void begin_trial(bool stalls) noexcept;
  void end_trial(Duration step_time) noexcept;

  struct Window {
    std::size_t steps = 0;
    Duration elapsed{};
    Duration stalled{};
  };

  std::size_t most_;
  std::size_t settled_;          // the best width known
  std::size_t width_;            // another during a trial
  Duration step_time_{};         // at the settled width; 0: unknown
  Window window_;
  bool stalled_before_ = false;  // in the window before
  std::size_t since_trial_ = 0;  // windows
  std::size_t pause_ = 1;        // windows before the next trial
  std::size_t change_ = 1;       // threads more or fewer in it
};

}  // namespace rill
