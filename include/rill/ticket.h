// The receipt of a request: its answers as they grow.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "rill/export.h"
#include "rill/generation.h"
#include "rill/ledger.h"
#include "rill/result.h"

namespace rill {

namespace schedule {
class TicketState;
}

struct TicketChunk : Chunk {
  std::size_t completion = 0;  // of which answer
};

// Thread-safe; copies stand for the same request. When the last of them is destroyed nobody can see the answer any
// more, and the request is cancelled.
class RILL_EXPORT Ticket {
 public:
  explicit Ticket(std::shared_ptr<schedule::TicketState> state);

  std::uint64_t id() const;  // from 1, greater than those of requests submitted before
  std::size_t completions() const;

  // What has been generated since the last call, a step at a time, or nothing right now.
  std::optional<TicketChunk> try_next();
  // Waits until try_next() has something to give or finished() holds; false if the deadline came first. Somebody else
  // must be running the scheduler meanwhile.
  bool wait(std::chrono::steady_clock::time_point deadline) const;
  void wait() const;
  // Calls `signal` after each step that brought something or ended the request, and now if there is anything already.
  // On the thread that runs the scheduler, between steps: it may wake somebody, and call what is thread-safe, cancel()
  // included; whatever else it does holds up all requests. What it throws is dropped. Replaces the one before.
  void on_ready(std::function<void()> signal);

  // Ends the request as FinishReason::cancelled, within one step; a pass that is mostly for it is broken off before its next
  // layer, and computed again for the others. What it held is free then. May be called at any time, from callbacks and processors
  // too.
  void cancel();

  bool finished() const;  // all its answers have ended
  // How an answer ended, or `busy` while it has not. Errors are its own: resource_exhausted, non_finite, what a processor
  // of its chain reported. invalid_argument: there is no such completion.
  Result<GenerationResult> result(std::size_t completion = 0) const;
  // So far. invalid_argument: there is no such completion.
  Result<Ledger> ledger(std::size_t completion = 0) const;

 private:
  struct Holder;
  std::shared_ptr<Holder> holder_;
};

}  // namespace rill
