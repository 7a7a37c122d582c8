#include "session/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tokenizer/control_texts.h"

namespace rill::session {
namespace {

std::uint32_t symbol_of(char byte) { return static_cast<unsigned char>(byte); }
std::uint32_t symbol_of(Token token) { return 256 + static_cast<std::uint32_t>(token); }

}  // namespace

Result<StopMatcher> StopMatcher::create(const std::vector<std::string>& stops, const Tokenizer* hidden) {
  StopMatcher matcher;
  std::size_t total = 0;
  std::vector<Symbol> symbols;
  for (std::size_t i = 0; i < stops.size(); ++i) {
    const std::string_view stop = stops[i];
    if (stop.empty()) return make_error(ErrorCode::invalid_argument, "stop_strings[{}] is empty", i);
    total += stop.size();
    if (total > kMaxTotalBytes) {
      return make_error(ErrorCode::limit_exceeded, "stop_strings hold more than {} bytes", kMaxTotalBytes);
    }
    const auto add_text = [&](std::string_view text) {
      std::transform(text.begin(), text.end(), std::back_inserter(symbols), [](char byte) { return symbol_of(byte); });
    };
    symbols.clear();
    add_text(stop);
    matcher.texts_.add(symbols, i);
    if (hidden == nullptr) continue;
    symbols.clear();
    std::size_t done = 0;
    for (const auto& control : tokenizer::control_texts(*hidden, stop)) {
      add_text(stop.substr(done, control.begin - done));
      symbols.push_back(symbol_of(control.token));
      done = control.end;
    }
    add_text(stop.substr(done));
    if (done > 0) matcher.mixed_.add(symbols, i);
  }
  matcher.texts_.link();
  matcher.mixed_.link();
  return matcher;
}

std::uint32_t StopMatcher::Automaton::child(std::uint32_t node, Symbol symbol) const {
  std::uint32_t at = nodes_[node].first_child;
  while (at != 0 && nodes_[at].symbol != symbol) at = nodes_[at].next_sibling;
  return at;
}

void StopMatcher::Automaton::add(std::span<const Symbol> stop, std::size_t index) {
  std::uint32_t node = 0;
  for (const Symbol symbol : stop) {
    std::uint32_t next = child(node, symbol);
    if (next == 0) {
      next = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({0, nodes_[node].first_child, 0, nodes_[node].bytes + (symbol < 256 ? 1u : 0u), -1, symbol});
      nodes_[node].first_child = next;
    }
    node = next;
  }
  if (nodes_[node].stop < 0) nodes_[node].stop = static_cast<std::int32_t>(index);
  bytes_.resize(index + 1);
  bytes_[index] = nodes_[node].bytes;
}

// Breadth first, so that a node's fallback is complete before its children need it.
void StopMatcher::Automaton::link() {
  std::vector<std::uint32_t> queue = {0};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (std::uint32_t at = nodes_[queue[i]].first_child; at != 0; at = nodes_[at].next_sibling) {
      queue.push_back(at);
      if (queue[i] == 0) continue;
      std::uint32_t fallback = nodes_[queue[i]].fallback;
      while (fallback != 0 && child(fallback, nodes_[at].symbol) == 0) fallback = nodes_[fallback].fallback;
      nodes_[at].fallback = child(fallback, nodes_[at].symbol);
      if (nodes_[at].stop < 0) nodes_[at].stop = nodes_[nodes_[at].fallback].stop;
    }
  }
}

void StopMatcher::Automaton::feed(Symbol symbol) {
  std::uint32_t next = child(state_, symbol);
  while (next == 0 && state_ != 0) {
    state_ = nodes_[state_].fallback;
    next = child(state_, symbol);
  }
  state_ = next;
}

std::optional<std::size_t> StopMatcher::Automaton::match() const {
  if (nodes_[state_].stop < 0) return std::nullopt;
  return static_cast<std::size_t>(nodes_[state_].stop);
}

// Lets go what belongs to no match. True: the stream has ended.
bool StopMatcher::settle(Step& step) {
  std::size_t keep = std::max(texts_.open_bytes(), mixed_.open_bytes());
  for (const Automaton* automaton : {&texts_, &mixed_}) {
    const auto match = automaton->match();
    if (!match || (step.match && automaton->match_bytes() <= keep)) continue;
    step.match = match;
    keep = automaton->match_bytes();
  }
  step.text.append(held_, 0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  if (step.match) held_.clear();
  return step.match.has_value();
}

StopMatcher::Step StopMatcher::push(std::string_view text) {
  Step step;
  for (const char byte : text) {
    held_.push_back(byte);
    texts_.feed(symbol_of(byte));
    mixed_.feed(symbol_of(byte));
    if (settle(step)) break;
  }
  return step;
}

StopMatcher::Step StopMatcher::push_hidden(Token token) {
  Step step;
  mixed_.feed(symbol_of(token));
  if (mixed_.match()) settle(step);
  return step;
}

std::string StopMatcher::flush() {
  texts_.restart();
  mixed_.restart();
  return std::exchange(held_, {});
}

}  // namespace rill::session
