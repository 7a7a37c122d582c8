#include <algorithm>

#include "base/error.h"
#include "session/generation_state.h"
#include "tokenizer/control_texts.h"

namespace rill {

const char* to_string(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::end_token: return "end_token";
    case FinishReason::stop_string: return "stop_string";
    case FinishReason::max_tokens: return "max_tokens";
    case FinishReason::context_full: return "context_full";
    case FinishReason::cancelled: return "cancelled";
    case FinishReason::grammar_complete: return "grammar_complete";
    case FinishReason::deadline: return "deadline";
  }
  return "unknown";
}

Generation::Generation(std::shared_ptr<session::GenerationState> state) : state_(std::move(state)) {}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;

std::optional<Chunk> Generation::next() { return state_->next(); }
Result<GenerationResult> Generation::result() const { return state_->result(); }

Result<GenerationResult> Generation::finish() {
  while (next()) {
  }
  return result();
}

namespace session {
namespace {

// Takes the times of the masks and of the head apart from that of the sampling which calls them.
class TimedHead final : public LogitsSource {
 public:
  TimedHead(const LogitsSource& head, const Clock& clock) : head_(head), clock_(clock), began_(clock()) {}

  std::size_t vocabulary_size() const override { return head_.vocabulary_size(); }
  std::size_t position() const override { return head_.position(); }
  Result<void> all(std::span<float> out) const override {
    return timed([&] { return head_.all(out); });
  }
  Result<void> rows(std::span<const Token> ids, std::span<float> out) const override {
    return timed([&] { return head_.rows(ids, out); });
  }
  void masks_done() const override { masking_ = clock_() - began_; }

  // Adds what happened until `now`.
  void count(Duration now, Timings& timings) const {
    timings.masking += masking_;
    timings.head += spent_;
    timings.sampling += now - began_ - masking_ - spent_;
  }

 private:
  template <typename Run>
  Result<void> timed(Run run) const {
    const Duration before = clock_();
    Result<void> result = run();
    spent_ += clock_() - before;
    return result;
  }

  const LogitsSource& head_;
  const Clock& clock_;
  Duration began_;
  mutable Duration masking_{};
  mutable Duration spent_{};
};

constexpr std::size_t kMostForced = 16;  // tokens between two passes: beyond that a row is no longer nearly free

// Where no logits are needed, and none are there yet.
class NoLogits final : public LogitsSource {
 public:
  NoLogits(std::size_t vocabulary_size, std::size_t position)
      : vocabulary_size_(vocabulary_size), position_(position) {}

  std::size_t vocabulary_size() const override { return vocabulary_size_; }
  std::size_t position() const override { return position_; }
  Result<void> all(std::span<float>) const override { return refuse(); }
  Result<void> rows(std::span<const Token>, std::span<float>) const override { return refuse(); }
  bool asked() const { return asked_; }

 private:
  Result<void> refuse() const {
    asked_ = true;
    return Error{ErrorCode::no_hidden_state, "the token before is not computed yet"};
  }

