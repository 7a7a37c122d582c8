// The scheduler: who is admitted, what a pass computes, and what becomes of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "model/forward.h"
#include "rill/scheduler.h"
#include "schedule/batch_head.h"
#include "schedule/cost_model.h"
#include "schedule/sequence.h"
#include "schedule/step_plan.h"
#include "schedule/swap_store.h"

namespace rill::schedule {

inline constexpr std::size_t kDraftRows = 16;  // of a pass with guesses: beyond that a row is no longer nearly free

// A sequence that grows to `tokens`, as passes let it.
inline KvSequence growth(const SchedulerOptions& options, std::size_t tokens) {
  return {tokens, std::max(options.prefill_chunk, 1 + kDraftRows), options.rollback_reserve};
}

// That it may hold at its worst moment.
std::size_t pages_of(const SchedulerOptions& options, std::size_t tokens);

// submit() and metrics() are thread-safe, the others are for one thread at a time.
class Engine {
 public:
  static Result<std::shared_ptr<Engine>> create(std::shared_ptr<const Model> model, SchedulerOptions options);
  Engine(std::shared_ptr<const Model> model, SchedulerOptions options, model::Forward forward, SwapStore swap);
  ~Engine();

  Result<Ticket> submit(Request request);
  Result<StepReport> step();
  Result<void> run_until_idle();
  // Ends everything with `error`.
  void fail_all(const Error& error) noexcept;
  // Ends everything as cancelled, and refuses what comes later.
  void close();

  SchedulerMetrics metrics() const;
  const SchedulerOptions& options() const { return options_; }

 private:
  // What a sequence has in the pass.
  struct Item {
    Sequence* sequence;
    std::size_t count;                   // of its missing tokens
    bool decode = false;                 // the token that was chosen last
    std::span<const Token> drafts = {};
    Duration took{};                     // of the pass that computed it
    bool computed = false;
    bool unwanted = false;               // any more

    std::size_t rows() const { return count + drafts.size(); }
  };

  Result<void> check(const Request& request) const;
  Result<void> check_queue() const;
  Result<SequencePtr> make_sequences(Request request, std::vector<Token> prompt, Duration submitted);
  Result<Ticket> enqueue(SequencePtr first);

  Result<StepReport> run_step();
  void take_inbox();
  void drop_unwanted(std::vector<SequencePtr>& sequences);
  // Pages.
  std::size_t most_tokens(const session::GenerationState& generation) const;
  std::size_t pages_of(std::size_t tokens) const { return schedule::pages_of(options_, tokens); }
  std::size_t follower_pages(const session::GenerationState& generation) const;
  Result<void> check_fits(const Sequence& first) const;
  Result<bool> make_room(Sequence& sequence) const;
  bool reserve(Sequence& first);
  bool reserve(Sequence& first, std::size_t shared);
  bool has_room(const Sequence& sequence) const;
  void admit();
  bool admit(Sequence& first);
  bool resume(Sequence& sequence);
  void make_way(const Sequence& sequence);
  bool take_pages(Sequence& sequence, std::size_t count);
  void preempt(Sequence& sequence);
  bool worth_swapping(const Sequence& sequence) const;
  void set_preempted_aside();
  void plan();
  void plan_decodes();
  void plan_prompts();
  void compute();
  Result<void> compute_together(std::span<Item> items);
  void account(const Item& item);
  void choose();
  void split(Sequence& first);
  void choose_next(Sequence& sequence, const LogitsSource& logits);
  void take_token(Sequence& sequence, const LogitsSource& logits);
  template <typename Take>
  void take_token(Sequence& sequence, std::uint64_t bytes_read, Take take);
  void deliver(Sequence& sequence, std::optional<Chunk> chunk);
  void finish(Sequence& sequence, FinishReason reason);
  void fail(Sequence& sequence, const Error& error);
  void end(Sequence& sequence);
  void remove_ended();
  void signal();
  void count_step(Duration duration);

  Duration now() const;
  Duration since_submit(const Sequence& sequence) const { return now() - sequence.submitted; }
  Duration cost(const PassShape& pass) const;

  std::shared_ptr<const Model> model_;
  SchedulerOptions options_;
  bool overcommits_ = false;  // the only one of its pool
  model::Forward forward_;
  mutable Duration last_now_{};
  BatchHead head_;
  CostModel cost_model_;
  std::atomic<bool> stepping_{false};
  std::atomic<std::uint64_t> last_id_{0};

  SwapStore swap_;  // outlives the sequences
  std::vector<SequencePtr> waiting_;  // both in the order of before()
  std::vector<SequencePtr> running_;
  std::vector<Item> items_;           // of this step
  std::vector<std::shared_ptr<TicketState>> to_signal_;
  std::size_t batch_ = 0;             // sequences in the pass
  PassShape pass_;
  double swap_seconds_per_byte_ = 2.5e-10;  // there and back; measured with each swap
  StepReport report_;

  mutable std::mutex mutex_;          // guards all below
  std::vector<SequencePtr> inbox_;
  std::size_t queued_requests_ = 0;   // not admitted yet
  bool closed_ = false;
  SchedulerMetrics metrics_;
};

}  // namespace rill::schedule
