// The inside of rill::ThreadPool: runs of fixed tiles, claimed by whoever is free.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/pool_width.h"
#include "rill/thread_pool.h"

namespace rill {

// Refers to a callable `void(std::size_t tile, std::size_t thread) noexcept`, which must outlive the run. thread <
// threads() tells apart those that work on a run, for scratch memory; the caller is 0.
class TileFunction {
 public:
  TileFunction() = default;
  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, TileFunction> &&
             std::is_nothrow_invocable_v<F&, std::size_t, std::size_t>)
  TileFunction(F&& function) noexcept
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, std::size_t tile, std::size_t thread) noexcept {
          (*static_cast<std::remove_reference_t<F>*>(object))(tile, thread);
        }) {}

  void operator()(std::size_t tile, std::size_t thread) const noexcept { call_(object_, tile, thread); }

 private:
  void* object_ = nullptr;
  void (*call_)(void*, std::size_t, std::size_t) noexcept = nullptr;
};

// Calls function(task, thread) that no run waits for: each at most once, by helpers, ahead of tiles; a run wakes those
// that sleep. All have returned when the turn ends, and what nobody has begun by then is not called; so nothing is in a
// turn of one thread, or inside another one.
struct BesideWork {
  std::size_t tasks = 0;
  TileFunction function = {};
};

// Thread-safe. Nothing is allocated after start.
class Workers {
 public:
  // options.threads is resolved.
  static Result<std::unique_ptr<Workers>> start(const ThreadPoolOptions& options);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  std::size_t threads() const noexcept { return helpers_.size() + 1; }
  std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  void set_limit(std::size_t threads) noexcept { limit_.store(threads, std::memory_order_relaxed); }  // [1, threads()]
  // How many threads share a run; constant within a turn.
  std::size_t width() const noexcept { return width_.load(std::memory_order_relaxed); }
  // Moments' views: turns that were asked for while another was held; how often a thread went to sleep or woke another,
  // the only times that a lock is taken or the system is called.
  std::size_t queued() const noexcept;
  std::uint64_t sleeps_and_wakes() const noexcept { return sleeps_and_wakes_.load(std::memory_order_relaxed); }

  // Holds the pool for the runs of one step, which would otherwise alternate with those of another session and pay for
  // a change of hands each time. A turn inside another of the same thread is part of that. A tile must not ask for one.
  // `rows` tells how much work a turn is, 0 that it is like no other: the time that turns of about as many rows take
  // decides how many threads they use while other programs want the cores.
  class Turn {
   public:
    explicit Turn(Workers& workers, std::size_t rows = 0, const BesideWork& beside = {}) noexcept
        : workers_(workers), outermost_(workers.enter(rows)) {
      if (outermost_) workers_.begin_beside(beside);
    }
    ~Turn() {
      if (outermost_) workers_.leave();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Calls function(tile, thread) once for every tile in [0, tiles), on any thread, this one included, and returns
    // when all calls have returned; their writes are visible then. Each of width() threads takes tiles in ascending
    // order, width() apart, and then what others have left: tiles of unequal length should come longest first.
    void run(std::size_t tiles, TileFunction function) noexcept { workers_.run_in_turn(tiles, function); }

   private:
    Workers& workers_;
    const bool outermost_;
  };

  // A turn of one run, or part of the turn that this thread holds.
  void run(std::size_t tiles, TileFunction function) noexcept { Turn(*this).run(tiles, function); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kLine = 64;  // bytes of a cache line

  explicit Workers(const ThreadPoolOptions& options);

  bool enter(std::size_t rows) noexcept;
  void leave() noexcept;
  void choose_width(std::size_t rows) noexcept;
  void begin_beside(const BesideWork& beside) noexcept;
  void end_beside() noexcept;
  void help_beside(std::size_t thread) noexcept;
  void run_in_turn(std::size_t tiles, TileFunction function) noexcept;
  void deal(std::size_t tiles, TileFunction function) noexcept;
  std::size_t work(std::size_t thread) noexcept;
  void help(std::size_t thread) noexcept;
  void count_stall(Clock::duration waited) noexcept;
  template <typename Condition>
  Clock::duration wait_until(Condition condition, std::condition_variable& news,
                             std::atomic<std::size_t>& sleepers) noexcept;
  template <typename Condition>
  void sleep_until(Condition condition, std::condition_variable& news, std::atomic<std::size_t>& sleepers) noexcept;
  void wake(std::condition_variable& news) noexcept;

  // Written when threads start and stop.
  const std::chrono::microseconds spin_;
  const bool narrow_;
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> helpers_;

  // A thread's share of the run: it watches its own while idle, and takes from others' when its own is done. Whoever
  // counts `unclaimed` down from n > 0 owns tile end - n * stride, whichever run that belongs to, and no run ends while
  // a tile of it is owned: so what it reads after the claim is its own, and a thread that comes late to a run needs no
  // waiting for.
  struct alignas(kLine) Share {
    std::atomic<std::int64_t> unclaimed{0};  // <= 0: nothing to do
    std::size_t end = 0;
    std::size_t stride = 0;
    TileFunction function;
  };
  static std::size_t take_all(Share& share, std::size_t thread) noexcept;
  void count_down(std::atomic<std::size_t>& unfinished, std::size_t done) noexcept;

  std::vector<Share> shares_;
  Share beside_;  // the same, for tasks of the turn
  std::atomic<std::size_t> unfinished_beside_{0};
  alignas(kLine) std::atomic<std::size_t> unfinished_{0};  // tiles

  // The queue of turns.
  alignas(kLine) std::atomic<std::uint64_t> next_ticket_{0};
  std::atomic<std::uint64_t> serving_{0};
  std::atomic<std::thread::id> holder_{};

  // The threads with an index below width_ work, the others are parked. What is not atomic belongs to the holder of the
  // turn.
  std::atomic<std::size_t> limit_;
  std::atomic<std::size_t> width_;
  std::vector<PoolWidth> widths_;  // for turns of 1 row, of 2 and 3, of 4 to 7, and so on
  PoolWidth* observed_ = nullptr;  // that of this turn, if there is one
  Clock::time_point turn_begin_;
  std::atomic<std::int64_t> spent_beside_{0};  // nanoseconds of this turn, of all helpers together
  std::atomic<std::int64_t> stalled_{0};  // nanoseconds of this turn that threads waited for others' tiles, added up

  // Sleep. Who sleeps first counts itself, then looks once more; who has news first publishes, then looks at the
  // counts: in the one order of sequentially consistent operations, one of the two sees the other.
  alignas(kLine) std::atomic<std::size_t> idle_helpers_{0};
  std::atomic<std::size_t> waiting_runs_{0};
  std::atomic<std::size_t> waiting_turns_{0};
  std::atomic<std::size_t> parked_helpers_{0};
  std::atomic<std::uint64_t> sleeps_and_wakes_{0};
  std::mutex mutex_;
  std::condition_variable work_, finished_, turn_, wider_;
};

}  // namespace rill
