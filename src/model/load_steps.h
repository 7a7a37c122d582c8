// What a load does in small steps: on all threads, with progress and cancellation in between.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "rill/log.h"
#include "rill/result.h"
#include "rill/stop_token.h"

namespace rill {
class ThreadPool;
}

namespace rill::model {

struct LoadControl {
  ThreadPool* pool = nullptr;
  std::function<void(double)> progress;  // called with fractions below 1
  StopToken stop;
  LogSink log;
};

// One thread at a time: the loading thread, on which `progress` is called.
class LoadSteps {
 public:
  // `name` is what errors call the file.
  LoadSteps(const LoadControl& control, std::string name) : control_(control), name_(std::move(name)) {}

  std::size_t threads() const;
  // Counts on `steps` more. Progress never decreases, whatever is added later.
  void expect(std::size_t steps) { expected_ += steps; }

  // work(step, thread) for every step, on all threads of the pool. The first error ends it.
  using Work = std::function<Result<void>(std::size_t step, std::size_t thread)>;
  Result<void> run(std::size_t steps, const Work& work);
  // `steps` were done elsewhere. `cancelled` if the stop token says so.
  Result<void> advance(std::size_t steps);

 private:
  const LoadControl& control_;
  const std::string name_;
  std::size_t expected_ = 0;
  std::size_t done_ = 0;
  double reported_ = 0;
};

}  // namespace rill::model
