#include <algorithm>

#include "rill/processors.h"
#include "sampling/option_check.h"
#include "sampling/stage.h"

namespace rill {
namespace sampling {
namespace {

Result<void> check_tokens(const char* option, std::span<const Token> tokens) {
  for (const Token token : tokens) {
    if (token < 0) return refused(option, token, "token ids");
  }
  return {};
}

class BannedTokens final : public Clonable<LogitsProcessor, BannedTokens> {
 public:
  explicit BannedTokens(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<void> validate() const override { return check_tokens("banned", tokens_); }
  std::string describe() const override { return format("banned_tokens({} tokens)", tokens_.size()); }
  bool allow(TokenSet& allowed) override {
    for (const Token token : tokens_) allowed.remove(token);
    return !tokens_.empty();
  }
  template <typename Archive>
  void fields(Archive& archive) {
    archive.expect(tokens_);
  }

 private:
  std::vector<Token> tokens_;
};

class MinTokens final : public Clonable<LogitsProcessor, MinTokens> {
 public:
  explicit MinTokens(MinTokensOptions options) : options_(std::move(options)) {}

  Result<void> validate() const override {
    if (options_.count > 0 && options_.end_tokens.empty()) {
      return make_error(ErrorCode::invalid_argument, "count = {} without end_tokens", options_.count);
    }
    return check_tokens("end_tokens", options_.end_tokens);
  }
  std::string describe() const override {
    return format("min_tokens(count={}, {} end tokens)", options_.count, options_.end_tokens.size());
  }
  bool allow(TokenSet& allowed) override {
    if (generated_ >= options_.count) return false;
    for (const Token token : options_.end_tokens) allowed.remove(token);
    return true;
  }
  Result<void> accept(Token) override {
    ++generated_;
    return {};
  }
  void rollback(std::size_t count) override { generated_ -= count; }
  void reset() override { generated_ = 0; }
  template <typename Archive>
  void fields(Archive& archive) {
    archive.expect(options_.end_tokens);
    archive(generated_);
  }

 private:
  MinTokensOptions options_;
  std::size_t generated_ = 0;
};

class LogitBias final : public Clonable<LogitsProcessor, LogitBias> {
 public:
  explicit LogitBias(std::vector<TokenBias> biases) : biases_(std::move(biases)) {
    std::stable_sort(biases_.begin(), biases_.end(),
                     [](const TokenBias& a, const TokenBias& b) { return a.token < b.token; });
  }

  Result<void> validate() const override {
    for (std::size_t i = 0; i < biases_.size(); ++i) {
      const auto& [token, bias] = biases_[i];
      if (token < 0) return refused("logit_bias token", token, "a token id");
      if (!std::isfinite(bias)) {
        return make_error(ErrorCode::invalid_argument, "logit_bias of token {} = {}: must be finite", token, bias);
      }
      if (i > 0 && biases_[i - 1].token == token) {
        return make_error(ErrorCode::invalid_argument, "logit_bias names token {} twice", token);
      }
    }
    return {};
  }
  std::string describe() const override { return format("logit_bias({} tokens)", biases_.size()); }
  Result<void> process(Candidates& candidates, Draws&) override {
    for (const auto& [token, bias] : biases_) {
      if (static_cast<std::size_t>(token) >= candidates.vocabulary_size()) {
        return make_error(ErrorCode::invalid_argument, "logit_bias names token {}, outside the vocabulary of {}", token,
                          candidates.vocabulary_size());
      }
      const auto index = candidates.find(token);
      if (index) candidates.set_value(*index, candidates.value(*index) + bias);
    }
    return {};
  }
  template <typename Archive>
  void fields(Archive& archive) {
    for (const TokenBias& bias : biases_) {
      archive.expect(bias.token);
      archive.expect(bias.bias);
    }
  }

 private:
  std::vector<TokenBias> biases_;  // ascending
};

}  // namespace
}  // namespace sampling

Processor banned_tokens(std::vector<Token> tokens) { return sampling::BannedTokens(std::move(tokens)); }
Processor min_tokens(MinTokensOptions options) { return sampling::MinTokens(std::move(options)); }
Processor logit_bias(std::vector<TokenBias> biases) { return sampling::LogitBias(std::move(biases)); }

}  // namespace rill
