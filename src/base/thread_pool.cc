#include "base/thread_pool.h"

#include <algorithm>
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

}  // namespace

Result<std::unique_ptr<Workers>> Workers::start(std::size_t threads, std::chrono::microseconds spin) {
  std::unique_ptr<Workers> workers(new Workers(spin));
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
  for (std::thread& helper : helpers_) helper.join();
}

// Waits for a moment without giving up the core.
template <typename Condition>
bool Workers::spin_until(Condition condition) const noexcept {
  std::chrono::steady_clock::time_point deadline{};
  do {
    for (int i = 0; i < 64; ++i) {
      if (condition()) return true;
      pause();
    }
    const auto now = std::chrono::steady_clock::now();
    if (deadline == std::chrono::steady_clock::time_point{}) deadline = now + spin_;
    if (now >= deadline) return false;
  } while (true);
}

// Taking the mutex makes sure that whoever is about to sleep either does, and is woken, or still looks again.
void Workers::wake(std::condition_variable& sleeping) noexcept {
  { const std::lock_guard lock(mutex_); }
  sleeping.notify_all();
}

// False if this thread holds the pool already.
bool Workers::enter() noexcept {
  const std::thread::id self = std::this_thread::get_id();
  if (helpers_.empty() || holder_.load(std::memory_order_relaxed) == self) return false;
  const std::uint64_t ticket = next_ticket_.fetch_add(1, std::memory_order_relaxed);
  const auto served = [&] { return serving_.load() == ticket; };
  if (!spin_until(served)) {
    std::unique_lock lock(mutex_);
    waiting_turns_.fetch_add(1);
    turn_.wait(lock, served);
    waiting_turns_.fetch_sub(1);
  }
  holder_.store(self, std::memory_order_relaxed);
  return true;
}

void Workers::leave() noexcept {
  holder_.store(std::thread::id(), std::memory_order_relaxed);
  serving_.fetch_add(1);
  if (waiting_turns_.load() > 0) wake(turn_);
}

std::size_t Workers::queued() const noexcept {
  const std::uint64_t serving = serving_.load();
  const std::uint64_t next = next_ticket_.load();
  return next > serving ? static_cast<std::size_t>(next - serving - 1) : 0;
}

void Workers::run_in_turn(std::size_t tiles, TileFunction function) noexcept {
  if (tiles <= 1 || helpers_.empty()) {
    for (std::size_t tile = 0; tile < tiles; ++tile) function(tile, 0);
    return;
  }
  tiles_ = tiles;
  function_ = function;
  unfinished_.store(tiles, std::memory_order_relaxed);
  unclaimed_.store(static_cast<std::int64_t>(tiles));
  if (idle_helpers_.load() > 0) wake(work_);

  const std::size_t done = work(0);
  if (unfinished_.fetch_sub(done, std::memory_order_acq_rel) == done) return;
  const auto finished = [&] { return unfinished_.load() == 0; };
  if (spin_until(finished)) return;
  std::unique_lock lock(mutex_);
  waiting_runs_.store(1);
  finished_.wait(lock, finished);
  waiting_runs_.store(0);
}

// Works until no tile is left to claim; returns how many it finished.
std::size_t Workers::work(std::size_t thread) noexcept {
  std::size_t done = 0;
  while (unclaimed_.load(std::memory_order_relaxed) > 0) {
    const std::int64_t left = unclaimed_.fetch_sub(1, std::memory_order_acquire);
    if (left <= 0) break;
    function_(tiles_ - static_cast<std::size_t>(left), thread);
    ++done;
  }
  return done;
}

void Workers::help(std::size_t thread) noexcept {
  const ScopedFloatMode mode;
  const auto needed = [&] { return unclaimed_.load() > 0 || stopping_.load(); };
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (!spin_until(needed)) {
      std::unique_lock lock(mutex_);
      idle_helpers_.fetch_add(1);
      work_.wait(lock, needed);
      idle_helpers_.fetch_sub(1);
    }
    const std::size_t done = work(thread);
    if (done > 0 && unfinished_.fetch_sub(done) == done && waiting_runs_.load() > 0) wake(finished_);
  }
}

ThreadPool::ThreadPool(std::unique_ptr<Workers> workers) : workers_(std::move(workers)) {}
ThreadPool::~ThreadPool() = default;

std::size_t ThreadPool::threads() const noexcept { return workers_->threads(); }

Result<std::shared_ptr<ThreadPool>> ThreadPool::create(const ThreadPoolOptions& options) {
  return guarded([&]() -> Result<std::shared_ptr<ThreadPool>> {
    constexpr std::chrono::microseconds kMaxSpin = std::chrono::seconds(1);
    const int max_threads = std::max(1024, 4 * static_cast<int>(std::thread::hardware_concurrency()));
    if (options.threads < 0 || options.threads > max_threads) {
      return make_error(ErrorCode::invalid_argument, "threads = {} is not in [0, {}]", options.threads, max_threads);
    }
    if (options.spin.count() < 0 || options.spin > kMaxSpin) {
      return make_error(ErrorCode::invalid_argument, "spin = {} us is not in [0, {}]", options.spin.count(), kMaxSpin.count());
    }
    const std::size_t threads = options.threads > 0 ? static_cast<std::size_t>(options.threads) : cpu::usable_cores();
    RILL_ASSIGN(std::unique_ptr<Workers> workers, Workers::start(threads, options.spin));
    return std::shared_ptr<ThreadPool>(new ThreadPool(std::move(workers)));
  });
}

}  // namespace rill
