#include "model/load_steps.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/thread_pool.h"

namespace rill::model {

std::size_t LoadSteps::threads() const { return control_.pool->threads(); }

Result<void> LoadSteps::run(std::size_t steps, const Work& work) {
  constexpr std::size_t kStepsPerThread = 4;  // between two looks at the stop token
  std::mutex mutex;
  std::optional<Error> error;
  const std::size_t batch = kStepsPerThread * threads();
  for (std::size_t first = 0; first < steps; first += batch) {
    const std::size_t count = std::min(batch, steps - first);
    control_.pool->workers().run(count, [&](std::size_t i, std::size_t thread) noexcept {
      const auto done = guarded([&] { return work(first + i, thread); });
      if (done) return;
      const std::lock_guard lock(mutex);
      if (!error) error = done.error();
    });
    if (error) return *std::move(error);
    RILL_TRY(advance(count));
  }
  return {};
}

Result<void> LoadSteps::advance(std::size_t steps) {
  done_ += steps;
  // The last call of progress comes after the last step, so what is reported in between stays below 1.
  const double fraction = static_cast<double>(done_) / static_cast<double>(expected_ + 1);
  if (control_.progress && fraction > reported_) control_.progress(reported_ = fraction);
  if (control_.stop.stop_requested()) return make_error(ErrorCode::cancelled, "{}: loading was stopped", name_);
  return {};
}

}  // namespace rill::model
