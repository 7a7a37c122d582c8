#include "schedule/ticket_state.h"

#include "base/error.h"

namespace rill::schedule {
namespace {

void call(const std::function<void()>& signal) {
  (void)guarded([&]() -> Result<void> {
    signal();
    return {};
  });
}

}  // namespace

TicketState::TicketState(std::uint64_t id, std::size_t completions, std::size_t prompt_tokens, Duration tokenize)
    : id_(id), completions_(completions) {
  for (Completion& completion : completions_) completion.book.begin(prompt_tokens, tokenize);
}

std::optional<TicketChunk> TicketState::try_next() {
  const std::lock_guard lock(mutex_);
  if (chunks_.empty()) return std::nullopt;
  TicketChunk chunk = std::move(chunks_.front());
  chunks_.pop_front();
  return chunk;
}

bool TicketState::wait(std::optional<std::chrono::steady_clock::time_point> deadline) const {
  std::unique_lock lock(mutex_);
  if (deadline) return news_.wait_until(lock, *deadline, [this] { return something_new(); });
  news_.wait(lock, [this] { return something_new(); });
  return true;
}

void TicketState::on_ready(std::function<void()> signal) {
  auto shared = signal ? std::make_shared<const std::function<void()>>(std::move(signal)) : nullptr;
  std::shared_ptr<const std::function<void()>> before;  // ends outside of the lock: it is the caller's code
  bool now = false;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(signal_, ended_ < completions_.size() ? shared : nullptr);
    now = something_new();
  }
  if (now && shared != nullptr) call(*shared);
}

bool TicketState::finished() const {
  const std::lock_guard lock(mutex_);
  return ended_ == completions_.size();
}

Result<void> TicketState::check(std::size_t completion) const {
  if (completion < completions_.size()) return {};
  return make_error(ErrorCode::invalid_argument, "completion {} of a request for {}", completion, completions_.size());
}

Result<GenerationResult> TicketState::result(std::size_t completion) const {
  return guarded([&]() -> Result<GenerationResult> {
    const std::lock_guard lock(mutex_);
    RILL_TRY(check(completion));
    const auto& result = completions_[completion].result;
    return result ? *result : Error{ErrorCode::busy, "the answer has not ended"};
  });
}

Result<Ledger> TicketState::ledger(std::size_t completion) const {
  return guarded([&]() -> Result<Ledger> {
    const std::lock_guard lock(mutex_);
    RILL_TRY(check(completion));
    return completions_[completion].book.ledger();
  });
}

void TicketState::push(std::size_t completion, Chunk chunk) {
  const std::lock_guard lock(mutex_);
  chunks_.push_back({std::move(chunk), completion});
  signal_due_ = true;
}

void TicketState::end(std::size_t completion, Result<GenerationResult> result) {
  const std::lock_guard lock(mutex_);
  completions_[completion].result.emplace(std::move(result));
  ++ended_;
  signal_due_ = true;
}

void TicketState::signal() {
  std::shared_ptr<const std::function<void()>> signal;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(signal_due_, false)) return;
    signal = signal_;
    if (ended_ == completions_.size()) signal_.reset();  // it may hold a copy of this ticket
  }
  news_.notify_all();
  if (signal != nullptr) call(*signal);
}

}  // namespace rill::schedule

namespace rill {

// Counts the copies: the scheduler holds the state, too.
struct Ticket::Holder {
  std::shared_ptr<schedule::TicketState> state;
  explicit Holder(std::shared_ptr<schedule::TicketState> shared) : state(std::move(shared)) {}
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() { state->cancel(); }
};

Ticket::Ticket(std::shared_ptr<schedule::TicketState> state) : holder_(std::make_shared<Holder>(std::move(state))) {}

std::uint64_t Ticket::id() const { return holder_->state->id(); }
std::size_t Ticket::completions() const { return holder_->state->completions(); }
std::optional<TicketChunk> Ticket::try_next() { return holder_->state->try_next(); }
bool Ticket::wait(std::chrono::steady_clock::time_point deadline) const { return holder_->state->wait(deadline); }
void Ticket::wait() const { holder_->state->wait(std::nullopt); }
void Ticket::on_ready(std::function<void()> signal) { holder_->state->on_ready(std::move(signal)); }
void Ticket::cancel() { holder_->state->cancel(); }
bool Ticket::finished() const { return holder_->state->finished(); }
Result<GenerationResult> Ticket::result(std::size_t completion) const { return holder_->state->result(completion); }
Result<Ledger> Ticket::ledger(std::size_t completion) const { return holder_->state->ledger(completion); }

}  // namespace rill
