// Models in memory, and answers that are written in advance.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rill/rill.h"
#include "support/tiny_model.h"

namespace rill::test {

inline std::shared_ptr<const Model> load_bytes(std::vector<std::byte> bytes, ModelOptions options = {.threads = 1}) {
  return Model::load(own_buffer(std::move(bytes)).value(), std::move(options)).value();
}

inline std::shared_ptr<const Model> load_tiny(const TinyModelOptions& options) { return load_bytes(make_tiny_model(options)); }

template <typename T>
ErrorCode code_of(const Result<T>& result) {
  return result ? throw std::runtime_error("no error") : result.error().code;
}

// Ids that differ from place to place and fit every tiny vocabulary.
inline std::vector<Token> some_tokens(std::size_t count, unsigned seed = 1) {
  std::vector<Token> tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = static_cast<Token>(10 + (i * i * 7 + i * 31 + seed * 97) % 300);
  return tokens;
}

// The token of exactly that text.
inline Token token_of(const Model& model, std::string_view text) {
  const auto token = model.tokenizer().find(text);
  if (!token) throw std::runtime_error("no token for " + std::string(text));
  return *token;
}

inline std::vector<Token> tokens_of(const Model& model, const std::vector<std::string>& pieces) {
  std::vector<Token> tokens;
  for (const std::string& piece : pieces) tokens.push_back(token_of(model, piece));
  return tokens;
}

// Gives the tokens of a script in turn, whatever the model says, and its last one for ever.
class Script final : public TokenSampler {
 public:
  explicit Script(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<Token> pick(Candidates&, Draws&) override { return tokens_[std::min(next_, tokens_.size() - 1)]; }
  Result<void> accept(Token) override { return ++next_, Result<void>(); }
  void rollback(std::size_t count) override { next_ -= count; }
  void reset() override { next_ = 0; }
  std::string describe() const override { return "script"; }
  std::unique_ptr<TokenSampler> clone() const override { return std::make_unique<Script>(*this); }
  Result<std::vector<std::byte>> save_state() const override { return std::vector<std::byte>(next_, std::byte{1}); }
  Result<void> restore_state(std::span<const std::byte> saved) override { return next_ = saved.size(), Result<void>(); }

 private:
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
};

inline SamplerChain script(std::vector<Token> tokens, std::vector<Processor> processors = {}) {
  return SamplerChain::create({.processors = std::move(processors), .sampler = Script(std::move(tokens))}).value();
}

// A stop token that triggers at its n-th poll (from 1), and counts them.
class CountedStop {
 public:
  explicit CountedStop(std::size_t stop_at = 0) : polls_(std::make_shared<std::size_t>(0)), stop_at_(stop_at) {}
  std::size_t polls() const { return *polls_; }
  operator StopToken() const {
    return StopToken([polls = polls_, stop_at = stop_at_] { return ++*polls == stop_at; });
  }

 private:
  std::shared_ptr<std::size_t> polls_;
  std::size_t stop_at_;
};

// A processor that fails or throws at its n-th call.
class Failing final : public LogitsProcessor {
 public:
  Failing(int at, bool throws) : left_(at), throws_(throws) {}
  Result<void> process(Candidates&, Draws&) override {
    if (--left_ > 0) return {};
    if (throws_) throw std::logic_error("its own fault");
    return Error{ErrorCode::limit_exceeded, "its own limit"};
  }
  std::string describe() const override { return "failing"; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Failing>(*this); }

 private:
  int left_;
  bool throws_;
};

}  // namespace rill::test
