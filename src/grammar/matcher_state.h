// What a GrammarMatcher holds.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "grammar/closing.h"
#include "grammar/compiled.h"
#include "grammar/mask_walk.h"
#include "grammar/text_matcher.h"

namespace rill::grammar {

// A copy goes on by itself. Throws what its parts throw, and stays as it was.
class MatcherState {
 public:
  // `end_tokens`: ascending.
  MatcherState(std::shared_ptr<const Compiled> compiled, Tokenizer tokenizer, std::shared_ptr<MaskCache> cache,
               std::vector<Token> end_tokens);

  void allowed(TokenSet& tokens, std::optional<std::size_t> budget = std::nullopt);
  std::size_t tokens_to_end();
  bool accept(Token token);
  bool accept_bytes(std::string_view bytes);
  void pop(std::size_t count);
  std::string forced_bytes(std::size_t most) { return ended_ ? std::string() : matcher_.forced(most); }
  std::vector<Token> forced_tokens(std::span<const Token> before);

  std::size_t steps() const { return matcher_.steps() + (ended_ ? 1 : 0); }
  std::size_t bytes_read() const { return matcher_.bytes_read(); }
  bool can_end() const { return matcher_.complete(); }
  bool ended() const { return ended_; }

 private:
  void make_words(std::optional<std::size_t> budget);
  bool names_token(Token token);
  bool push(Token token);
  Closing& closing();

  std::shared_ptr<const Compiled> compiled_;
  Tokenizer tokenizer_;
  std::shared_ptr<MaskCache> cache_;
  std::vector<Token> end_tokens_;  // ascending
  TextMatcher matcher_;
  MaskWalk walk_;
  std::optional<Closing> closing_;  // from when it is first asked
  std::vector<std::uint64_t> words_;  // the last mask
  bool words_hold_ = false;           // here, for this budget
  std::optional<std::size_t> words_budget_;
  bool ended_ = false;
};

}  // namespace rill::grammar
