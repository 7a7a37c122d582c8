#include "schedule/engine.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/float_mode.h"
#include "schedule/seconds.h"
#include "session/prompt.h"

namespace rill::schedule {
namespace {

constexpr std::size_t kMostSequences = 1024;
constexpr std::size_t kLeastDefaultSequences = 8, kMostDefaultSequences = 32;

bool swaps(const SchedulerOptions& options) { return options.swap.memory_bytes > 0 || options.swap.file_bytes > 0; }

Result<void> check_options(const SchedulerOptions& options) {
  if (options.max_sequences > kMostSequences) {
    return make_error(ErrorCode::invalid_argument, "max_sequences = {}, above {}", options.max_sequences, kMostSequences);
  }
  if (options.admission > Admission::overcommit) {
    return make_error(ErrorCode::invalid_argument, "admission is not one of guaranteed, overcommit");
  }
  if (options.admission == Admission::guaranteed && swaps(options)) {
    return make_error(ErrorCode::invalid_argument, "swap without overcommit: nothing is ever preempted");
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

SessionOptions session_options(const SchedulerOptions& options, const std::string& domain = {}) {
  return {.context_tokens = options.context_tokens,
          .kv_type = options.kv_type,
          .prefill_chunk = options.prefill_chunk,
          .rollback_reserve = options.rollback_reserve,
          .clock = options.clock,
          .kv_pool = options.kv_pool,
          .prefix_cache = options.prefix_cache,
          .domain = domain};
}

std::size_t default_sequences(const SchedulerOptions& options) {
  const std::size_t guaranteed = options.kv_pool->pages()->capacity() / pages_of(options, options.context_tokens);
  return std::clamp(guaranteed, kLeastDefaultSequences, kMostDefaultSequences);
}

// To fill passes, and to choose between swapping and computing again.
bool needs_costs(const SchedulerOptions& options) {
  return options.tpot_target || options.ttft_target ||
         (options.admission == Admission::overcommit && swaps(options));
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
  if (options.kv_pool == nullptr && options.prefix_cache != nullptr) options.kv_pool = options.prefix_cache->pool();
  if (options.kv_pool == nullptr) {
    RILL_ASSIGN(options.kv_pool, KvPool::create(model, {.kv_type = options.kv_type}));
  }
  // A session says whether its options are good, and what they resolve to.
  RILL_ASSIGN(const auto session, session::SessionState::create(model, session_options(options)));
  options.context_tokens = session->options().context_tokens;
  if (options.max_sequences == 0) options.max_sequences = default_sequences(options);
  RILL_ASSIGN(model::Forward forward, model::Forward::create(
      model->loaded(), options.prefill_chunk + options.max_sequences + kDraftRows));
  RILL_ASSIGN(SwapStore swap, SwapStore::create(options.swap));
  const bool measure = options.cost_model == nullptr && needs_costs(options);
  auto engine = std::make_shared<Engine>(std::move(model), std::move(options), std::move(forward), std::move(swap));
  if (engine->options_.admission == Admission::overcommit) {
    engine->overcommits_ = engine->options_.kv_pool->pages()->begin_overcommit();
    if (!engine->overcommits_) {
      return make_error(ErrorCode::invalid_argument,
                        "another scheduler over-commits kv_pool: each could hold what the other needs");
    }
  }
  if (measure) {
    RILL_TRY(calibrate(engine->model_, engine->options_.kv_type, engine->options_.clock, engine->cost_model_));
  }
  return engine;
}

Engine::Engine(std::shared_ptr<const Model> model, SchedulerOptions options, model::Forward forward, SwapStore swap)
    : model_(std::move(model)),
      options_(std::move(options)),
      forward_(std::move(forward)),
      head_(model_->loaded()),
      swap_(std::move(swap)) {}

Engine::~Engine() {
  (void)guarded([this]() -> Result<void> {
    close();
    return {};
  });
}

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
    const Duration submitted = options_.clock();
    {
      const std::lock_guard lock(mutex_);
      RILL_TRY(check_queue());
    }
    RILL_TRY(check(request));
    std::vector<Token> prompt;
    if (auto* tokens = std::get_if<std::vector<Token>>(&request.prompt)) {
      prompt = std::move(*tokens);
    } else if (const auto* text = std::get_if<std::string>(&request.prompt)) {
      RILL_ASSIGN(prompt, model_->tokenizer().encode(*text, {.parse_special = request.options.parse_special,
                                                             .add_special = request.options.add_special}));
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
  const Duration tokenize = options_.clock() - submitted;
  const auto ticket = std::make_shared<TicketState>(++last_id_, request.completions, prompt.size(), tokenize);
  const std::uint32_t first_index =
      request.options.chain ? request.options.chain->completion_index() : request.options.sampling.completion_index;
  SequencePtr first;
  for (std::size_t i = 0; i < request.completions; ++i) {
    GenerateOptions options = request.options;
    const std::uint32_t index = first_index + static_cast<std::uint32_t>(i);
    options.sampling.completion_index = index;
    if (options.chain) options.chain->set_completion_index(index);
    RILL_ASSIGN(auto session, session::SessionState::create(model_, session_options(options_, request.domain)));
    auto sequence = std::make_unique<Sequence>();
    RILL_ASSIGN(sequence->generation, session::GenerationState::start(std::move(session), prompt, std::move(options),
                                                                      submitted, tokenize));
    sequence->ticket = ticket;
    sequence->completion = i;
    sequence->priority = request.priority;
    sequence->submitted = submitted;
    // One that the clock never reaches is none.
    if (request.deadline && *request.deadline <= Duration::max() - std::max(submitted, Duration::zero())) {
      sequence->deadline = submitted + *request.deadline;
    }
    if (first == nullptr) {
      first = std::move(sequence);
    } else {
      first->followers.push_back(std::move(sequence));
    }
  }
  RILL_TRY(check_fits(*first));
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
                        "{} answers wait for pages that are held outside of this scheduler",
                        report.queued + report.running);
    }
  }
}

Result<StepReport> Engine::run_step() {
  const ScopedFloatMode float_mode;
  const Duration before = options_.clock();
  report_ = {};
  items_.clear();
  pass_ = {};
  take_inbox();
  remove_ended();  // those of a step that failed half-way
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
  if (!items_.empty()) options_.kv_pool->pages()->prepare_memory();
  return report_;
}

void Engine::take_inbox() {
  const std::lock_guard lock(mutex_);
  for (SequencePtr& sequence : inbox_) insert_in_order(waiting_, std::move(sequence));
  inbox_.clear();
}

void Engine::drop_unwanted(std::vector<SequencePtr>& sequences) {
  for (const SequencePtr& sequence : sequences) {
    const auto unwanted = guarded([&]() -> Result<bool> { return sequence->unwanted(); });
    if (!unwanted) {
      fail(*sequence, unwanted.error());
    } else if (*unwanted) {
      finish(*sequence, FinishReason::cancelled);
    } else if (sequence->deadline && now() >= *sequence->deadline) {
      finish(*sequence, FinishReason::deadline);
    }
  }
}

void Engine::remove_ended() {
  const auto ended = [](const SequencePtr& sequence) { return sequence->generation == nullptr; };
  {
    const std::lock_guard lock(mutex_);
    queued_requests_ -= static_cast<std::size_t>(std::count_if(waiting_.begin(), waiting_.end(), [&](const auto& sequence) {
      return ended(sequence) && !sequence->admitted;
    }));
  }
  std::erase_if(waiting_, ended);
  std::erase_if(running_, ended);
}

void Engine::signal() {
  for (const auto& ticket : to_signal_) ticket->signal();
  to_signal_.clear();
}

// Of the thread that steps. A clock that fails says what it said last, so that what runs still comes to an end.
Duration Engine::now() const {
  const auto time = guarded([&]() -> Result<Duration> { return options_.clock(); });
  if (time) last_now_ = *time;
  return last_now_;
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
  const KvPoolUse use = options_.kv_pool->use();
  const bool limited = use.budget_bytes != KvPoolOptions().budget_bytes;
  metrics_.pool_used_bytes = use.used_bytes;
  metrics_.pool_budget_bytes = limited ? use.budget_bytes : 0;
  metrics_.swapped_bytes = swap_.used_bytes();
  metrics_.generated_tokens += report_.generated;
  if (items_.empty()) return;
  const bool whole = std::all_of(items_.begin(), items_.end(), [](const Item& item) { return item.computed; });
  if (whole && options_.cost_model == nullptr && needs_costs(options_)) cost_model_.observe(pass_, duration);
  ++metrics_.steps;
  metrics_.step_time.add(seconds(duration));
  metrics_.batch_size.add(static_cast<double>(batch_));
  if (limited) metrics_.pool_share.add(static_cast<double>(use.used_bytes) / static_cast<double>(use.budget_bytes));
}

SchedulerMetrics Engine::metrics() const {
  const std::lock_guard lock(mutex_);
  SchedulerMetrics metrics = metrics_;
  metrics.queued += count_answers(inbox_);
  return metrics;
}

void Engine::fail_all(const Error& error) noexcept {
  (void)guarded([&]() -> Result<void> {
    take_inbox();
    remove_ended();
    for (auto* sequences : {&waiting_, &running_}) {
      for (const SequencePtr& sequence : *sequences) fail(*sequence, error);
    }
    remove_ended();
    signal();
    return {};
  });
}

void Engine::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  take_inbox();
  remove_ended();
  for (auto* sequences : {&waiting_, &running_}) {
    for (const SequencePtr& sequence : *sequences) finish(*sequence, FinishReason::cancelled);
  }
  remove_ended();
  if (std::exchange(overcommits_, false)) options_.kv_pool->pages()->end_overcommit();
  signal();
}

}  // namespace rill::schedule
