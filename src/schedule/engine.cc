#include "schedule/engine.h"

#include <algorithm>

#include "base/error.h"
#include "base/float_mode.h"
#include "session/prompt.h"

namespace rill::schedule {
namespace {

constexpr std::size_t kMostSequences = 1024;

Result<void> check_options(const SchedulerOptions& options) {
  if (options.max_sequences == 0 || options.max_sequences > kMostSequences) {
    return make_error(ErrorCode::invalid_argument, "max_sequences = {}, not in [1, {}]", options.max_sequences,
                      kMostSequences);
  }
  if (options.max_queue == 0) return make_error(ErrorCode::invalid_argument, "max_queue = 0");
  if (options.prefill_chunk < kLeastPrefill) {
    return make_error(ErrorCode::invalid_argument, "prefill_chunk = {}, less than {}", options.prefill_chunk,
                      kLeastPrefill);
  }
  for (const auto& [name, target] : {std::pair{"tpot_target", options.tpot_target}, {"ttft_target", options.ttft_target}}) {
    if (target && *target <= Duration::zero()) {
      return make_error(ErrorCode::invalid_argument, "{} = {} ns, not above 0", name, target->count());
    }
  }
  return {};
}

}  // namespace

std::size_t count_answers(const std::vector<SequencePtr>& sequences) {
  std::size_t count = 0;
  for (const SequencePtr& sequence : sequences) count += sequence->count();
  return count;
}

void insert_in_order(std::vector<SequencePtr>& sequences, SequencePtr sequence) {
  const auto place = std::upper_bound(sequences.begin(), sequences.end(), sequence,
                                      [](const SequencePtr& a, const SequencePtr& b) { return a->before(*b); });
  sequences.insert(place, std::move(sequence));
}

Result<std::shared_ptr<Engine>> Engine::create(std::shared_ptr<const Model> model, SchedulerOptions options) {
  if (model == nullptr) return make_error(ErrorCode::invalid_argument, "model is null");
  RILL_TRY(check_options(options));
  // A session says whether its options are good, and what they resolve to.
  RILL_ASSIGN(const auto session, session::SessionState::create(model, {.context_tokens = options.context_tokens,
                                                                       .kv_type = options.kv_type,
                                                                       .prefill_chunk = options.prefill_chunk,
                                                                       .rollback_reserve = options.rollback_reserve,
                                                                       .clock = options.clock}));
  options.context_tokens = session->options().context_tokens;
  RILL_ASSIGN(model::Forward forward, model::Forward::create(
      model->loaded(), options.prefill_chunk + options.max_sequences + kDraftRows));
  const bool measure = options.tpot_target && options.cost_model == nullptr;
  auto engine = std::make_shared<Engine>(std::move(model), std::move(options), std::move(forward));
  if (measure) {
    RILL_TRY(calibrate(engine->model_, engine->options_.kv_type, engine->options_.clock, engine->cost_model_));
  }
  return engine;
}

Engine::Engine(std::shared_ptr<const Model> model, SchedulerOptions options, model::Forward forward)
    : model_(std::move(model)), options_(std::move(options)), forward_(std::move(forward)), head_(model_->loaded()) {}

Result<void> Engine::check(const Request& request) const {
  if (request.completions == 0 || request.completions > options_.max_sequences) {
    return make_error(ErrorCode::invalid_argument, "completions = {}, not in [1, max_sequences = {}]",
                      request.completions, options_.max_sequences);
  }
  if (request.options.speculation.draft_session != nullptr) {
    return make_error(ErrorCode::invalid_argument, "speculation.draft_session: a scheduler takes prompt_lookup alone");
  }
  if (request.deadline && *request.deadline < Duration::zero()) {
    return make_error(ErrorCode::invalid_argument, "deadline = {} ns", request.deadline->count());
  }
  return {};
}

// With mutex_ held.
Result<void> Engine::check_queue() const {
  if (closed_) return make_error(ErrorCode::cancelled, "the scheduler has been stopped");
  if (queued_requests_ >= options_.max_queue) {
    return make_error(ErrorCode::resource_exhausted, "{} requests are waiting, max_queue is {}", queued_requests_,
                      options_.max_queue);
  }
  return {};
}

Result<Ticket> Engine::submit(Request request) {
  auto ticket = guarded([&]() -> Result<Ticket> {
    const Duration submitted = now();
    {
      const std::lock_guard lock(mutex_);
      RILL_TRY(check_queue());
    }
    RILL_TRY(check(request));
    std::vector<Token> prompt;
    if (auto* tokens = std::get_if<std::vector<Token>>(&request.prompt)) {
      prompt = std::move(*tokens);
    } else if (const auto* text = std::get_if<std::string>(&request.prompt)) {
      RILL_ASSIGN(prompt, session::encode_text(*model_, *text, request.options));
    } else {
      RILL_ASSIGN(prompt, session::encode_messages(*model_, std::get<std::vector<Message>>(request.prompt)));
    }
    RILL_ASSIGN(SequencePtr first, make_sequences(std::move(request), std::move(prompt), submitted));
    return enqueue(std::move(first));
  });
  if (!ticket) {
    const std::lock_guard lock(mutex_);
    ++metrics_.refused;
  }
  return ticket;
}

Result<SequencePtr> Engine::make_sequences(Request request, std::vector<Token> prompt, Duration submitted) {
  const Duration tokenize = now() - submitted;
  const auto ticket = std::make_shared<TicketState>(++last_id_, request.completions, prompt.size(), tokenize);
  const std::uint32_t first_index =
      request.options.chain ? request.options.chain->completion_index() : request.options.sampling.completion_index;
  SequencePtr first;
  for (std::size_t i = 0; i < request.completions; ++i) {
    GenerateOptions options = request.options;
    const std::uint32_t index = first_index + static_cast<std::uint32_t>(i);
    options.sampling.completion_index = index;
    if (options.chain) options.chain->set_completion_index(index);
    RILL_ASSIGN(auto session, session::SessionState::create(model_, {.context_tokens = options_.context_tokens,
                                                                    .kv_type = options_.kv_type,
                                                                    .prefill_chunk = options_.prefill_chunk,
                                                                    .rollback_reserve = options_.rollback_reserve,
                                                                    .clock = options_.clock}));
    auto sequence = std::make_unique<Sequence>();
    RILL_ASSIGN(sequence->generation, session::GenerationState::start(std::move(session), prompt, std::move(options),
                                                                      submitted, tokenize));
    sequence->ticket = ticket;
    sequence->completion = i;
    sequence->priority = request.priority;
    sequence->submitted = submitted;
    if (request.deadline) sequence->deadline = submitted + *request.deadline;
    if (first == nullptr) {
      first = std::move(sequence);
    } else {
      first->followers.push_back(std::move(sequence));
    }
  }
  return first;
}

Result<Ticket> Engine::enqueue(SequencePtr first) {
  Ticket ticket(first->ticket);
  const std::lock_guard lock(mutex_);
  RILL_TRY(check_queue());  // again: others came meanwhile
  inbox_.push_back(std::move(first));
  ++queued_requests_;
  ++metrics_.submitted;
  return ticket;
}

Result<StepReport> Engine::step() {
  if (stepping_.exchange(true, std::memory_order_acquire)) {
    return Error{ErrorCode::busy, "the scheduler is inside another step"};
  }
  auto report = guarded([&] { return run_step(); });
  stepping_.store(false, std::memory_order_release);
  return report;
}

Result<void> Engine::run_until_idle() {
  for (;;) {
    RILL_ASSIGN(const StepReport report, step());
    if (report.idle()) return {};
    if (!report.progress()) {
      return make_error(ErrorCode::resource_exhausted,
                        "{} answers wait for pages that are held outside of this scheduler", report.queued);
    }
  }
}

Result<StepReport> Engine::run_step() {
  const ScopedFloatMode float_mode;
  const Duration before = now();
  report_ = {};
  items_.clear();
  pass_ = {};
  take_inbox();
  drop_unwanted(waiting_);
  drop_unwanted(running_);
  remove_ended();
  admit();
  plan();
  compute();
  choose();
  remove_ended();
  report_.duration = now() - before;
  count_step(report_.duration);
  signal();
  return report_;
}

void Engine::take_inbox() {
  const std::lock_guard lock(mutex_);
  for (SequencePtr& sequence : inbox_) insert_in_order(waiting_, std::move(sequence));
  inbox_.clear();
}

void Engine::drop_unwanted(std::vector<SequencePtr>& sequences) {
  for (const SequencePtr& sequence : sequences) {
    if (sequence->unwanted()) {
      finish(*sequence, FinishReason::cancelled);
    } else if (sequence->deadline && now() >= *sequence->deadline) {
      finish(*sequence, FinishReason::deadline);
    }
  }
}

// In strict order, so that a large request is not passed by small ones for ever.
void Engine::admit() {
  std::size_t running = count_answers(running_);
  std::size_t admitted = 0;
  while (admitted < waiting_.size() && running + waiting_[admitted]->count() <= options_.max_sequences) {
    Sequence& first = *waiting_[admitted];
    running += first.count();
    report_.admitted += first.count();
    const auto start = [&](Sequence& sequence) {
      sequence.ticket->change_ledger(sequence.completion, [&](LedgerBook& book) {
        book.enter(Phase::prefill, since_submit(sequence));
      });
    };
    start(first);
    for (const SequencePtr& follower : first.followers) start(*follower);
    ++admitted;
  }
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(admitted);
  const std::lock_guard lock(mutex_);
  for (auto it = waiting_.begin(); it != end; ++it) {
    --queued_requests_;
    metrics_.prompt_tokens += (*it)->generation->tokens().size();
    const auto queued = (*it)->ticket->ledger((*it)->completion);
    if (queued) metrics_.queue_time.add(std::chrono::duration<double>(queued->queued).count());
    insert_in_order(running_, std::move(*it));
  }
  waiting_.erase(waiting_.begin(), end);
}

void Engine::remove_ended() {
  const auto ended = [](const SequencePtr& sequence) { return sequence->generation == nullptr; };
  {
    const std::lock_guard lock(mutex_);
    queued_requests_ -= static_cast<std::size_t>(std::count_if(waiting_.begin(), waiting_.end(), ended));
  }
  std::erase_if(waiting_, ended);
  std::erase_if(running_, ended);
}

void Engine::signal() {
  for (const auto& ticket : to_signal_) ticket->signal();
  to_signal_.clear();
}

Duration Engine::cost(const PassShape& pass) const {
  return options_.cost_model ? options_.cost_model(pass) : cost_model_.predict(pass);
}

void Engine::count_step(Duration duration) {
  report_.running = count_answers(running_);
  const std::lock_guard lock(mutex_);
  report_.queued = count_answers(waiting_) + count_answers(inbox_);
  metrics_.running = report_.running;
  metrics_.queued = count_answers(waiting_);
  metrics_.generated_tokens += report_.generated;
  if (items_.empty()) return;
  if (options_.tpot_target && options_.cost_model == nullptr) cost_model_.observe(pass_, duration);
  ++metrics_.steps;
  metrics_.step_time.add(std::chrono::duration<double>(duration).count());
  metrics_.batch_size.add(static_cast<double>(batch_));
}

SchedulerMetrics Engine::metrics() const {
  const std::lock_guard lock(mutex_);
  SchedulerMetrics metrics = metrics_;
  metrics.queued += count_answers(inbox_);
  return metrics;
}

void Engine::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  take_inbox();
  for (auto* sequences : {&waiting_, &running_}) {
    for (const SequencePtr& sequence : *sequences) finish(*sequence, FinishReason::cancelled);
  }
  remove_ended();
  signal();
}

}  // namespace rill::schedule
