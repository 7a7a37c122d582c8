#include <algorithm>

#include "base/error.h"
#include "session/generation_state.h"

namespace rill {

const char* to_string(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::end_token: return "end_token";
    case FinishReason::stop_string: return "stop_string";
    case FinishReason::max_tokens: return "max_tokens";
    case FinishReason::context_full: return "context_full";
    case FinishReason::cancelled: return "cancelled";
    case FinishReason::grammar_complete: return "grammar_complete";
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

GenerationState::GenerationState(std::shared_ptr<SessionState> session, GenerateOptions options, SamplerChain chain, StopMatcher matcher)
    : session_(std::move(session)),
      options_(std::move(options)),
      chain_(std::move(chain)),
      matcher_(std::move(matcher)),
      detokenizer_(session_->model()->tokenizer(),
                   {.show_special = options_.show_special, .continues_text = true}) {}

Result<std::shared_ptr<GenerationState>> GenerationState::start(std::shared_ptr<SessionState> session, std::vector<Token> prompt, GenerateOptions options,
                                          Duration started, Duration tokenize) {
  const auto held = session->tokens();
  std::vector<Token> tokens(held.begin(), held.end());
  tokens.insert(tokens.end(), prompt.begin(), prompt.end());
  return make(std::move(session), std::move(tokens), held.size(), std::move(options), started, tokenize);
}

Result<std::shared_ptr<GenerationState>> GenerationState::start_over(std::shared_ptr<SessionState> session, std::vector<Token> tokens, GenerateOptions options,
                                               Duration started, Duration tokenize) {
  return make(std::move(session), std::move(tokens), 0, std::move(options), started, tokenize);
}

Result<std::shared_ptr<GenerationState>> GenerationState::make(std::shared_ptr<SessionState> session, std::vector<Token> tokens, std::size_t prompt_begin,
                                         GenerateOptions options, Duration started, Duration tokenize) {
  const SessionState::Entry entry(*session);
  RILL_TRY(entry.check());
  RILL_TRY(session->check_tokens(std::span<const Token>(tokens).subspan(prompt_begin)));
  RILL_ASSIGN(StopMatcher matcher, StopMatcher::create(options.stop_strings));
  const Tokenizer& tokenizer = session->model()->tokenizer();
  std::vector<Token> end_tokens = options.end_tokens.value_or(std::vector<Token>(tokenizer.end_tokens().begin(), tokenizer.end_tokens().end()));
  std::sort(end_tokens.begin(), end_tokens.end());
  std::optional<SamplerChain> chain = std::move(options.chain);
  options.chain.reset();
  if (!chain) {
    RILL_ASSIGN(chain, make_chain(options.sampling, {.size = session->loaded().vocabulary_size(), .end_tokens = end_tokens}));
  }
  auto state = std::make_shared<GenerationState>(std::move(session), std::move(options), *std::move(chain), std::move(matcher));
  state->tokens_ = std::move(tokens);
  state->prompt_begin_ = prompt_begin;
  state->end_tokens_ = std::move(end_tokens);
  state->epoch_ = state->session_->epoch();
  state->started_ = started;
  state->result_.timings.tokenize = tokenize;
  state->result_.timings.prompt_tokens = state->tokens_.size();
  RILL_TRY(state->check_room());
  state->resolve_stop_tokens();
  state->chain_.observe(state->tokens_);
  return state;
}

Result<void> GenerationState::check_room() const {
  const std::size_t context = session_->options().context_tokens;
  const std::size_t max_tokens = options_.max_tokens.value_or(0);
  if (options_.max_tokens == std::size_t{0}) return make_error(ErrorCode::invalid_argument, "max_tokens = 0");
  if (options_.context_policy == ContextPolicy::drop_oldest) {
    if (options_.keep_tokens >= context || options_.drop_tokens >= context - options_.keep_tokens) {
      return make_error(ErrorCode::invalid_argument, "keep_tokens = {} and drop_tokens = {} leave nothing of a window of {}",
                        options_.keep_tokens, options_.drop_tokens, context);
    }
    return {};
  }
  const std::size_t asked = options_.context_policy == ContextPolicy::error ? std::max<std::size_t>(1, max_tokens) : 1;
  if (tokens_.size() > context || asked > context - tokens_.size()) {
    return make_error(ErrorCode::context_full, "{} tokens of prompt and history and {} of answer do not fit a window of {}",
                      tokens_.size(), asked, context);
  }
  return {};
}

// A stop string that spells a control token stops at that token, whose text is not in the output.
void GenerationState::resolve_stop_tokens() {
  for (const Token token : options_.stop_tokens) stop_tokens_.emplace_back(token, std::nullopt);
  const Tokenizer& tokenizer = session_->model()->tokenizer();
  for (const std::string& stop : options_.stop_strings) {
    const std::optional<Token> token = tokenizer.find(stop);
    if (token && tokenizer.is_control(*token)) stop_tokens_.emplace_back(*token, stop);
  }
}

std::optional<Chunk> GenerationState::next() {
  if (phase_ == Phase::ended) return std::nullopt;
  Chunk chunk;
  const auto stepped = guarded([&]() -> Result<void> {
    const SessionState::Entry entry(*session_);
    RILL_TRY(entry.check());
    if (session_->epoch() != epoch_) {
      return make_error(ErrorCode::stale_handle, "the session was changed while this generation was running");
    }
    return step(chunk);
  });
  if (!stepped && stepped.error().code == ErrorCode::cancelled) {
    end(FinishReason::cancelled, chunk);
  } else if (!stepped) {
    if (stepped.error().code == ErrorCode::busy) return std::nullopt;  // another thread's mistake does not end the answer
    phase_ = Phase::ended;
    error_ = stepped.error();
    return std::nullopt;
  }
  result_.text += chunk.text;
  if (phase_ == Phase::ended && chunk.text.empty() && !chunk.token) return std::nullopt;
  return chunk;
}

Result<GenerationResult> GenerationState::result() const {
  if (error_) return *error_;
  GenerationResult result = result_;
  if (phase_ != Phase::ended) result.finish_reason = FinishReason::cancelled;
  return result;
}

Result<void> GenerationState::step(Chunk& chunk) {
  if (options_.stop.stop_requested()) return make_error(ErrorCode::cancelled, "stopped");
  if (phase_ == Phase::prompt) {
    RILL_TRY(prefill());
    phase_ = Phase::decode;
  } else {
    RILL_ASSIGN(const bool fed, feed_last_token());
    if (!fed) {
      end(FinishReason::context_full, chunk);
      return {};
    }
  }
  epoch_ = session_->epoch();

  const Duration before = elapsed();
  const Logits logits(session_, epoch_, 0);
  if (options_.logprobs) {
    RILL_ASSIGN(chunk.sample, chain_.sample(logits, *options_.logprobs));
    chunk.token = chunk.sample->token;
  } else {
    RILL_ASSIGN(chunk.token, chain_.sample(logits));
  }
  const Duration now = elapsed();
  result_.timings.sampling += now - before;
  result_.timings.token_times.push_back(now);
  if (!result_.timings.ttft) result_.timings.ttft = now;
  take(*chunk.token, chunk);
  return {};
}

Result<void> GenerationState::prefill() {
  const Duration before = elapsed();
  const auto held = session_->tokens();
  const bool appended = prompt_begin_ == held.size() && std::equal(held.begin(), held.end(), tokens_.begin());
  if (options_.context_policy == ContextPolicy::drop_oldest) {
    while (tokens_.size() >= session_->options().context_tokens) RILL_TRY(drop_oldest(tokens_));
  }
  std::size_t reused = held.size();
  if (appended && tokens_.size() > held.size()) {
    const Keep keep;
    const std::vector<Token> prompt(tokens_.begin() + static_cast<std::ptrdiff_t>(held.size()), tokens_.end());
    const SessionState::Append append{session_.get(), prompt, &keep};
    RILL_TRY(SessionState::append({&append, 1}, options_.stop, options_.prefill_progress));
  } else {
    RILL_ASSIGN(reused, session_->replace(tokens_, options_.stop, options_.prefill_progress));
  }
  result_.timings.reused_tokens = reused;
  result_.timings.prefilled_tokens = session_->tokens().size() - reused;
  result_.timings.prefill = elapsed() - before;
  return {};
}

// The token of the step before is computed only now that its successor is wanted. False: there is no room for it.
Result<bool> GenerationState::feed_last_token() {
  const Duration before = elapsed();
  const Token token = result_.tokens.back();
  if (session_->tokens().size() == session_->options().context_tokens) {
    if (options_.context_policy != ContextPolicy::drop_oldest) return false;
    std::vector<Token> tokens(session_->tokens().begin(), session_->tokens().end());
    tokens.push_back(token);
    RILL_TRY(drop_oldest(tokens));
    RILL_TRY(session_->replace(std::move(tokens), options_.stop, {}));
  } else {
    const Keep keep;
    const SessionState::Append append{session_.get(), {&token, 1}, &keep};
    RILL_TRY(SessionState::append({&append, 1}, options_.stop, {}));
  }
  result_.timings.decode += elapsed() - before;
  return true;
}

Result<void> GenerationState::drop_oldest(std::vector<Token>& tokens) const {
  const std::size_t droppable = tokens.size() - std::min(tokens.size(), options_.keep_tokens + 1);
  if (droppable == 0) {
    return make_error(ErrorCode::context_full, "nothing can be dropped: keep_tokens = {} of {}", options_.keep_tokens, tokens.size());
  }
  const std::size_t drop = options_.drop_tokens == 0 ? (droppable + 1) / 2 : std::min(options_.drop_tokens, droppable);
  const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(options_.keep_tokens);
  tokens.erase(first, first + static_cast<std::ptrdiff_t>(drop));
  return {};
}

void GenerationState::take(Token token, Chunk& chunk) {
  if (std::binary_search(end_tokens_.begin(), end_tokens_.end(), token)) {
    result_.end_token = token;
    end(FinishReason::end_token, chunk);
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
  result_.tokens.push_back(token);
  StopMatcher::Step step = matcher_.push(detokenizer_.push(token).value());
  chunk.text = std::move(step.text);
  if (step.match) {
    result_.stop_string = options_.stop_strings[*step.match];
    result_.finish_reason = FinishReason::stop_string;
    phase_ = Phase::ended;
  } else if (result_.tokens.size() == options_.max_tokens) {
    end(FinishReason::max_tokens, chunk);
  }
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
