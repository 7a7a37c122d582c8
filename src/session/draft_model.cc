#include "session/draft_model.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace rill::session {
namespace {

Result<void> check_same_vocabulary(const Tokenizer& model, const Tokenizer& draft) {
  const auto is_text = [](TokenKind kind) { return kind != TokenKind::control && kind != TokenKind::unused; };
  for (std::size_t i = 0; i < std::max(model.size(), draft.size()); ++i) {
    const Token token = static_cast<Token>(i);
    const bool same = model.kind(token) == draft.kind(token) && model.token_bytes(token) == draft.token_bytes(token);
    const bool only_one = i >= std::min(model.size(), draft.size());
    if (only_one ? is_text(model.kind(token)) || is_text(draft.kind(token)) : !same) {
      return make_error(
          ErrorCode::invalid_argument,
          "the draft session's model has another vocabulary: token {} is {:?} there and {:?} in the model", token,
          draft.token_bytes(token), model.token_bytes(token));
    }
  }
  return {};
}

// The draft model's logits as if they were the model's: cut or filled up to its vocabulary.
class DraftLogits final : public LogitsSource {
 public:
  DraftLogits(const SessionState& draft, std::size_t vocabulary)
      : head_(draft, draft.kept_count() - 1), vocabulary_(vocabulary) {}

  std::size_t vocabulary_size() const override { return vocabulary_; }
  std::size_t position() const override { return head_.position(); }
  Result<void> all(std::span<float> out) const override {
    const std::size_t own = head_.vocabulary_size();
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(std::min(own, out.size())), out.end(), kNever);
    if (own <= out.size()) return head_.all(out.first(own));
    std::vector<float> logits(own);
    RILL_TRY(head_.all(logits));
    std::copy_n(logits.begin(), out.size(), out.begin());
    return {};
  }
  Result<void> rows(std::span<const Token> ids, std::span<float> out) const override {
    const auto end = std::lower_bound(ids.begin(), ids.end(), static_cast<Token>(head_.vocabulary_size()));
    const auto own = static_cast<std::size_t>(end - ids.begin());
    std::fill(out.begin() + (end - ids.begin()), out.end(), kNever);
    return head_.rows(ids.first(own), out.first(own));
  }

 private:
  static constexpr float kNever = -std::numeric_limits<float>::infinity();

  HeldLogits head_;
  std::size_t vocabulary_;
};

}  // namespace

Result<DraftModel> DraftModel::create(std::shared_ptr<SessionState> draft, const SessionState& session) {
  if (draft == nullptr || draft.get() == &session) {
    return make_error(ErrorCode::invalid_argument, "draft_session is {}",
                      draft == nullptr ? "moved from" : "the session itself");
  }
  if (draft->model() != session.model()) {
    RILL_TRY(check_same_vocabulary(session.model()->tokenizer(), draft->model()->tokenizer()));
  }
  return DraftModel(std::move(draft), session.loaded().vocabulary_size());
}

Result<void> DraftModel::append(std::span<const Token> tokens, const StopToken& stop) {
  const Keep keep;
  const SessionState::Append append{draft_.get(), tokens, &keep};
  return SessionState::append({&append, 1}, stop, {});
}

// Computes what follows the longest common prefix, the last token in any case.
Result<void> DraftModel::follow(std::span<const Token> text, const StopToken& stop) {
  const auto held = draft_->tokens();
  const auto differs = std::mismatch(text.begin(), text.end() - 1, held.begin(), held.end());
  const auto common = static_cast<std::size_t>(differs.first - text.begin());
  RILL_TRY(draft_->truncate(common, true));
  return append(text.subspan(common), stop);
}

Result<void> DraftModel::draft(std::span<const Token> text, std::size_t most, const SamplerChain& chain,
                               std::span<const Token> ends, const StopToken& stop, std::vector<Token>& drafts) {
  return guarded([&]() -> Result<void> {
    RILL_ASSIGN(const auto entry, draft_->enter());
    RILL_TRY(follow(text, stop));
    SamplerChain own = chain.clone();
    for (std::size_t i = 0; i < most; ++i) {
      if (i > 0) RILL_TRY(append({&drafts.back(), 1}, stop));
      RILL_ASSIGN(const Token token, own.sample(DraftLogits(*draft_, vocabulary_)));
      if (std::binary_search(ends.begin(), ends.end(), token)) break;
      own.accept(token);
      drafts.push_back(token);
    }
    return {};
  });
}

}  // namespace rill::session
