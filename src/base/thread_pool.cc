#include "base/thread_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/float_mode.h"

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace rill {
namespace {

// Tells the core that this is a spin loop: its neighbour on the core runs faster, and leaving the loop is cheaper.
void pause() noexcept {
#if defined(_MSC_VER) && defined(_M_X64)
  _mm_pause();
#elif defined(_MSC_VER)
  __yield();
#elif defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");  // `yield` does nothing on most cores; this takes about as long as x86's pause
#endif
}

template <typename Condition>
bool spin_briefly(Condition condition) noexcept {
  for (int i = 0; i < 64; ++i) {
    if (condition()) return true;
    pause();
  }
  return false;
}

}  // namespace

Workers::Workers(const ThreadPoolOptions& options)
    : spin_(options.spin),
      narrow_(options.narrow),
      shares_(static_cast<std::size_t>(options.threads)),
      limit_(shares_.size()),
      width_(shares_.size()),
      widths_(16, PoolWidth(shares_.size())) {}

Result<std::unique_ptr<Workers>> Workers::start(const ThreadPoolOptions& options) {
  std::unique_ptr<Workers> workers(new Workers(options));
  const std::size_t threads = workers->limit();
  workers->helpers_.reserve(threads - 1);
  const cpu::ScopedSignalBlock signals;  // inherited by the threads
  for (std::size_t thread = 1; thread < threads; ++thread) {
    try {
      workers->helpers_.emplace_back([self = workers.get(), thread] { self->help(thread); });
    } catch (const std::system_error& error) {
      return make_error(ErrorCode::resource_exhausted, "thread {} of {} could not be started: {}", thread + 1, threads,
                        error.what());
    }
  }
  return workers;
}

Workers::~Workers() {
  stopping_.store(true);
  wake(work_);
  wake(wider_);
  for (std::thread& helper : helpers_) helper.join();
}

// Keeps the core for a while, then gives it up. Returns how long it took.
template <typename Condition>
Workers::Clock::duration Workers::wait_until(Condition condition, std::condition_variable& news,
                                             std::atomic<std::size_t>& sleepers) noexcept {
  const Clock::time_point begin = Clock::now();
  bool there = false;
  do {
    there = spin_briefly(condition);
  } while (!there && Clock::now() < begin + spin_);
  if (!there) sleep_until(condition, news, sleepers);
  return Clock::now() - begin;
}

template <typename Condition>
void Workers::sleep_until(Condition condition, std::condition_variable& news,
                          std::atomic<std::size_t>& sleepers) noexcept {
  std::unique_lock lock(mutex_);
  sleeps_and_wakes_.fetch_add(1, std::memory_order_relaxed);
  sleepers.fetch_add(1);
  news.wait(lock, condition);
  sleepers.fetch_sub(1);
}

// Taking the mutex makes sure that whoever is about to sleep either does, and is woken, or still looks again.
void Workers::wake(std::condition_variable& news) noexcept {
  sleeps_and_wakes_.fetch_add(1, std::memory_order_relaxed);
  { const std::lock_guard lock(mutex_); }
  news.notify_all();
}

// False if this thread holds the pool already.
bool Workers::enter(std::size_t rows) noexcept {
  const std::thread::id self = std::this_thread::get_id();
  if (helpers_.empty() || holder_.load(std::memory_order_relaxed) == self) return false;
  const std::uint64_t ticket = next_ticket_.fetch_add(1, std::memory_order_relaxed);
  const auto served = [&] { return serving_.load() == ticket; };
  if (!served()) wait_until(served, turn_, waiting_turns_);
  holder_.store(self, std::memory_order_relaxed);
  choose_width(rows);
  if (observed_ != nullptr) {
    stalled_.store(0, std::memory_order_relaxed);
    turn_begin_ = Clock::now();
  }
  return true;
}

void Workers::leave() noexcept {
  const Clock::duration elapsed = observed_ != nullptr ? Clock::now() - turn_begin_ : Clock::duration();
  end_beside();
  // A turn that lent a helper for long says nothing about how many its runs should have.
  if (observed_ != nullptr && std::chrono::nanoseconds(spent_beside_.load()) <= elapsed / 32) {
    const std::chrono::nanoseconds stalled(stalled_.load(std::memory_order_relaxed));
    observed_->observe(elapsed, stalled / static_cast<int>(width()));
  }
  holder_.store(std::thread::id(), std::memory_order_relaxed);
  serving_.fetch_add(1);
  if (waiting_turns_.load() > 0) wake(turn_);
}

// A turn like no other keeps the width of the last: the LM head that of its step.
void Workers::choose_width(std::size_t rows) noexcept {
  const std::size_t most = limit();
  std::size_t chosen = width();
  if (widths_.front().most() != most) {
    std::fill(widths_.begin(), widths_.end(), PoolWidth(most));
    chosen = most;
  }
  observed_ = nullptr;
  if (narrow_ && rows != 0) {
    observed_ = &widths_[std::min<std::size_t>(std::bit_width(rows), widths_.size()) - 1];
    chosen = observed_->width();
  }
  if (chosen == width()) return;
  width_.store(chosen);
  if (parked_helpers_.load() > 0) wake(wider_);
}

std::size_t Workers::queued() const noexcept {
  const std::uint64_t serving = serving_.load();
  const std::uint64_t next = next_ticket_.load();
  return next > serving ? static_cast<std::size_t>(next - serving - 1) : 0;
}

void Workers::begin_beside(const BesideWork& beside) noexcept {
  spent_beside_.store(0, std::memory_order_relaxed);
  if (beside.tasks == 0 || width() == 1) return;
  beside_.end = beside.tasks;
  beside_.stride = 1;
  beside_.function = beside.function;
  unfinished_beside_.store(beside.tasks, std::memory_order_relaxed);
  beside_.unclaimed.store(static_cast<std::int64_t>(beside.tasks));
}

void Workers::end_beside() noexcept {
  const auto finished = [&] { return unfinished_beside_.load() == 0; };
  if (finished()) return;
  const std::int64_t unclaimed = beside_.unclaimed.exchange(0);
  if (unclaimed > 0) unfinished_beside_.fetch_sub(static_cast<std::size_t>(unclaimed));
  if (!finished()) wait_until(finished, finished_, waiting_runs_);
}

void Workers::run_in_turn(std::size_t tiles, TileFunction function) noexcept {
  if (tiles <= 1 || width() == 1) {
    for (std::size_t tile = 0; tile < tiles; ++tile) function(tile, 0);
    return;
  }
  unfinished_.store(tiles, std::memory_order_relaxed);
  deal(tiles, function);
  if (idle_helpers_.load() > 0) wake(work_);

  function(0, 0);  // the caller's without a claim: should it lose its core now, others see that they wait for it
  const std::size_t done = 1 + work(0);
  if (unfinished_.fetch_sub(done, std::memory_order_acq_rel) == done) return;
  const auto finished = [&] { return unfinished_.load() == 0; };
  if (spin_briefly(finished)) return;
  count_stall(wait_until(finished, finished_, waiting_runs_));
}

// Deals the tiles out in turn, so that each thread meets the first ones first; tile 0 is the caller's already. What is
// read after a claim is written before the first word that others watch, so that the cache lines travel together.
void Workers::deal(std::size_t tiles, TileFunction function) noexcept {
  const std::size_t sharing = std::min(width(), tiles);
  const auto count = [&](std::size_t thread) { return (tiles - 1 - thread) / sharing + 1; };
  for (std::size_t thread = 0; thread < sharing; ++thread) {
    Share& share = shares_[thread];
    share.end = thread + sharing * count(thread);
    share.stride = sharing;
    share.function = function;
  }
  for (std::size_t thread = 0; thread < sharing; ++thread) {
    shares_[thread].unclaimed.store(static_cast<std::int64_t>(count(thread)) - (thread == 0 ? 1 : 0));
  }
}

void Workers::count_stall(Clock::duration waited) noexcept {
  stalled_.fetch_add(std::chrono::nanoseconds(waited).count(), std::memory_order_relaxed);
}

// Works until no tile is left to claim; returns how many it finished.
std::size_t Workers::work(std::size_t thread) noexcept {
  std::size_t done = 0;
  for (std::size_t i = 0; i < shares_.size(); ++i) done += take_all(shares_[(thread + i) % shares_.size()], thread);
  return done;
}

void Workers::help_beside(std::size_t thread) noexcept {
  if (beside_.unclaimed.load(std::memory_order_relaxed) <= 0) return;
  const Clock::time_point begin = Clock::now();
  const std::size_t done = take_all(beside_, thread);
  if (done == 0) return;
  spent_beside_.fetch_add(std::chrono::nanoseconds(Clock::now() - begin).count(), std::memory_order_relaxed);
  count_down(unfinished_beside_, done);
}

std::size_t Workers::take_all(Share& share, std::size_t thread) noexcept {
  std::size_t done = 0;
  while (share.unclaimed.load(std::memory_order_relaxed) > 0) {
    const std::int64_t left = share.unclaimed.fetch_sub(1, std::memory_order_acquire);
    if (left <= 0) break;
    share.function(share.end - static_cast<std::size_t>(left) * share.stride, thread);
    ++done;
  }
  return done;
}

void Workers::count_down(std::atomic<std::size_t>& unfinished, std::size_t done) noexcept {
  if (done > 0 && unfinished.fetch_sub(done) == done && waiting_runs_.load() > 0) wake(finished_);
}

void Workers::help(std::size_t thread) noexcept {
  const ScopedFloatMode mode;
  const auto parked = [&] { return thread >= width_.load(); };
  const auto stopping = [&] { return stopping_.load(); };
  while (!stopping()) {
    if (parked()) {
      sleep_until([&] { return !parked() || stopping(); }, wider_, parked_helpers_);
      continue;
    }
    const auto needed = [&] {
      return shares_[thread].unclaimed.load() > 0 || beside_.unclaimed.load() > 0 || stopping();
    };
    if (!spin_briefly(needed)) {
      const bool others_work = unfinished_.load() > 0;
      const std::uint64_t turn = serving_.load();
      const Clock::duration waited = wait_until(needed, work_, idle_helpers_);
      if (others_work && serving_.load() == turn) count_stall(waited);
    }
    help_beside(thread);
    count_down(unfinished_, work(thread));
  }
}

ThreadPool::ThreadPool(std::unique_ptr<Workers> workers) : workers_(std::move(workers)) {}
ThreadPool::~ThreadPool() = default;

std::size_t ThreadPool::threads() const noexcept { return workers_->threads(); }
std::size_t ThreadPool::thread_limit() const noexcept { return workers_->limit(); }

Result<void> ThreadPool::set_thread_limit(int threads) {
  return guarded([&]() -> Result<void> {
    if (threads < 1 || static_cast<std::size_t>(threads) > workers_->threads()) {
      return make_error(ErrorCode::invalid_argument, "thread limit = {} is not in [1, {}]", threads,
                        workers_->threads());
    }
    workers_->set_limit(static_cast<std::size_t>(threads));
    return {};
  });
}

Result<std::shared_ptr<ThreadPool>> ThreadPool::create(const ThreadPoolOptions& options) {
  return guarded([&]() -> Result<std::shared_ptr<ThreadPool>> {
    constexpr std::chrono::microseconds kMaxSpin = std::chrono::seconds(1);
    const int max_threads = std::max(1024, 4 * static_cast<int>(std::thread::hardware_concurrency()));
    if (options.threads < 0 || options.threads > max_threads) {
      return make_error(ErrorCode::invalid_argument, "threads = {} is not in [0, {}]", options.threads, max_threads);
    }
    if (options.spin.count() < 0 || options.spin > kMaxSpin) {
      return make_error(ErrorCode::invalid_argument, "spin = {} us is not in [0, {}]", options.spin.count(),
                        kMaxSpin.count());
    }
    ThreadPoolOptions resolved = options;
    if (resolved.threads == 0) resolved.threads = static_cast<int>(cpu::usable_cores());
    RILL_ASSIGN(std::unique_ptr<Workers> workers, Workers::start(resolved));
    return std::shared_ptr<ThreadPool>(new ThreadPool(std::move(workers)));
  });
}

}  // namespace rill
