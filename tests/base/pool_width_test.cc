#include "base/pool_width.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

namespace rill {
namespace {

using namespace std::chrono_literals;
using Duration = PoolWidth::Duration;

struct Step {
  Duration elapsed;
  Duration stalled{};  // of an average thread
};
using Machine = std::function<Step(std::size_t width)>;

const Machine kQuiet = [](std::size_t width) { return Step{4ms / width, 100us}; };
// Two cores, one of them shared: two threads wait for each other, one has a core of its own.
const Machine kNeighbour = [](std::size_t width) { return width == 2 ? Step{5ms, 2ms} : Step{3ms}; };

struct Times {
  Duration elapsed{};
  Duration on_one{};  // thread
};

Times run(PoolWidth& width, const Machine& machine, Duration time) {
  Times times;
  while (times.elapsed < time) {
    const Step step = machine(width.width());
    times.elapsed += step.elapsed;
    if (width.width() == 1) times.on_one += step.elapsed;
    width.observe(step.elapsed, step.stalled);
  }
  return times;
}

TEST(PoolWidthTest, AllThreadsWhileNothingStalls) {
  PoolWidth width(2);
  EXPECT_EQ(run(width, kQuiet, 10s).on_one, 0ms);
  EXPECT_EQ(width.width(), 2u);
}

TEST(PoolWidthTest, OneThreadHasNothingToChoose) {
  PoolWidth width(1);
  run(width, [](std::size_t) { return Step{3ms, 3ms}; }, 1s);
  EXPECT_EQ(width.width(), 1u);
}

TEST(PoolWidthTest, NarrowsBesideANeighbourAndWidensWhenItLeaves) {
  PoolWidth width(2);
  run(width, kQuiet, 1s);
  run(width, kNeighbour, 100ms);
  EXPECT_EQ(width.width(), 1u) << "two windows to see it, a window to try";
  const Times beside = run(width, kNeighbour, 10s);
  EXPECT_GT(beside.on_one, beside.elapsed * 9 / 10) << "the rest is spent on probing";
  const Times after = run(width, kQuiet, 10s);
  EXPECT_EQ(width.width(), 2u);
  EXPECT_LT(after.on_one, (PoolWidth::kLongestPause + 2) * PoolWidth::kWindow);
}

// What holds up a step now and then says nothing about those to come.
TEST(PoolWidthTest, StaysWideWhenSingleStepsStall) {
  PoolWidth width(2);
  int steps = 0;
  const Machine machine = [&](std::size_t) { return ++steps % 30 == 0 ? Step{50ms, 25ms} : Step{15ms, 100us}; };
  EXPECT_EQ(run(width, machine, 10s).on_one, 0ms);
}

// Arithmetic loses more with the second thread than it waits for: then trying must cost little.
TEST(PoolWidthTest, StaysWideWhereThatIsFasterInSpiteOfStalls) {
  for (const Duration step : {5ms, 500ms}) {
    PoolWidth found(2);
    const Machine machine = [&](std::size_t width) { return width == 2 ? Step{step, step / 3} : Step{step * 6 / 5}; };
    const Times beside = run(found, machine, 1000 * step);
    EXPECT_GT(beside.on_one, 0ms);
    EXPECT_LT(beside.on_one, beside.elapsed / 10) << step.count();
  }
}

// Eight cores, some of them taken: a thread too many doubles the time.
TEST(PoolWidthTest, FindsTheWidthBetween) {
  for (const std::size_t free : {7u, 6u}) {
    PoolWidth width(8);
    std::array<Duration, 9> time_on{};
    const Machine machine = [&](std::size_t threads) {
      const Duration work = Duration(24ms) / threads;
      const Step step = threads > free ? Step{2 * work, work} : Step{work};
      time_on[threads] += step.elapsed;
      return step;
    };
    run(width, machine, 1s);
    time_on = {};
    const Times times = run(width, machine, 5s);
    EXPECT_GT(time_on[free], times.elapsed * 85 / 100) << free;
  }
}

}  // namespace
}  // namespace rill
