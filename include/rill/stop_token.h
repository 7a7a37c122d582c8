// Cooperative cancellation: one StopSource, any number of StopTokens that poll it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <version>
#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

namespace rill {

// Polled by long calls (load, feed, generate, compile). A default-constructed token never stops. Thread-safe.
// std::stop_token is missing from some standard libraries; where it exists, it converts to this.
class StopToken {
 public:
  StopToken() = default;
  // Any other source of cancellation: true means stop. Must be thread-safe.
  explicit StopToken(std::function<bool()> poll) : poll_(std::move(poll)) {}
#if defined(__cpp_lib_jthread)
  StopToken(std::stop_token token) : poll_([token = std::move(token)] { return token.stop_requested(); }) {}
#endif

  bool stop_requested() const {
    return (flag_ && flag_->load(std::memory_order_acquire)) || (poll_ && poll_());
  }

 private:
  friend class StopSource;
  explicit StopToken(std::shared_ptr<const std::atomic<bool>> flag) : flag_(std::move(flag)) {}

  std::shared_ptr<const std::atomic<bool>> flag_;
  std::function<bool()> poll_;
};

// Thread-safe; copies share one flag. request_stop is lock-free, so a signal handler may call it.
class StopSource {
 public:
  StopSource() : flag_(std::make_shared<std::atomic<bool>>(false)) {}

  void request_stop() noexcept { flag_->store(true, std::memory_order_release); }
  bool stop_requested() const noexcept { return flag_->load(std::memory_order_acquire); }
  StopToken token() const { return StopToken(flag_); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

}  // namespace rill