  std::size_t vocabulary_size_;
  std::size_t position_;
  mutable bool asked_ = false;
};

}  // namespace

std::optional<Chunk> GenerationState::next() {
  const auto entry = session_->enter();
  refused_.store(!entry);
  if (!entry || phase_ == Phase::ended) return std::nullopt;
  return run([&](Chunk& chunk) -> Result<void> {
    if (session_->epoch() != epoch_) {
      return make_error(ErrorCode::stale_handle, "the session was changed while this generation was running");
    }
    return step(chunk);
  });
}

std::optional<Chunk> GenerationState::sample(const LogitsSource& logits) {
  return run([&](Chunk& chunk) {
    not_computed_ = 0;
    return choose(logits, chunk);
  });
}

bool GenerationState::forces() const {
  return phase_ == Phase::decode && !forced_.empty() && not_computed_ <= kMostForced &&
         tokens_.size() <= session_->options().context_tokens &&
         !chain_.needs_full_head(options_.logprobs ? &*options_.logprobs : nullptr);
}

std::optional<Chunk> GenerationState::take_forced() {
  return run([&](Chunk& chunk) -> Result<void> {
    RILL_TRY(choose_forced(chunk));
    return {};
  });
}

std::optional<Chunk> GenerationState::finish(FinishReason reason) {
  return run([&](Chunk& chunk) -> Result<void> {
    end(reason, chunk);
    return {};
  });
}

void GenerationState::fail(Error error) {
  phase_ = Phase::ended;
  error_ = std::move(error);
}

template <typename Step>
std::optional<Chunk> GenerationState::run(Step step) {
  Chunk chunk;
  auto stepped = guarded([&]() -> Result<void> {
    if (const Result<void> done = step(chunk); !done) {
      if (done.error().code != ErrorCode::cancelled) return done;
      end(FinishReason::cancelled, chunk);
    }
    result_.text += chunk.text;
    return {};
  });
  if (!stepped) fail(std::move(stepped).error());
  if (phase_ == Phase::ended && session_->epoch() == epoch_) {
    session_->drop_drafts();
    if (!error_) session_->cache_prefix();
  }
  if (error_) return std::nullopt;
  if (chunk.text.empty() && !chunk.token) return std::nullopt;
  return chunk;
}

Result<GenerationResult> GenerationState::result() const {
  return guarded([&]() -> Result<GenerationResult> {
    RILL_ASSIGN(const auto entry, session_->enter());
    if (refused_.load()) return Error{ErrorCode::busy, "the session was inside another call at the last step"};
    if (error_) return *error_;
    RILL_TRY(chain_.status());  // the last token is followed by no sample() that would report it
    GenerationResult result = result_;
    if (phase_ != Phase::ended) result.finish_reason = FinishReason::cancelled;
    if (options_.grammar && options_.grammar->schema() != nullptr) {
      auto validation = options_.grammar->schema()->validate(result.text);
      result.validation = validation
                              ? *std::move(validation)
                              : Validation{Validity::invalid, {{.message = std::move(validation).error().message}}};
    }
    return result;
  });
}

GenerationState::Spelled GenerationState::spelled() const {
  const std::string& text = result_.text;
  auto end = std::upper_bound(text_ends_.begin(), text_ends_.end(), text.size());
  if (result_.stop_string && !result_.end_token && !options_.show_special) {  // which may begin with hidden tokens
    std::size_t begin = 0;
    for (const auto& control : tokenizer::control_texts(session_->model()->tokenizer(), *result_.stop_string)) {
      if (control.begin != std::exchange(begin, control.end) || end == text_ends_.begin()) break;
      --end;
    }
  }
  if (end == text_ends_.end()) return {text_ends_.size(), text.size()};
  // Not a token that ends inside a character.
  while (end != text_ends_.begin() && end[-1] < text.size() && (text[end[-1]] & 0xc0) == 0x80) --end;
  return {static_cast<std::size_t>(end - text_ends_.begin()), end == text_ends_.begin() ? 0 : end[-1]};
}

Result<void> GenerationState::step(Chunk& chunk) {
  if (options_.stop.stop_requested()) return make_error(ErrorCode::cancelled, "stopped");
  if (phase_ == Phase::prompt) {
    RILL_TRY(prefill());
  } else {  // what is forced is not computed, guessed or not
    if (forces()) {
      RILL_ASSIGN(const bool taken, choose_forced(chunk));
      if (taken) return {};
    }
    if (tokens_.size() > session_->options().context_tokens &&
        options_.context_policy != ContextPolicy::drop_oldest) {
      end(FinishReason::context_full, chunk);
      return {};
    }
    if (!advance()) RILL_TRY(feed_last_tokens());
  }
  not_computed_ = 0;
  return choose(HeldLogits(*session_, 0), chunk);
}

Result<bool> GenerationState::make_room() {
  const std::size_t context = session_->options().context_tokens;
  const std::size_t most = phase_ == Phase::prompt ? context - 1 : context;
  if (options_.context_policy != ContextPolicy::drop_oldest && tokens_.size() > context) return false;
  if (options_.context_policy == ContextPolicy::drop_oldest && drop_oldest(most)) {
    const auto held = session_->tokens();
    const auto differs = std::mismatch(tokens_.begin(), tokens_.end() - 1, held.begin(), held.end());
    const Result<void> cut = session_->truncate(static_cast<std::size_t>(differs.first - tokens_.begin()), false);
    if (!cut) RILL_TRY(session_->truncate(0, false));  // a window has passed what would be needed
  }
  if (session_->tokens().empty()) {
    RILL_ASSIGN(const SessionState::Reused reused,
                session_->adopt_prefix(std::span(tokens_).first(tokens_.size() - 1)));
    if (phase_ == Phase::prompt) count(reused);
  }
  return true;
}

std::size_t GenerationState::next_boundary() const {
  const std::vector<std::size_t>& named = options_.cache_boundaries;
  const auto next = std::upper_bound(named.begin(), named.end(), session_->tokens().size());
  return next == named.end() ? tokens_.size() : std::min(*next, tokens_.size());
}

void GenerationState::leave_boundary() {
  const std::vector<std::size_t>& named = options_.cache_boundaries;
  if (std::binary_search(named.begin(), named.end(), session_->tokens().size())) session_->cache_prefix();
}

void GenerationState::count(const SessionState::Reused& reused) {
  result_.timings.reused_tokens = reused.tokens;
  result_.timings.cached_tokens = reused.cached;
  result_.timings.window_evicted_tokens = reused.window_evicted;
}

bool GenerationState::advance() {
  if (missing().empty()) return false;
  while (!missing().empty() && session_->advance(missing().front())) {
    speculation_->count_accepted();
    ++result_.timings.accepted_tokens;
  }
  return missing().empty();
}

Result<void> GenerationState::choose(const LogitsSource& logits, Chunk& chunk) {
  if (phase_ == Phase::prompt) session_->cache_prefix();
  phase_ = Phase::decode;
  epoch_ = session_->epoch();
  const Clock& clock = session_->options().clock;
  const TimedHead head(logits, clock);
  if (const Result<void> sampled = sample_from(head, chunk); !sampled) {
    RILL_ASSIGN(const bool complete, grammar_ends());
    if (!complete) return sampled;
    end(FinishReason::grammar_complete, chunk);
    return {};
  }
  const Duration now = clock();
  head.count(now, result_.timings);
  result_.timings.token_times.push_back(now - started_);
  if (!result_.timings.ttft) result_.timings.ttft = now - started_;
  take(*chunk.token, chunk);
  return {};
}

Result<void> GenerationState::sample_from(const LogitsSource& logits, Chunk& chunk) {
  const auto forced = forced_.empty() ? std::nullopt : std::optional(forced_.back());
  RILL_ASSIGN(Sample sample, chain_.sample_or(logits, options_.logprobs ? &*options_.logprobs : nullptr, forced));
  chunk.token = sample.token;
  if (options_.logprobs) chunk.sample = std::move(sample);
  if (forced == chunk.token) ++result_.timings.forced_tokens;
  return {};
}

// False, and nothing has happened: a mask does not allow the token.
Result<bool> GenerationState::choose_forced(Chunk& chunk) {
  const NoLogits none(session_->loaded().vocabulary_size(), tokens_.size());
  const Result<void> chosen = choose(none, chunk);
  if (!none.asked()) return chosen ? Result<bool>(true) : chosen.error();
  forced_.clear();
  return false;
}

// What goes wrong here goes wrong in the next mask, too, which says so.
void GenerationState::find_forced() {
  if (!options_.forced_tokens || !chain_.status()) return;
  auto tokens = chain_.forced();
  if (!tokens) return;
  const auto stop = std::find_if(tokens->begin(), tokens->end(), [&](Token token) { return stops_at(token); });
  forced_.assign(std::make_reverse_iterator(stop), tokens->rend());
}

bool GenerationState::stops_at(Token token) const {
  return std::binary_search(end_tokens_.begin(), end_tokens_.end(), token) ||
         std::any_of(stop_tokens_.begin(), stop_tokens_.end(), [&](const auto& stop) { return stop.first == token; });
}

// Where no token is allowed: whether the answer is a whole text of its grammar, and only lacks an end token that could
// say so.
Result<bool> GenerationState::grammar_ends() const {
  if (!options_.grammar || !end_tokens_.empty() || chain_.allowed().count() != 0) return false;
  RILL_ASSIGN(GrammarMatcher matcher, GrammarMatcher::create(*options_.grammar, session_->model()->tokenizer(),
                                                             {.end_tokens = end_tokens_}));
  for (const Token token : result_.tokens) RILL_TRY(matcher.accept(token));
  return matcher.can_end();
}

Result<void> GenerationState::prefill() {
  const Duration before = elapsed();
  const auto prepare_beside = [this](std::size_t, std::size_t) noexcept { prepare(); };
  const BesideWork beside{1, prepare_beside};
  if (options_.context_policy == ContextPolicy::drop_oldest) drop_oldest(session_->options().context_tokens - 1);
  const auto held = session_->tokens();
  SessionState::Reused reused{held.size()};
  const bool begins = session_->caches() && (held.empty() || next_boundary() < tokens_.size());
  if (!begins && tokens_.size() > held.size() && std::equal(held.begin(), held.end(), tokens_.begin())) {
    const Keep keep;
    const SessionState::Append append{session_.get(), missing(), &keep};
    RILL_TRY(SessionState::append({&append, 1}, options_.stop, options_.prefill_progress, beside));
  } else {
    RILL_ASSIGN(reused, session_->replace(tokens_, options_.cache_boundaries, options_.stop, options_.prefill_progress,
                                          beside));
  }
  count(reused);
  result_.timings.prefilled_tokens = session_->tokens().size() - reused.tokens;
  result_.timings.prefill = elapsed() - before;
  return {};
}

// What was chosen last is computed only now that a successor is to be sampled.
Result<void> GenerationState::feed_last_tokens() {
  RILL_ASSIGN(const std::span<const Token> drafts, draft(Speculation::kMostDrafts));
  const Duration before = elapsed();
  const auto prepare_beside = [this](std::size_t, std::size_t) noexcept { prepare(); };
  const BesideWork beside{1, prepare_beside};
  if (drop_oldest(session_->options().context_tokens)) {
    RILL_TRY(session_->replace(tokens_, {}, options_.stop, {}, beside));
  } else {
    RILL_TRY(append(missing(), drafts, beside));
  }
  ++result_.timings.decode_passes;
  result_.timings.decode += elapsed() - before;
  return {};
}

// No more tokens than the answer may still have, and the one that is computed gives one itself.
Result<std::span<const Token>> GenerationState::draft(std::size_t most) {
  if (speculation_ == nullptr || missing().size() != 1) return std::span<const Token>();
  most = std::min(most, session_->room_for_drafts());
  if (options_.max_tokens) most = std::min(most, *options_.max_tokens - result_.tokens.size() - 1);
  const Duration before = elapsed();
  auto drafts = speculation_->draft(*session_, tokens_.back(), most, chain_, options_.stop);
  result_.timings.drafting += elapsed() - before;
  return drafts;
}

Result<void> GenerationState::append(std::span<const Token> tokens, std::span<const Token> drafts,
                                     const BesideWork& beside) {
  const Keep keep;
  SessionState::Append append{session_.get(), tokens, &keep, drafts};
  if (!drafts.empty()) {
    const auto done = guarded([&] { return SessionState::append({&append, 1}, options_.stop, {}, beside); });
    if (done) result_.timings.drafted_tokens += drafts.size();
    if (done || done.error().code == ErrorCode::cancelled) return done;
    append.drafts = {};  // what failed may be a guess, which the answer never comes to
  }
  return SessionState::append({&append, 1}, options_.stop, {}, beside);
}

// Drops tokens behind the first keep_tokens until there are at most `most`; never the last. False: there was no need.
bool GenerationState::drop_oldest(std::size_t most) {
  std::size_t drop = 0;
  while (tokens_.size() - drop > most) {
    const std::size_t droppable = tokens_.size() - drop - options_.keep_tokens - 1;
    drop += options_.drop_tokens == 0 ? (droppable + 1) / 2 : std::min(options_.drop_tokens, droppable);
  }
  const auto first = tokens_.begin() + static_cast<std::ptrdiff_t>(options_.keep_tokens);
  tokens_.erase(first, first + static_cast<std::ptrdiff_t>(drop));
  return drop > 0;
}

bool GenerationState::only_end_tokens_allowed() const {
  const TokenSet& allowed = chain_.allowed();
  const auto ends =
      std::count_if(end_tokens_.begin(), end_tokens_.end(), [&](Token token) { return allowed.contains(token); });
  return static_cast<std::size_t>(ends) == allowed.count();
}

void GenerationState::take(Token token, Chunk& chunk) {
  if (std::binary_search(end_tokens_.begin(), end_tokens_.end(), token)) {
    result_.end_token = token;
    end(only_end_tokens_allowed() ? FinishReason::grammar_complete : FinishReason::end_token, chunk);
    return;
  }
  for (const auto& [stop, spelled] : stop_tokens_) {
    if (stop != token) continue;
    result_.end_token = token;
    result_.stop_string = spelled;
    end(spelled ? FinishReason::stop_string : FinishReason::end_token, chunk);
    return;
  }
  chain_.accept(token);
  if (speculation_ != nullptr) speculation_->accept(token);
  result_.tokens.push_back(token);
  tokens_.push_back(token);
  ++not_computed_;
  if (!forced_.empty() && forced_.back() == token) {
    forced_.pop_back();
  } else {
    forced_.clear();
  }
  StopMatcher::Step step = spell(token);
  chunk.text = std::move(step.text);
  if (step.match) {
    result_.stop_string = options_.stop_strings[*step.match];
    result_.finish_reason = FinishReason::stop_string;
    phase_ = Phase::ended;
  } else if (result_.tokens.size() == options_.max_tokens) {
    end(FinishReason::max_tokens, chunk);
  }
  if (phase_ != Phase::ended && forced_.empty()) find_forced();
}

// The text that is now certain.
StopMatcher::Step GenerationState::spell(Token token) {
  const std::string text = detokenizer_.push(token).value();
  delivered_ += text.size();
  text_ends_.push_back(delivered_ + detokenizer_.pending().size());
  const bool hidden = !options_.show_special && session_->model()->tokenizer().is_control(token);
  return hidden ? matcher_.push_hidden(token) : matcher_.push(text);
}

// Delivers what was held back: a character cut short, or text that could have become a stop string.
void GenerationState::end(FinishReason reason, Chunk& chunk) {
  phase_ = Phase::ended;
  result_.finish_reason = reason;
  StopMatcher::Step step = matcher_.push(detokenizer_.flush());
  chunk.text += step.text;
  if (!step.match) chunk.text += matcher_.flush();
}

}  // namespace session
}  // namespace rill
