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

// Thread-safe. Nothing is allocated after start.
class Workers {
 public:
  static Result<std::unique_ptr<Workers>> start(std::size_t threads, std::chrono::microseconds spin);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  std::size_t threads() const noexcept { return helpers_.size() + 1; }
  // Turns that were asked for while another was held; a moment's view.
  std::size_t queued() const noexcept;

  // Holds the pool for the runs of one step, which would otherwise alternate with those of another session and pay for a
  // change of hands each time. A turn inside another of the same thread is part of that. A tile must not ask for one.
  class Turn {
   public:
    explicit Turn(Workers& workers) noexcept : workers_(workers), outermost_(workers.enter()) {}
    ~Turn() {
      if (outermost_) workers_.leave();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    std::size_t threads() const noexcept { return workers_.threads(); }
    // Calls function(tile, thread) once for every tile in [0, tiles), in any order and on any thread, this one included,
    // and returns when all calls have returned; their writes are visible then.
    void run(std::size_t tiles, TileFunction function) noexcept { workers_.run_in_turn(tiles, function); }

   private:
    Workers& workers_;
    const bool outermost_;
  };

  // A turn of one run, or part of the turn that this thread holds.
  void run(std::size_t tiles, TileFunction function) noexcept { Turn(*this).run(tiles, function); }

 private:
  static constexpr std::size_t kLine = 64;  // bytes of a cache line

  explicit Workers(std::chrono::microseconds spin) : spin_(spin) {}

  bool enter() noexcept;
  void leave() noexcept;
  void run_in_turn(std::size_t tiles, TileFunction function) noexcept;
  std::size_t work(std::size_t thread) noexcept;
  void help(std::size_t thread) noexcept;
  template <typename Condition>
  bool spin_until(Condition condition) const noexcept;
  void wake(std::condition_variable& sleeping) noexcept;

  // Written when threads start and stop.
  const std::chrono::microseconds spin_;
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> helpers_;

  // The run. The one word that hands out tiles is also what idle threads watch. Whoever counts it down from n > 0 owns tile
  // tiles_ - n, whichever run that belongs to, and no run ends while a tile of it is owned: so tiles_ and function_, read
  // after the claim, are its own, and a thread that comes late to a run needs no waiting for.
  alignas(kLine) std::atomic<std::int64_t> unclaimed_{0};  // <= 0: nothing to do
  alignas(kLine) std::size_t tiles_ = 0;
  TileFunction function_;
  alignas(kLine) std::atomic<std::size_t> unfinished_{0};  // tiles

  // The queue of turns.
  alignas(kLine) std::atomic<std::uint64_t> next_ticket_{0};
  std::atomic<std::uint64_t> serving_{0};
  std::atomic<std::thread::id> holder_{};

  // Sleep. Who sleeps first counts itself, then looks once more; who has news first publishes, then looks at the counts: in
  // the one order of sequentially consistent operations, one of the two sees the other.
  alignas(kLine) std::atomic<std::size_t> idle_helpers_{0};
  std::atomic<std::size_t> waiting_runs_{0};
  std::atomic<std::size_t> waiting_turns_{0};
  std::mutex mutex_;
  std::condition_variable work_, finished_, turn_;
};

}  // namespace rill
