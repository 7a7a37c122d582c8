#include "grammar/text_matcher.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace rill::grammar {
namespace {

std::optional<std::uint8_t> only_byte(Automaton& automaton, const Places& at) {
  if (at.complete) return std::nullopt;
  std::optional<std::uint8_t> only;
  for (unsigned value = 0; value < 256; ++value) {
    const auto byte = static_cast<std::uint8_t>(value);
    const auto reads = [&](const Place& place) { return automaton.next(place.state, byte) != State::dead; };
    if (std::none_of(at.places.begin(), at.places.end(), reads)) continue;
    if (only) return std::nullopt;
    only = byte;
  }
  const auto reads_tokens = [&](const Place& place) { return !automaton.token_moves(place.state).empty(); };
  return std::any_of(at.places.begin(), at.places.end(), reads_tokens) ? std::nullopt : only;
}

}  // namespace

TextMatcher::TextMatcher(Automaton& automaton, std::size_t max_stack_edges) : parser_(automaton, max_stack_edges) {
  parser_.begin(now_);
  places_ = now_.places;
  history_.push_back({0, 1, 0, 0, now_.complete});
}

void TextMatcher::read(std::string_view bytes) {
  const auto current = places();
  now_.places.assign(current.begin(), current.end());
  now_.complete = complete();
  for (const char byte : bytes) {
    if (parser_.automaton().has_checks()) text_ += byte;
    parser_.step(now_.places, static_cast<std::uint8_t>(byte), text_, next_);
    std::swap(now_, next_);
    if (!now_.alive()) return;
  }
}

bool TextMatcher::push(std::string_view bytes, std::optional<Token> token, bool is_text) {
  const std::size_t stacks = parser_.stacks().size(), text = text_.size();
  const std::size_t begin = places_.size();
  const auto undo = [&] {
    places_.resize(begin);
    parser_.stacks().truncate(stacks);
    text_.resize(text);
  };
  try {
    now_ = {};
    if (is_text) read(bytes);
    if (token) {
      text_.resize(text);
      if (parser_.automaton().has_checks()) text_ += bytes;
      parser_.step_token(places(), *token, text_, by_token_);
      now_.complete |= by_token_.complete;
      now_.places.insert(now_.places.end(), by_token_.places.begin(), by_token_.places.end());
      std::sort(now_.places.begin(), now_.places.end());
      now_.places.erase(std::unique(now_.places.begin(), now_.places.end()), now_.places.end());
    }
    if (!now_.alive()) {
      undo();
      return false;
    }
    places_.insert(places_.end(), now_.places.begin(), now_.places.end());
    history_.push_back({begin, stacks, text_.size(), history_.back().bytes + bytes.size(), now_.complete});
  } catch (...) {
    undo();
    throw;
  }
  return true;
}

bool TextMatcher::push_token(Token token, std::string_view bytes, bool is_text) {
  const bool moves = !parser_.automaton().token_leaves().empty();
  return push(bytes, moves ? std::optional(token) : std::nullopt, is_text);
}

void TextMatcher::pop(std::size_t count) {
  for (; count > 0; --count) {
    places_.resize(history_.back().places);
    parser_.stacks().truncate(history_.back().stacks);
    history_.pop_back();
    text_.resize(history_.back().text);
  }
}

std::string TextMatcher::forced(std::size_t most) {
  const StacksMark mark(parser_.stacks());
  std::string text = text_, bytes;
  read({});
  while (bytes.size() < most) {
    const auto byte = only_byte(parser_.automaton(), now_);
    if (!byte) break;
    if (parser_.automaton().has_checks()) text += static_cast<char>(*byte);
    parser_.step(now_.places, *byte, text, next_);
    if (!next_.alive()) break;  // a check of a value refuses it
    std::swap(now_, next_);
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

}  // namespace rill::grammar
