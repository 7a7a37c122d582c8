// What a request and the scheduler share: its answers so far, and whether anybody still wants them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "rill/ticket.h"
#include "schedule/ledger_book.h"

namespace rill::schedule {

// Thread-safe.
class TicketState {
 public:
  // `tokenize`: what submit() has taken so far.
  TicketState(std::uint64_t id, std::size_t completions, std::size_t prompt_tokens, Duration tokenize);

  std::uint64_t id() const { return id_; }
  std::size_t completions() const { return completions_.size(); }

  void cancel() noexcept { cancelled_.store(true, std::memory_order_release); }
  bool cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }

  std::optional<TicketChunk> try_next();
  bool wait(std::optional<std::chrono::steady_clock::time_point> deadline) const;
  void on_ready(std::function<void()> signal);
  bool finished() const;
  Result<GenerationResult> result(std::size_t completion) const;
  Result<Ledger> ledger(std::size_t completion) const;

  // The scheduler's side.
  template <typename Change>
  void change_ledger(std::size_t completion, Change change) {
    const std::lock_guard lock(mutex_);
    change(completions_[completion].book);
  }
  void push(std::size_t completion, Chunk chunk);
  void end(std::size_t completion, Result<GenerationResult> result);
  // Outside of all locks, after what was pushed or ended since the last call.
  void signal();

 private:
  struct Completion {
    std::optional<Result<GenerationResult>> result;
    LedgerBook book;
  };

  Result<void> check(std::size_t completion) const;
  bool something_new() const { return !chunks_.empty() || ended_ == completions_.size(); }

  const std::uint64_t id_;
  std::atomic<bool> cancelled_{false};
  mutable std::mutex mutex_;  // guards all below
  mutable std::condition_variable news_;
  std::vector<Completion> completions_;
  std::size_t ended_ = 0;
  std::deque<TicketChunk> chunks_;
  bool signal_due_ = false;
  std::shared_ptr<const std::function<void()>> signal_;
};

}  // namespace rill::schedule
