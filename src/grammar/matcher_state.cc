#include "grammar/matcher_state.h"

#include <algorithm>

#include "grammar/forced_tokens.h"

namespace rill::grammar {

MatcherState::MatcherState(std::shared_ptr<const Compiled> compiled, Tokenizer tokenizer,
                           std::shared_ptr<MaskCache> cache, std::vector<Token> end_tokens)
    : compiled_(std::move(compiled)),
      tokenizer_(std::move(tokenizer)),
      cache_(std::move(cache)),
      end_tokens_(std::move(end_tokens)),
      matcher_(compiled_->matcher()),
      words_(cache_->table().texts[0].tokens.size()) {
  // A token tells texts apart by no more than its bytes, so counters need not count further.
  matcher_.parser().set_clamp(static_cast<std::uint32_t>(cache_->table().longest + 1));
}

// Whether the grammar has this very token here, and not any but another.
bool MatcherState::names_token(Token token) {
  const Automaton& automaton = matcher_.parser().automaton();
  const auto places = matcher_.places();
  return std::any_of(places.begin(), places.end(), [&](const Place& place) {
    const auto moves = automaton.token_moves(place.state);
    return std::any_of(moves.begin(), moves.end(),
                       [token](const auto& move) { return !move.leaf.negated && move.leaf.token == token; });
  });
}

Closing& MatcherState::closing() {
  if (!closing_) closing_.emplace(compiled_->weights(tokenizer_, cache_->shared_table(), end_tokens_));
  return *closing_;
}

std::size_t MatcherState::tokens_to_end() { return ended_ ? 0 : closing().tokens_to_end(matcher_); }

void MatcherState::allowed(TokenSet& tokens, std::optional<std::size_t> budget) {
  if (ended_ || budget == std::size_t{0}) {
    tokens.clear();
    return;
  }
  if (!words_hold_ || words_budget_ != budget) make_words(budget);
  tokens.intersect(words_);
}

void MatcherState::make_words(std::optional<std::size_t> budget) {
  words_hold_ = false;
  walk_.allowed(matcher_, *cache_, words_);
  if (budget) closing().restrict(matcher_, walk_, *budget, words_);
  for (const Token end : end_tokens_) {
    const std::uint64_t bit = std::uint64_t{1} << end % 64;
    std::uint64_t& word = words_[static_cast<std::size_t>(end) / 64];
    word = can_end() ? word | bit : names_token(end) ? word : word & ~bit;
  }
  words_budget_ = budget;
  words_hold_ = true;
}

bool MatcherState::accept(Token token) {
  if (!push(token)) return false;
  words_hold_ = false;
  if (closing_) closing_->accepted(token);
  return true;
}

bool MatcherState::accept_bytes(std::string_view bytes) {
  if (ended_ || !matcher_.push(bytes)) return false;
  words_hold_ = false;
  if (closing_) closing_->accepted(-1);
  return true;
}

bool MatcherState::push(Token token) {
  if (ended_ || token < 0 || static_cast<std::size_t>(token) >= tokenizer_.size()) return false;
  const bool ends = std::binary_search(end_tokens_.begin(), end_tokens_.end(), token);
  if (ends && can_end()) {
    ended_ = true;
    return true;
  }
  if (ends && !names_token(token)) return false;
  const bool is_text = !ends && grammar::is_text(tokenizer_, token);
  const bool any_named = !matcher_.parser().automaton().token_leaves().empty();
  if (!is_text && !any_named) return false;
  return matcher_.push_token(token, tokenizer_.token_bytes(token), is_text);
}

std::vector<Token> MatcherState::forced_tokens(std::span<const Token> before) {
  return grammar::forced_tokens(tokenizer_, cache_->table(), before, forced_bytes(kMostForcedBytes));
}

void MatcherState::pop(std::size_t count) {
  words_hold_ = false;
  if (closing_) closing_->popped(count);
  if (count > 0 && ended_) {
    ended_ = false;
    --count;
  }
  matcher_.pop(count);
}

}  // namespace rill::grammar
