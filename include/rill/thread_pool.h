// The threads that compute. A Model makes its own pool unless it is given one; several models may share one.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "rill/export.h"
#include "rill/result.h"

namespace rill {

class Workers;  // internal

struct ThreadPoolOptions {
  // Threads that work on one step, the calling one included. 0: one for each physical performance core that the process
  // may use (affinity, and the CPU quota of its control groups, are considered). At most 1024, or 4 for each CPU of the
  // machine where that is more.
  int threads = 0;
  // How long a thread that waits keeps its core before it sleeps: [0, 1 s]. A sleeping thread takes no CPU time, and
  // some 50 us to wake.
  std::chrono::microseconds spin{50};
  // While other programs keep cores busy, a step may use fewer threads, down to one, when that is measured to be
  // faster. It never changes results.
  bool narrow = true;
};

// Thread-safe. Concurrent steps of several sessions queue for the pool, first come first served. The threads block all
// signals, so that handlers run on the application's own.
class RILL_EXPORT ThreadPool {
 public:
  // invalid_argument: an option is out of its range. resource_exhausted: the system refused a thread; none is left
  // behind.
  static Result<std::shared_ptr<ThreadPool>> create(const ThreadPoolOptions& options = {});
  ~ThreadPool();

  std::size_t threads() const noexcept;  // as resolved, at least 1

  // The most threads that a step uses, of threads(), which is what it is at first: fewer leave cores to the
  // application. Holds from the next step of any session (a chunk of a long prompt is one). invalid_argument outside
  // [1, threads()].
  Result<void> set_thread_limit(int threads);
  std::size_t thread_limit() const noexcept;

  Workers& workers() noexcept { return *workers_; }  // for the library itself

 private:
  explicit ThreadPool(std::unique_ptr<Workers> workers);

  std::unique_ptr<Workers> workers_;
};

}  // namespace rill
