// A parse with its history: forward by bytes or tokens, back by any number of steps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/parser.h"
#include "rill/token.h"

namespace rill::grammar {

// One thread at a time. A copy goes on by itself. Throws ErrorException where a limit is reached, and stays as it was.
class TextMatcher {
 public:
  TextMatcher(Automaton& automaton, std::size_t max_stack_edges);

  // One step by all of `bytes`. False, and nothing changes, if no text of the grammar goes on like this.
  bool push(std::string_view bytes) { return push(bytes, std::nullopt); }
  // The same by a token, which may stand in the grammar as itself, too; then `bytes` are what its text says.
  bool push_token(Token token, std::string_view bytes, bool is_text);
  // Takes back the last `count` steps, at most steps().
  void pop(std::size_t count);
  void reset() { pop(steps()); }

  // The bytes, up to `most`, that every text goes on with from here.
  std::string forced(std::size_t most);

  std::size_t steps() const { return history_.size() - 1; }
  std::size_t bytes_read() const { return history_.back().bytes; }
  std::span<const Place> places() const { return std::span(places_).subspan(history_.back().places); }
  bool complete() const { return history_.back().complete; }
  // What was read, kept only for value checks.
  const std::string& text() const { return text_; }
  Parser& parser() { return parser_; }
  const Parser& parser() const { return parser_; }

 private:
  struct Step {
    std::size_t places, stacks, text, bytes;  // sizes before its places, before it, after it, after it
    bool complete;
  };
  bool push(std::string_view bytes, std::optional<Token> token, bool is_text = true);
  void read(std::string_view bytes);

  Parser parser_;
  std::vector<Step> history_;
  std::vector<Place> places_;  // of all steps
  std::string text_;
  Places now_, next_, by_token_;
};

}  // namespace rill::grammar
