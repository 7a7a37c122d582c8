// Many requests on one model: continuous batching, step by step in the caller's hands or on a thread of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "rill/export.h"
#include "rill/kv_plan.h"
#include "rill/kv_pool.h"
#include "rill/metrics.h"
#include "rill/model.h"
#include "rill/prefix_cache.h"
#include "rill/request.h"
#include "rill/result.h"
#include "rill/scheduler_metrics.h"
#include "rill/ticket.h"

namespace rill {

namespace schedule {
class Engine;
}

// What a forward pass computes.
struct PassShape {
  std::size_t decode_rows = 0;   // tokens of answers
  std::size_t prefill_rows = 0;  // tokens of prompts
  std::size_t head_rows = 0;     // rows of logits
  std::uint64_t attended = 0;    // tokens that the rows look back at, all together
};

enum class Admission : std::uint8_t {
  // A request is admitted when the pool has room for all that it may ever need: it cannot be stopped for want of memory.
  guaranteed,
  // When the pool has room for its prompt. Where it runs out later, or a request of higher priority comes, whoever
  // is last (lowest priority, then latest arrival) gives its pages up and goes on, with the same bits, when there is room
  // again. One scheduler of a pool at most (invalid_argument): of two, each could hold what the other waits for.
  overcommit,
};

// Where the keys and values of preempted answers may be kept; without room they are computed again, and also where
// that is quicker.
struct SwapOptions {
  std::uint64_t memory_bytes = 0;
  std::uint64_t file_bytes = 0;          // of a temporary file: without a name, for this process alone, gone with it
  std::filesystem::path directory = {};  // of that file; empty: the system's for temporary files
};

struct SchedulerOptions {
  std::size_t context_tokens = 0;   // window of each request; 0: the model's context_length
  KvType kv_type = KvType::f16;
  // Where keys and values are kept, with sessions and other schedulers of the model; null: a pool of its own, without
  // limit. invalid_argument: it is another model's, or its kv_type is another.
  std::shared_ptr<KvPool> kv_pool = nullptr;
  // Prompts with a domain go on from what others of it have computed. kv_pool may be null, or must be its pool.
  std::shared_ptr<PrefixCache> prefix_cache = nullptr;
  Admission admission = Admission::guaranteed;
  SwapOptions swap = {};            // with overcommit
  std::size_t rollback_reserve = 64;  // as SessionOptions::rollback_reserve
  // Answers in one pass. 0: as many windows of context_tokens as the pool's budget guarantees (rill/kv_plan.h), but from 8, as
  // requests may need less than a window and that many share one read of the weights for little more than the price of
  // one, up to 32, beyond which more of them only make each wait longer (docs/performance.md); 32 without a budget.
  std::size_t max_sequences = 0;
  std::size_t max_queue = 1024;     // requests that wait to be admitted
  std::size_t prefill_chunk = 256;  // most tokens of prompts in one pass
  // Decodes go first; what they leave of this time prompts get, a piece at a time. Absent: prefill_chunk alone bounds
  // a pass. A pass takes at least 8 tokens of prompts, so that they get on even where decodes need all the time.
  std::optional<Duration> tpot_target = std::nullopt;
  // Prompts that would miss it go first within their priority, and may take half as much again of a pass.
  std::optional<Duration> ttft_target = std::nullopt;
  Clock clock = steady_now;
  // What a pass takes. Absent: measured by a few passes in create(), and by every pass from then on, where a target or swapping
  // needs it.
  std::function<Duration(const PassShape&)> cost_model = nullptr;
};

struct StepReport {
  std::size_t decoded = 0;     // answers in the pass
  std::size_t prefilled = 0;   // tokens of prompts in the pass
  std::size_t generated = 0;   // tokens chosen
  std::size_t admitted = 0;    // answers
  std::size_t preempted = 0;
  std::size_t finished = 0;
  std::size_t running = 0;     // after the step
  std::size_t queued = 0;
  Duration duration{};

  bool idle() const { return running == 0 && queued == 0; }
  bool progress() const { return decoded + prefilled + generated + admitted + preempted + finished > 0; }
};

// Every answer has the bits that it has alone, whatever else is scheduled. A request that fails ends alone. submit(),
// metrics() and all of Ticket are thread-safe; step() and run_until_idle() are for one thread at a time. Processors,
// samplers and callbacks of requests run inside step(), LogitsProcessor::prepare() on any thread of the pool. Move-only;
// destroying it cancels what has not ended.
class RILL_EXPORT Scheduler {
 public:
  // invalid_argument names the option.
  static Result<Scheduler> create(std::shared_ptr<const Model> model, SchedulerOptions options = {});

  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;
  ~Scheduler();

  // Tokenises on the calling thread and queues the request. Refused are, besides what Session::generate refuses (a prompt and
  // max_tokens that do not fit the window: context_full with the numbers), requests that could never be admitted and
  // those for which the queue has no room (resource_exhausted, with the numbers).
  Result<Ticket> submit(Request request);

  // Admits what it can, computes one pass, and chooses the tokens that follow from it. Steps without work return at
  // once. busy: inside another step. Errors of single requests are theirs: see Ticket::result().
  Result<StepReport> step();
  // Until every request has ended. resource_exhausted: what waits needs pages that others than this scheduler hold.
  Result<void> run_until_idle();

  SchedulerMetrics metrics() const;
  const SchedulerOptions& options() const;  // as resolved

 private:
  friend class BackgroundScheduler;
  explicit Scheduler(std::shared_ptr<schedule::Engine> engine);
  std::shared_ptr<schedule::Engine> engine_;
};

// A Scheduler on a thread of its own: the one type of rill that runs the caller's code (processors, samplers, on_ready) on
// another thread than the caller's. The thread sleeps while there is nothing to do. Where steps fail again and again (a
// cost_model that throws), every request ends with that error. Thread-safe.
class RILL_EXPORT BackgroundScheduler {
 public:
  static Result<BackgroundScheduler> create(std::shared_ptr<const Model> model, SchedulerOptions options = {});

  BackgroundScheduler(BackgroundScheduler&&) noexcept;
  BackgroundScheduler& operator=(BackgroundScheduler&&) noexcept;
  ~BackgroundScheduler();  // as stop()

  Result<Ticket> submit(Request request);
  SchedulerMetrics metrics() const;
  // Cancels what has not ended, and waits for the thread. Later requests are refused (cancelled). Not from a callback.
  void stop();

 private:
  struct Thread;
  explicit BackgroundScheduler(std::unique_ptr<Thread> thread);
  std::unique_ptr<Thread> thread_;
};

}  // namespace rill
