#include "session/speculation.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace rill::session {

// With the token before them drafts make 2, 4, 8 or 16 rows, whole tiles of the kernels: a pass over 7 rows takes
// longer than one over 8.
void DraftLength::learn(std::size_t drafted, std::size_t accepted) {
  failures_ = accepted == 0 ? failures_ + 1 : 0;
  if (accepted == drafted) {
    length_ = std::min(2 * length_ + 1, std::bit_ceil(most_ + 1) - 1);
  } else {
    length_ = accepted == 0 ? std::max<std::size_t>(1, length_ / 2) : std::bit_ceil(accepted + 1) - 1;
  }
  if (failures_ < kPatience) return;
  pause_ = std::size_t{1} << std::min(failures_ - kPatience, kLongestPause);
}

Result<std::unique_ptr<Speculation>> Speculation::create(const SpeculationOptions& options, const SessionState& session,
                                                         std::vector<Token> ends) {
  if (options.max_draft_tokens < 1 || options.max_draft_tokens > kMostDrafts) {
    return make_error(ErrorCode::invalid_argument, "max_draft_tokens = {}, not in [1, {}]", options.max_draft_tokens,
                      kMostDrafts);
  }
  if (!options.prompt_lookup && options.draft_session == nullptr) return std::unique_ptr<Speculation>();
  std::sort(ends.begin(), ends.end());
  std::unique_ptr<Speculation> speculation(new Speculation(options, std::move(ends)));
  if (options.prompt_lookup) speculation->lookup_.emplace(session.options().context_tokens);
  if (options.draft_session != nullptr) {
    RILL_ASSIGN(speculation->model_, DraftModel::create(options.draft_session->state(), session));
  }
  return speculation;
}

void Speculation::observe(std::span<const Token> prompt) {
  for (const Token token : prompt) accept(token);
}

void Speculation::accept(Token token) {
  if (lookup_) lookup_->append(token);
}

Result<std::span<const Token>> Speculation::draft(const SessionState& session, Token last, std::size_t most,
                                                  const SamplerChain& chain, const StopToken& stop) {
  if (!drafts_.empty()) source_->learn(drafts_.size(), accepted_);
  drafts_.clear();
  accepted_ = 0;
  if (lookup_) {
    source_ = &lookup_length_;
    lookup_->draft(std::min(most, lookup_length_.next()), drafts_);
    const auto is_end = [&](Token token) { return std::binary_search(ends_.begin(), ends_.end(), token); };
    drafts_.erase(std::find_if(drafts_.begin(), drafts_.end(), is_end), drafts_.end());
  }
  if (model_ && drafts_.empty()) {
    source_ = &model_length_;
    if (const std::size_t length = std::min(most, model_length_.next()); length > 0) {
      std::vector<Token> text(session.tokens().begin(), session.tokens().end());
      text.push_back(last);
      const auto guessed = model_->draft(text, length, chain, ends_, stop, drafts_);
      if (!guessed && guessed.error().code == ErrorCode::cancelled) return guessed.error();
    }
  }
  return std::span<const Token>(drafts_);
}

}  // namespace rill::session
