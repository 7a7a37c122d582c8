#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace rill {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<ThreadPool> make_pool(int threads, std::chrono::microseconds spin = 50us) {
  return ThreadPool::create({.threads = threads, .spin = spin}).value();
}

int logical_cpus() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

TEST(ThreadPoolTest, RefusesWhatIsOutOfRange) {
  for (const int threads : {-1, 100'000}) {
    const auto pool = ThreadPool::create({.threads = threads});
    ASSERT_FALSE(pool) << threads;
    EXPECT_EQ(pool.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(pool.error().message.find(std::to_string(threads)), std::string::npos) << pool.error().message;
  }
  for (const auto spin : {-1us, std::chrono::microseconds(1'000'001)}) {
    const auto pool = ThreadPool::create({.threads = 1, .spin = spin});
    ASSERT_FALSE(pool);
    EXPECT_EQ(pool.error().code, ErrorCode::invalid_argument);
  }
}

TEST(ThreadPoolTest, AutomaticCountIsAtLeastOneAndAtMostTheMachine) {
  const auto pool = ThreadPool::create().value();
  EXPECT_GE(pool->threads(), 1u);
  EXPECT_LE(pool->threads(), static_cast<std::size_t>(logical_cpus()));
}

// Every tile runs once, its writes are visible after, and no two threads share an index at one time.
TEST(ThreadPoolTest, RunsEveryTileOnceForAnyThreadCount) {
  for (const int threads : {1, 2, 3, 5, 4 * logical_cpus()}) {
    const auto pool = make_pool(threads);
    ASSERT_EQ(pool->threads(), static_cast<std::size_t>(threads));
    std::vector<std::atomic<int>> busy(pool->threads());
    std::atomic<int> shared_index = 0;
    for (const std::size_t tiles : {0u, 1u, 2u, 3u, 7u, 64u, 1000u}) {
      std::vector<int> count(tiles, 0);
      pool->workers().run(tiles, [&](std::size_t tile, std::size_t thread) noexcept {
        if (busy[thread].exchange(1) != 0) ++shared_index;
        ++count[tile];
        busy[thread].store(0);
      });
      EXPECT_EQ(count, std::vector<int>(tiles, 1)) << threads << " threads";
    }
    EXPECT_EQ(shared_index, 0);
  }
}

TEST(ThreadPoolTest, ThousandsOfTinyRuns) {
  for (const auto spin : {0us, 50us}) {
    const auto pool = make_pool(3, spin);
    Workers::Turn turn(pool->workers());
    const int runs = spin == 0us ? 2000 : 20'000;
    std::vector<long> sum(4, 0);
    for (int run = 0; run < runs; ++run) {
      turn.run(sum.size(), [&](std::size_t tile, std::size_t) noexcept { sum[tile] += run; });
    }
    EXPECT_EQ(sum, std::vector<long>(4, static_cast<long>(runs) * (runs - 1) / 2));
  }
}

// While one thread is held up by its tile, another does all the rest.
TEST(ThreadPoolTest, TilesAreSharedWhileOneIsSlow) {
  const auto pool = make_pool(2);
  std::atomic<int> others = 0;
  pool->workers().run(9, [&](std::size_t tile, std::size_t) noexcept {
    if (tile != 0) {
      ++others;
    } else {
      while (others < 8) std::this_thread::yield();
    }
  });
  EXPECT_EQ(others, 8);
}

// The caller is in tile 0 until they are done, and a helper that is free takes them first.
TEST(ThreadPoolTest, BesideWorkIsDoneByHelpersAheadOfTiles) {
  const auto pool = make_pool(2);
  std::atomic<std::size_t> done = 0, early_tiles = 0;
  std::vector<std::size_t> threads(3, 0);
  const auto task = [&](std::size_t i, std::size_t thread) noexcept {
    threads[i] = thread;
    ++done;
  };
  Workers::Turn turn(pool->workers(), 1, {threads.size(), task});
  turn.run(20, [&](std::size_t tile, std::size_t thread) noexcept {
    if (thread == 1 && done < threads.size()) ++early_tiles;
    while (tile == 0 && done < threads.size()) std::this_thread::yield();
  });
  EXPECT_EQ(threads, std::vector<std::size_t>(3, 1));
  EXPECT_EQ(early_tiles, 0u);
}

TEST(ThreadPoolTest, ATurnEndsWhenWhatWasBegunBesideHasEnded) {
  const auto pool = make_pool(2, 0us);
  std::atomic<int> begun = 0;
  std::atomic<bool> leaving = false, ended = false;
  const auto task = [&](std::size_t, std::size_t) noexcept {
    ++begun;
    while (!leaving) std::this_thread::yield();
    std::this_thread::sleep_for(2ms);
    ended = true;
  };
  {
    Workers::Turn turn(pool->workers(), 1, {1, task});
    turn.run(9, [&](std::size_t, std::size_t) noexcept {
      while (begun == 0) std::this_thread::yield();
    });
    leaving = true;
  }
  EXPECT_TRUE(ended);
  EXPECT_EQ(begun, 1);
}

TEST(ThreadPoolTest, NothingIsDoneBesideWithOneThreadOrInsideATurn) {
  std::atomic<int> calls = 0;
  const auto task = [&](std::size_t, std::size_t) noexcept { ++calls; };
  const auto alone = make_pool(1), limited = make_pool(2), other = make_pool(2);
  limited->set_thread_limit(1).value();
  for (const auto& pool : {alone, limited}) {
    Workers::Turn turn(pool->workers(), 1, {4, task});
    turn.run(9, [](std::size_t, std::size_t) noexcept {});
  }
  const Workers::Turn outer(other->workers());
  Workers::Turn(other->workers(), 1, {4, task}).run(9, [](std::size_t, std::size_t) noexcept {});
  EXPECT_EQ(calls, 0);
}

TEST(ThreadPoolTest, ThousandsOfTurnsWithBesideWork) {
  for (const auto spin : {0us, 50us}) {
    const auto pool = make_pool(3, spin);
    for (int i = 0; i < 2000; ++i) {
      std::vector<int> count(5, 0), tiles(4, 0);
      const auto task = [&](std::size_t one, std::size_t) noexcept { ++count[one]; };
      {
        Workers::Turn turn(pool->workers(), 1, {count.size(), task});
        turn.run(tiles.size(), [&](std::size_t tile, std::size_t) noexcept { ++tiles[tile]; });
      }
      EXPECT_EQ(tiles, std::vector<int>(4, 1));
      EXPECT_LE(*std::max_element(count.begin(), count.end()), 1);
      EXPECT_TRUE(std::is_sorted(count.rbegin(), count.rend()));  // begun in their order
    }
  }
}

TEST(ThreadPoolTest, LimitHoldsFromTheNextTurn) {
  const auto pool = make_pool(4);
  for (const std::size_t limit : {2u, 1u, 3u, 4u}) {
    ASSERT_TRUE(pool->set_thread_limit(static_cast<int>(limit)));
    EXPECT_EQ(pool->thread_limit(), limit);
    int runs_of_others = 0;  // a thread beyond the limit may be about to take tiles; then it sleeps
    for (int run = 0; run < 500; ++run) {
      std::atomic<int> tiles = 0, of_others = 0;
      pool->workers().run(64, [&](std::size_t, std::size_t thread) noexcept {
        ++tiles;
        if (thread >= limit) ++of_others;
      });
      ASSERT_EQ(tiles, 64);
      EXPECT_EQ(pool->workers().width(), limit);
      runs_of_others += of_others > 0;
    }
    EXPECT_LE(runs_of_others, 20);
  }
  {
    Workers::Turn turn(pool->workers());
    ASSERT_TRUE(pool->set_thread_limit(1));
    EXPECT_EQ(pool->workers().width(), 4u);
  }
  for (const int limit : {0, -1, 5}) {
    const auto refused = pool->set_thread_limit(limit);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(pool->thread_limit(), 1u);
  }
}

TEST(ThreadPoolTest, LimitMayChangeWhileOthersRun) {
  const auto pool = make_pool(3, 5us);
  std::atomic<bool> stop = false;
  std::thread changer([&] {
    for (int i = 0; !stop; ++i) {
      pool->set_thread_limit(1 + i % 3).value();
      std::this_thread::yield();
    }
  });
  for (int run = 0; run < 2000; ++run) {
    std::vector<int> count(5, 0);
    pool->workers().run(count.size(), [&](std::size_t tile, std::size_t) noexcept { ++count[tile]; });
    EXPECT_EQ(count, std::vector<int>(5, 1));
  }
  stop = true;
  changer.join();
}

// A helper that sleeps in its tile stands for one whose core is taken: for longer than a busy machine delays the caller.
// Turns that it comes too late for end at once.
TEST(ThreadPoolTest, NarrowsWhenHelpersStall) {
  for (const bool narrow : {true, false}) {
    const auto pool = ThreadPool::create({.threads = 2, .spin = 1s, .narrow = narrow}).value();
    bool narrowed = false;
    int helped_turns = 0;
    while (helped_turns < (narrow ? 100 : 5) && !narrowed) {
      std::atomic<bool> helped = false;
      {
        const Workers::Turn turn(pool->workers(), 1);
        narrowed = pool->workers().width() == 1;
        pool->workers().run(2, [&](std::size_t, std::size_t thread) noexcept {
          helped = helped || thread == 1;
          for (int spin = 0; spin < 10'000 && !helped; ++spin) {}
          if (thread == 1) std::this_thread::sleep_for(40ms);
        });
      }
      if (helped) {
        ++helped_turns;
      } else {
        std::this_thread::yield();
      }
    }
    EXPECT_EQ(narrowed, narrow);
  }
}

// The same stalls, but while a helper is lent for other work nobody can tell what they mean.
TEST(ThreadPoolTest, TurnsWithLongBesideWorkDoNotNarrow) {
  const auto pool = ThreadPool::create({.threads = 2, .spin = 1s}).value();
  const auto task = [](std::size_t, std::size_t) noexcept { std::this_thread::sleep_for(10ms); };
  for (int i = 0; i < 6; ++i) {
    Workers::Turn turn(pool->workers(), 1, {1, task});
    ASSERT_EQ(pool->workers().width(), 2u);
    std::atomic<bool> helped = false;
    turn.run(2, [&](std::size_t, std::size_t thread) noexcept {
      if (thread == 1) helped = true;
      while (!helped) std::this_thread::yield();
      if (thread == 1) std::this_thread::sleep_for(40ms);
    });
  }
}

// Neither lock nor system call while nobody sleeps.
TEST(ThreadPoolTest, NobodySleepsWithinTheSpin) {
  const auto pool = make_pool(2, 1s);
  const auto runs = [&] {
    const std::uint64_t before = pool->workers().sleeps_and_wakes();
    for (int run = 0; run < 100; ++run) pool->workers().run(8, [](std::size_t, std::size_t) noexcept {});
    return pool->workers().sleeps_and_wakes() - before;
  };
  EXPECT_EQ(runs(), 0u);
  const auto sleepy = make_pool(2, 0us);
  while (sleepy->workers().sleeps_and_wakes() == 0) std::this_thread::yield();  // the helper, which has nothing to do
}

TEST(ThreadPoolTest, CallersFromSeveralThreadsTakeTurns) {
  const auto pool = make_pool(3, 5us);
  std::atomic<int> inside = 0, overlaps = 0;
  std::vector<long> sums(4, 0);
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < sums.size(); ++caller) {
    callers.emplace_back([&, caller] {
      for (int step = 0; step < 60; ++step) {
        const Workers::Turn turn(pool->workers());
        if (inside.fetch_add(1) != 0) ++overlaps;
        for (int run = 0; run < 5; ++run) {
          std::vector<int> tiles(7, 0);
          pool->workers().run(tiles.size(), [&](std::size_t tile, std::size_t) noexcept { tiles[tile] += 1; });
          sums[caller] += std::accumulate(tiles.begin(), tiles.end(), 0);
        }
        inside.fetch_sub(1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sums, std::vector<long>(sums.size(), 60 * 5 * 7));
  EXPECT_EQ(overlaps, 0);
}

// Turns are given in the order in which they were asked for.
TEST(ThreadPoolTest, FirstComeFirstServed) {
  const auto pool = make_pool(2, 0us);
  std::vector<int> order;
  std::vector<std::thread> callers;
  {
    Workers::Turn turn(pool->workers());
    for (int caller = 0; caller < 5; ++caller) {
      callers.emplace_back([&, caller] {
        Workers::Turn mine(pool->workers());
        order.push_back(caller);  // the turn is the lock
      });
      while (pool->workers().queued() != static_cast<std::size_t>(caller) + 1) std::this_thread::yield();
    }
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(ThreadPoolTest, CreateAndDestroyOften) {
  for (int round = 0; round < 200; ++round) {
    const auto pool = make_pool(3);
    std::atomic<int> tiles = 0;
    if (round % 2 == 0) pool->workers().run(5, [&](std::size_t, std::size_t) noexcept { ++tiles; });
    EXPECT_EQ(tiles, round % 2 == 0 ? 5 : 0);
  }
}

// The threads compute in the default mode, whatever the thread that made them was in. (fegetround reads the x87's
// mode.)
TEST(ThreadPoolTest, HelpersHaveTheDefaultRoundingMode) {
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const auto pool = make_pool(2);
  std::fesetround(FE_TONEAREST);
  const volatile float one = 1.0f, tiny = 1e-10f;
  std::atomic<float> helper_sum = 0.0f;
  pool->workers().run(2, [&](std::size_t, std::size_t thread) noexcept {
    if (thread == 1) helper_sum = one + tiny;
    while (helper_sum == 0.0f) std::this_thread::yield();  // until the helper has had its tile
  });
  EXPECT_EQ(helper_sum, 1.0f);
}

#if defined(__linux__)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// CPU time is counted by the system, so a busy machine does not disturb this: case A10, a quarter of its two seconds.
TEST(ThreadPoolTest, IdlePoolTakesNoCpuTime) {
  const auto pool = make_pool(4 * logical_cpus());
  pool->workers().run(100, [](std::size_t, std::size_t) noexcept {});
  std::this_thread::sleep_for(20ms);
  const double before = cpu_seconds();
  std::this_thread::sleep_for(500ms);
  EXPECT_LT(cpu_seconds() - before, 0.005);
}

// A run finishes when every core has something else to do.
TEST(ThreadPoolTest, BusyNeighbours) {
  std::atomic<bool> stop = false;
  std::atomic<int> started = 0;
  std::vector<std::thread> neighbours;
  for (int i = 0; i < logical_cpus(); ++i) {
    neighbours.emplace_back([&] {
      ++started;
      while (!stop.load(std::memory_order_relaxed)) {}
    });
  }
  while (started < logical_cpus()) std::this_thread::yield();
  const auto pool = make_pool(2);
  std::atomic<int> tiles = 0;
  for (int run = 0; run < 1000; ++run) pool->workers().run(4, [&](std::size_t, std::size_t) noexcept { ++tiles; });
  stop = true;
  for (std::thread& neighbour : neighbours) neighbour.join();
  EXPECT_EQ(tiles, 4000);
}

// Run in a process of its own. Exit status 0 if a pool that finds no room for its stacks is an error and leaves no
// thread.
[[noreturn]] void create_without_memory() {
  const rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};  // 1 GiB holds some 100 stacks
  setrlimit(RLIMIT_AS, &limit);
  const auto pool = ThreadPool::create({.threads = 1000});
  const auto threads = std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  _exit(!pool && pool.error().code == ErrorCode::resource_exhausted && threads == 1 ? 0 : 1);
}

TEST(ThreadPoolTest, ThreadsThatCannotBeStartedAreAnError) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more address space than the test leaves";
  EXPECT_EXIT(create_without_memory(), testing::ExitedWithCode(0), "");
}

#endif  // __linux__

}  // namespace
}  // namespace rill
