#include "sampling/token_history.h"

#include <algorithm>

#include "base/error.h"

namespace rill::sampling {

Result<void> TokenHistory::validate() const {
  if (window_ && *window_ == 0) return Error{ErrorCode::invalid_argument, "window = 0: must be at least 1, or absent"};
  if (scope_ != PenaltyScope::generated && scope_ != PenaltyScope::prompt_and_generated) {
    return Error{ErrorCode::invalid_argument, "scope is not one of generated, prompt_and_generated"};
  }
  return {};
}

std::string TokenHistory::describe() const {
  return format("scope={}, window={}", scope_ == PenaltyScope::generated ? "generated" : "prompt_and_generated",
                     window_ ? format("{}", *window_) : "all");
}

void TokenHistory::observe(std::span<const Token> tokens) {
  if (scope_ == PenaltyScope::generated) return;
  for (const Token token : tokens) accept(token);
}

void TokenHistory::accept(Token token) {
  tokens_.push_back(token);
  ++counts_[token];
  if (window_ && tokens_.size() > *window_) discount(tokens_[tokens_.size() - 1 - *window_]);
}

void TokenHistory::rollback(std::size_t count) {
  for (; count > 0 && !tokens_.empty(); --count) {
    if (window_ && tokens_.size() > *window_) ++counts_[tokens_[tokens_.size() - 1 - *window_]];
    discount(tokens_.back());
    tokens_.pop_back();
  }
}

void TokenHistory::reset() {
  tokens_.clear();
  counts_.clear();
}

std::span<const Token> TokenHistory::recent() const {
  return std::span<const Token>(tokens_).last(std::min(tokens_.size(), window_.value_or(tokens_.size())));
}

void TokenHistory::discount(Token token) {
  const auto found = counts_.find(token);
  if (--found->second == 0) counts_.erase(found);
}

}  // namespace rill::sampling
