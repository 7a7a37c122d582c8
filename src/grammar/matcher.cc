#include <algorithm>

#include "base/archive.h"
#include "base/error.h"
#include "grammar/matcher_state.h"
#include "rill/grammar.h"
#include "tokenizer/attachment.h"

namespace rill {
namespace {

std::shared_ptr<const grammar::TokenTable> table_of(const Tokenizer& tokenizer) {
  return tokenizer::Attachment::of<grammar::TokenTable>(
      tokenizer, [&] { return std::make_shared<const grammar::TokenTable>(tokenizer); });
}

// Ascending.
std::vector<Token> end_tokens_of(const Tokenizer& tokenizer, const GrammarMatcherOptions& options) {
  const auto own = tokenizer.end_tokens();
  std::vector<Token> end_tokens = options.end_tokens.value_or(std::vector<Token>(own.begin(), own.end()));
  std::sort(end_tokens.begin(), end_tokens.end());
  return end_tokens;
}

}  // namespace

GrammarMatcher::GrammarMatcher(std::unique_ptr<grammar::MatcherState> state) : state_(std::move(state)) {}
GrammarMatcher::GrammarMatcher(const GrammarMatcher& other)
    : state_(std::make_unique<grammar::MatcherState>(*other.state_)) {}
GrammarMatcher::GrammarMatcher(GrammarMatcher&&) noexcept = default;
GrammarMatcher& GrammarMatcher::operator=(const GrammarMatcher& other) {
  if (this != &other) state_ = std::make_unique<grammar::MatcherState>(*other.state_);
  return *this;
}
GrammarMatcher& GrammarMatcher::operator=(GrammarMatcher&&) noexcept = default;
GrammarMatcher::~GrammarMatcher() = default;

Result<GrammarMatcher> GrammarMatcher::create(const Grammar& grammar, const Tokenizer& tokenizer,
                                              const GrammarMatcherOptions& options) {
  return guarded([&]() -> Result<GrammarMatcher> {
    std::vector<Token> end_tokens = end_tokens_of(tokenizer, options);
    for (const Token token : end_tokens) {
      if (token < 0 || static_cast<std::size_t>(token) >= tokenizer.size()) {
        return make_error(ErrorCode::invalid_argument, "end_tokens holds {}, which is not in the vocabulary of {}", token,
                          tokenizer.size());
      }
    }
    const auto& compiled = grammar.compiled_;
    return GrammarMatcher(std::make_unique<grammar::MatcherState>(
        compiled, tokenizer, compiled->masks(table_of(tokenizer)), std::move(end_tokens)));
  });
}

Result<void> GrammarMatcher::allowed(TokenSet& tokens, std::optional<std::size_t> budget) {
  return guarded([&]() -> Result<void> {
    state_->allowed(tokens, budget);
    return {};
  });
}

Result<std::size_t> GrammarMatcher::shortest_tokens() {
  return guarded([&]() -> Result<std::size_t> {
    const std::size_t tokens = state_->tokens_to_end();
    if (tokens < grammar::kNever) return tokens;
    return make_error(ErrorCode::unsupported, "no tokens are known to finish the grammar's text after {} bytes",
                      state_->bytes_read());
  });
}

Result<void> GrammarMatcher::accept(Token token) {
  return guarded([&]() -> Result<void> {
    if (state_->accept(token)) return {};
    return make_error(ErrorCode::invalid_argument, "the grammar does not allow token {} after {} bytes", token,
                      state_->bytes_read());
  });
}

Result<void> GrammarMatcher::accept_bytes(std::string_view bytes) {
  return guarded([&]() -> Result<void> {
    if (state_->accept_bytes(bytes)) return {};
    return make_error(ErrorCode::invalid_argument, "the grammar does not allow these {} bytes after {} bytes",
                      bytes.size(), state_->bytes_read());
  });
}

Result<void> GrammarMatcher::rollback(std::size_t count) {
  if (count > steps()) {
    return make_error(ErrorCode::invalid_argument, "rollback of {} steps, of which there were {}", count, steps());
  }
  state_->pop(count);
  return {};
}

void GrammarMatcher::reset() { state_->pop(steps()); }
Result<std::string> GrammarMatcher::forced_bytes(std::size_t most) {
  return guarded([&]() -> Result<std::string> { return state_->forced_bytes(most); });
}

Result<std::vector<Token>> GrammarMatcher::forced_tokens(std::span<const Token> before) {
  return guarded([&]() -> Result<std::vector<Token>> { return state_->forced_tokens(before); });
}

std::size_t GrammarMatcher::steps() const { return state_->steps(); }
bool GrammarMatcher::can_end() const { return state_->can_end(); }
bool GrammarMatcher::ended() const { return state_->ended(); }

namespace grammar {
namespace {

// Without the matcher that could not be made, it fails validation.
class GrammarMask final : public LogitsProcessor {
 public:
  GrammarMask(Result<GrammarMatcher> matcher, std::uint64_t digest, std::vector<Token> end_tokens,
              std::optional<std::size_t> max_tokens)
      : matcher_(std::move(matcher)), digest_(digest), end_tokens_(std::move(end_tokens)), max_tokens_(max_tokens) {
    if (const auto fits = check_budget(); !fits) matcher_ = fits.error();
  }

