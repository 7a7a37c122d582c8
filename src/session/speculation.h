// Guesses of the tokens that follow, for one answer: from where, and how many at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rill/generation.h"
#include "session/draft_model.h"
#include "session/prompt_lookup.h"
#include "session/session_state.h"

namespace rill::session {

// How many tokens to guess at a time, from how the guesses before fared. It counts and never measures time, so that a
// run can be repeated exactly.
class DraftLength {
 public:
  explicit DraftLength(std::size_t most) : most_(most) {}

  // For the next step; 0 while guessing is suspended.
  std::size_t next() {
    if (pause_ == 0) return std::min(length_, most_);
    --pause_;
    return 0;
  }
  // Of `drafted` tokens the first `accepted` were right.
  void learn(std::size_t drafted, std::size_t accepted);

 private:
  static constexpr std::size_t kPatience = 4;      // drafts in a row that may fail wholly
  static constexpr std::size_t kLongestPause = 5;  // 2^5 steps until one more is tried

  std::size_t most_;
  std::size_t length_ = 3;    // one less than a power of two
  std::size_t failures_ = 0;  // in a row
  std::size_t pause_ = 0;     // steps
};

class Speculation {
 public:
  static constexpr std::size_t kMostDrafts = 64;

  // Null where no source is named. `ends`: tokens behind which nothing is worth a guess.
  static Result<std::unique_ptr<Speculation>> create(const SpeculationOptions& options, const SessionState& session,
                                                     std::vector<Token> ends);

  // The text as it grows: the prompt, then each token of the answer.
  void observe(std::span<const Token> prompt);
  void accept(Token token);

  // Up to `most` tokens that may follow what `session` holds and then `last`, valid until the next call. The token that
  // `chain` chooses first stands behind `last`. Error: cancelled; whatever else fails costs guesses and no more.
  Result<std::span<const Token>> draft(const SessionState& session, Token last, std::size_t most,
                                       const SamplerChain& chain, const StopToken& stop);
  // One more of the last drafts was right.
  void count_accepted() { ++accepted_; }

 private:
  Speculation(const SpeculationOptions& options, std::vector<Token> ends)
      : ends_(std::move(ends)), lookup_length_(options.max_draft_tokens), model_length_(options.max_draft_tokens) {}

  std::vector<Token> ends_;  // ascending
  std::optional<PromptLookup> lookup_;
  std::optional<DraftModel> model_;
  DraftLength lookup_length_;
  DraftLength model_length_;
  DraftLength* source_ = nullptr;  // of the last drafts
  std::vector<Token> drafts_;
  std::size_t accepted_ = 0;  // of them
};

}  // namespace rill::session
