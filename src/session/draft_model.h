// Guesses what a smaller model of the same vocabulary would say.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "rill/sampler_chain.h"
#include "session/session_state.h"

namespace rill::session {

class DraftModel {
 public:
  // invalid_argument: `draft` is the session itself, or names the first token in which the vocabularies differ. At
  // their end one may have more, as larger models of a family do: tokens that are no text.
  static Result<DraftModel> create(std::shared_ptr<SessionState> draft, const SessionState& session);

  // Appends up to `most` tokens to `drafts`: what a clone of `chain` chooses after `text` when the draft model's logits
  // stand for the model's; up to and without one of `ends`, which are ascending. On error `drafts` holds what was
  // guessed before.
  Result<void> draft(std::span<const Token> text, std::size_t most, const SamplerChain& chain,
                     std::span<const Token> ends, const StopToken& stop, std::vector<Token>& drafts);

 private:
  DraftModel(std::shared_ptr<SessionState> draft, std::size_t vocabulary)
      : draft_(std::move(draft)), vocabulary_(vocabulary) {}
  Result<void> append(std::span<const Token> tokens, const StopToken& stop);
  Result<void> follow(std::span<const Token> text, const StopToken& stop);

  std::shared_ptr<SessionState> draft_;
  std::size_t vocabulary_;  // of the model
};

}  // namespace rill::session