  Result<void> validate() const override { return matcher_ ? Result<void>() : matcher_.error(); }
  std::string describe() const override { return "grammar_mask()"; }
  bool allow(TokenSet& allowed) override {
    matcher_.value().allowed(allowed, budget()).value();  // a limit that is reached: the chain reports what is thrown
    return true;
  }
  void prepare() override {
    TokenSet unused;
    (void)matcher_.value().allowed(unused, budget());
  }
  Result<void> accept(Token token) override {
    RILL_TRY(matcher_.value().accept(token));
    accepted_.push_back(token);
    return {};
  }
  Result<std::vector<Token>> forced() override { return matcher_.value().forced_tokens(accepted_); }
  void rollback(std::size_t count) override {
    matcher_.value().rollback(count).value();
    accepted_.resize(accepted_.size() - count);
  }
  void reset() override {
    matcher_.value().reset();
    accepted_.clear();
  }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<GrammarMask>(*this); }

  Result<std::vector<std::byte>> save_state() const override {
    ArchiveWriter archive;
    archive(digest_, end_tokens_, accepted_);
    return archive.take();
  }
  Result<void> restore_state(std::span<const std::byte> saved) override;

 private:
  Result<void> check_budget();
  std::optional<std::size_t> budget() const {
    if (!max_tokens_) return std::nullopt;
    return *max_tokens_ - std::min(*max_tokens_, accepted_.size());
  }

  Result<GrammarMatcher> matcher_;
  std::uint64_t digest_;           // of the grammar
  std::vector<Token> end_tokens_;  // ascending
  std::optional<std::size_t> max_tokens_;
  std::vector<Token> accepted_;    // since its begin: all that the matcher's state follows from
};

Result<void> GrammarMask::check_budget() {
  if (!matcher_ || !max_tokens_) return {};
  RILL_ASSIGN(const std::size_t shortest, matcher_.value().shortest_tokens());
  if (*max_tokens_ >= shortest) return {};
  return make_error(ErrorCode::invalid_argument,
                    "{} tokens are left for a grammar whose shortest text takes {}, its end token included", *max_tokens_,
                    shortest);
}

Result<void> GrammarMask::restore_state(std::span<const std::byte> saved) {
  std::uint64_t digest = 0;
  std::vector<Token> end_tokens, accepted;
  ArchiveReader archive(saved);
  archive(digest, end_tokens, accepted);
  RILL_TRY(archive.finish("state"));
  if (digest != digest_) {
    return make_error(ErrorCode::incompatible, "saved under a grammar with digest {:016x}, this one has {:016x}", digest,
                      digest_);
  }
  if (end_tokens != end_tokens_) return Error{ErrorCode::incompatible, "saved with other end_tokens"};
  reset();
  TokenSet unused;
  for (const Token token : accepted) {
    // What has been planned for a budget follows from the masks that were made.
    if (max_tokens_) RILL_TRY(matcher_.value().allowed(unused, budget()));
    if (const auto done = accept(token); !done) {
      const ErrorCode code = done.error().code;
      return make_error(code == ErrorCode::invalid_argument ? ErrorCode::malformed : code, "state: {}",
                        done.error().message);
    }
  }
  return {};
}

}  // namespace
}  // namespace grammar

Processor grammar_mask(const Grammar& grammar, const Tokenizer& tokenizer, const GrammarMatcherOptions& options) {
  return grammar::GrammarMask(GrammarMatcher::create(grammar, tokenizer, options), grammar.digest(),
                              end_tokens_of(tokenizer, options), options.max_tokens);
}

}  // namespace rill
