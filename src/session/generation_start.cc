// What an answer needs before its first step: checked options, a chain, its budget.
#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "session/generation_state.h"
#include "tokenizer/control_texts.h"

namespace rill::session {
namespace {

Result<void> check_options(const GenerateOptions& options, std::size_t prompt_tokens, std::size_t vocabulary) {
  if (options.context_policy > ContextPolicy::drop_oldest) {
    return make_error(ErrorCode::invalid_argument, "context_policy is not one of error, stop, drop_oldest");
  }
  if (options.context_policy != ContextPolicy::drop_oldest && (options.keep_tokens != 0 || options.drop_tokens != 0)) {
    return make_error(ErrorCode::invalid_argument,
                      "keep_tokens = {} and drop_tokens = {} without ContextPolicy::drop_oldest", options.keep_tokens,
                      options.drop_tokens);
  }
  for (const auto& [name, tokens] : {std::pair{"stop_tokens", &options.stop_tokens},
                                     {"end_tokens", options.end_tokens ? &*options.end_tokens : nullptr}}) {
    if (tokens == nullptr) continue;
    for (const Token token : *tokens) {
      if (token < 0 || static_cast<std::size_t>(token) >= vocabulary) {
        return make_error(ErrorCode::invalid_argument, "{} holds {}, which is not in the vocabulary of {}", name, token,
                          vocabulary);
      }
    }
  }
  for (std::size_t i = 0; i < options.stop_strings.size(); ++i) {
    // The output is UTF-8: anything else could only match inside a character.
    if (!utf8::is_valid(options.stop_strings[i])) {
      return make_error(ErrorCode::invalid_argument, "stop_strings[{}] is not UTF-8", i);
    }
  }
  for (std::size_t i = 0; i < options.cache_boundaries.size(); ++i) {
    if (options.cache_boundaries[i] == 0 || options.cache_boundaries[i] > prompt_tokens) {
      return make_error(ErrorCode::invalid_argument, "cache_boundaries[{}] = {}, not in a prompt of {} tokens", i,
                        options.cache_boundaries[i], prompt_tokens);
    }
  }
  if (options.grammar && options.chain) {
    return Error{ErrorCode::invalid_argument, "grammar together with chain: put grammar_mask() into the chain"};
  }
  if (options.max_tokens == std::size_t{0}) return make_error(ErrorCode::invalid_argument, "max_tokens = 0");
  return {};
}

// The tokens that an answer under a grammar must be finished in.
std::optional<std::size_t> budget_of(const GenerateOptions& options, std::size_t prompt_tokens, std::size_t context) {
  if (!options.close_within_budget) return std::nullopt;
  if (options.context_policy == ContextPolicy::drop_oldest) return options.max_tokens;
  const std::size_t room = context - std::min(context, prompt_tokens);
  if (room == 0) return std::nullopt;  // which is refused for that
  return std::min(room, options.max_tokens.value_or(room));
}

}  // namespace

GenerationState::GenerationState(std::shared_ptr<SessionState> session, GenerateOptions options, SamplerChain chain,
                                 StopMatcher matcher)
    : session_(std::move(session)),
      options_(std::move(options)),
      chain_(std::move(chain)),
      matcher_(std::move(matcher)),
      detokenizer_(session_->model()->tokenizer(), {.show_special = options_.show_special, .continues_text = true}) {}

Result<std::shared_ptr<GenerationState>> GenerationState::start(std::shared_ptr<SessionState> session,
                                                                std::vector<Token> prompt, GenerateOptions options,
                                                                Duration started, Duration tokenize) {
  const auto held = session->tokens();
  std::vector<Token> tokens(held.begin(), held.end());
  tokens.insert(tokens.end(), prompt.begin(), prompt.end());
  const auto budget = budget_of(options, tokens.size(), session->options().context_tokens);
  return make(std::move(session), std::move(tokens), held.size(), std::move(options), budget, started, tokenize);
}

Result<std::shared_ptr<GenerationState>> GenerationState::start_over(std::shared_ptr<SessionState> session,
                                                                     std::vector<Token> tokens, GenerateOptions options,
                                                                     Duration started, Duration tokenize) {
  const auto budget = budget_of(options, tokens.size(), session->options().context_tokens);
  return make(std::move(session), std::move(tokens), 0, std::move(options), budget, started, tokenize);
}

Result<std::shared_ptr<GenerationState>> GenerationState::make(std::shared_ptr<SessionState> session,
                                                               std::vector<Token> tokens, std::size_t prompt_begin,
                                                               GenerateOptions options,
                                                               std::optional<std::size_t> grammar_budget,
                                                               Duration started, Duration tokenize) {
  RILL_TRY(check_options(options, tokens.size() - prompt_begin, session->loaded().vocabulary_size()));
  RILL_TRY(session->check_tokens(std::span<const Token>(tokens).subspan(prompt_begin)));
  for (std::size_t& boundary : options.cache_boundaries) boundary += prompt_begin;
  std::sort(options.cache_boundaries.begin(), options.cache_boundaries.end());
  const Tokenizer& tokenizer = session->model()->tokenizer();
  RILL_ASSIGN(StopMatcher matcher,
              StopMatcher::create(options.stop_strings, options.show_special ? nullptr : &tokenizer));
  std::vector<Token> end_tokens =
      options.end_tokens.value_or(std::vector<Token>(tokenizer.end_tokens().begin(), tokenizer.end_tokens().end()));
  std::sort(end_tokens.begin(), end_tokens.end());
  end_tokens.erase(std::unique(end_tokens.begin(), end_tokens.end()), end_tokens.end());
  std::optional<SamplerChain> chain = std::move(options.chain);
  options.chain.reset();
  const bool chain_was_given = chain.has_value();
  if (!chain) {
    std::vector<Processor> masks;
    if (options.grammar) {
      masks.push_back(
          grammar_mask(*options.grammar, tokenizer, {.end_tokens = end_tokens, .max_tokens = grammar_budget}));
    }
    RILL_ASSIGN(chain,
                make_chain(options.sampling, {.size = session->loaded().vocabulary_size(), .end_tokens = end_tokens},
                           std::move(masks)));
  }
  auto state =
      std::make_shared<GenerationState>(std::move(session), std::move(options), *std::move(chain), std::move(matcher));
  state->chain_was_given_ = chain_was_given;
  state->grammar_budget_ = grammar_budget;
  state->tokens_ = std::move(tokens);
  state->end_tokens_ = std::move(end_tokens);
  state->epoch_ = state->session_->epoch();
  state->started_ = started;
  state->result_.timings.tokenize = tokenize;
  state->result_.timings.prompt_tokens = state->tokens_.size();
  RILL_TRY(state->check_room());
  state->resolve_stop_tokens();
  RILL_TRY(state->start_speculation());
  state->chain_.observe(state->tokens_);
  state->find_forced();
  return state;
}

Result<void> GenerationState::check_room() const {
  const std::size_t context = session_->options().context_tokens;
  const std::size_t max_tokens = options_.max_tokens.value_or(0);
  if (options_.context_policy == ContextPolicy::drop_oldest) {
    if (options_.keep_tokens >= context - 1 || options_.drop_tokens >= context - options_.keep_tokens) {
      return make_error(ErrorCode::invalid_argument,
                        "keep_tokens = {} and drop_tokens = {} leave nothing of a window of {}", options_.keep_tokens,
                        options_.drop_tokens, context);
    }
    return {};
  }
  const std::size_t asked = options_.context_policy == ContextPolicy::error ? std::max<std::size_t>(1, max_tokens) : 1;
  if (tokens_.size() > context || asked > context - tokens_.size()) {
    return make_error(ErrorCode::context_full,
                      "{} tokens of prompt and history and {} of answer do not fit a window of {}", tokens_.size(),
                      asked, context);
  }
  return {};
}

// A stop string that spells a control token stops at that token, whose text is not in the output.
void GenerationState::resolve_stop_tokens() {
  for (const Token token : options_.stop_tokens) stop_tokens_.emplace_back(token, std::nullopt);
  const Tokenizer& tokenizer = session_->model()->tokenizer();
  for (const std::string& stop : options_.stop_strings) {
    const auto controls = tokenizer::control_texts(tokenizer, stop);
    if (controls.size() == 1 && controls[0].end - controls[0].begin == stop.size())
      stop_tokens_.emplace_back(controls[0].token, stop);
  }
}

Result<void> GenerationState::start_speculation() {
  std::vector<Token> ends = end_tokens_;
  for (const auto& [token, spelled] : stop_tokens_) ends.push_back(token);
  RILL_ASSIGN(speculation_, Speculation::create(options_.speculation, *session_, std::move(ends)));
  options_.speculation.draft_session = nullptr;  // its state is shared from here on; the handle may end or move
  if (speculation_ != nullptr) speculation_->observe(tokens_);
  return {};
}

}  // namespace rill::session
