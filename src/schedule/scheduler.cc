#include "rill/scheduler.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/cpu.h"
#include "base/error.h"
#include "schedule/engine.h"

namespace rill {

Scheduler::Scheduler(std::shared_ptr<schedule::Engine> engine) : engine_(std::move(engine)) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

Result<Scheduler> Scheduler::create(std::shared_ptr<const Model> model, SchedulerOptions options) {
  return guarded([&]() -> Result<Scheduler> {
    RILL_ASSIGN(auto engine, schedule::Engine::create(std::move(model), std::move(options)));
    return Scheduler(std::move(engine));
  });
}

Result<Ticket> Scheduler::submit(Request request) { return engine_->submit(std::move(request)); }
Result<StepReport> Scheduler::step() { return engine_->step(); }
Result<void> Scheduler::run_until_idle() { return engine_->run_until_idle(); }
SchedulerMetrics Scheduler::metrics() const { return engine_->metrics(); }
const SchedulerOptions& Scheduler::options() const { return engine_->options(); }

struct BackgroundScheduler::Thread {
  explicit Thread(std::shared_ptr<schedule::Engine> shared) : engine(std::move(shared)) {
    const cpu::ScopedSignalBlock signals;  // inherited by the thread
    thread = std::thread([this] { run(); });
  }
  ~Thread() { stop(); }

  void run() {
    for (int failures = 0;;) {
      const auto report = engine->step();
      failures = report ? 0 : failures + 1;
      if (failures == kMostFailures) engine->fail_all(report.error());
      std::unique_lock lock(mutex);
      if (stopping) break;
      const auto woken = [this] { return stopping || std::exchange(submitted, false); };
      if (report && report->idle()) {
        news.wait(lock, woken);
      } else if (!report || !report->progress()) {
        news.wait_for(lock, kPause, woken);  // pages or memory that others hold
      }
      if (stopping) break;
    }
    engine->close();
  }

  void wake() {
    {
      const std::lock_guard lock(mutex);
      submitted = true;
    }
    news.notify_one();
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    news.notify_one();
    const std::lock_guard lock(join_mutex);
    if (thread.joinable()) thread.join();
  }

  static constexpr std::chrono::milliseconds kPause{1};
  static constexpr int kMostFailures = 100;  // steps in a row; memory may come back, an option that throws does not change

  std::shared_ptr<schedule::Engine> engine;
  std::mutex mutex;
  std::condition_variable news;
  bool submitted = false;
  bool stopping = false;
  std::mutex join_mutex;
  std::thread thread;
};

BackgroundScheduler::BackgroundScheduler(std::unique_ptr<Thread> thread) : thread_(std::move(thread)) {}
BackgroundScheduler::BackgroundScheduler(BackgroundScheduler&&) noexcept = default;
BackgroundScheduler& BackgroundScheduler::operator=(BackgroundScheduler&&) noexcept = default;
BackgroundScheduler::~BackgroundScheduler() = default;

Result<BackgroundScheduler> BackgroundScheduler::create(std::shared_ptr<const Model> model, SchedulerOptions options) {
  return guarded([&]() -> Result<BackgroundScheduler> {
    RILL_ASSIGN(auto engine, schedule::Engine::create(std::move(model), std::move(options)));
    return BackgroundScheduler(std::make_unique<Thread>(std::move(engine)));
  });
}

Result<Ticket> BackgroundScheduler::submit(Request request) {
  auto ticket = thread_->engine->submit(std::move(request));
  thread_->wake();
  return ticket;
}

SchedulerMetrics BackgroundScheduler::metrics() const { return thread_->engine->metrics(); }
void BackgroundScheduler::stop() { thread_->stop(); }

}  // namespace rill
