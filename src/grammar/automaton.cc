#include "grammar/automaton.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"

namespace rill::grammar {

Automaton::Automaton(Rules rules, std::size_t max_states)
    : rules_(std::move(rules)), max_states_(std::min(max_states, kChunk * kMaxChunks)) {
  find_classes();
  for (RuleBody& rule : rules_.rules) rule.body = without_dead_ends(rule.body);
  cut_dead_calls(rules_);
  state_of(Expr::nothing);
  state_of(Expr::epsilon);
  for (const RuleBody& rule : rules_.rules) {
    start_.push_back(state_of(rule.body));
    has_checks_ |= rule.check != nullptr;
  }
  original_ = rules_.expressions.size();
}

Automaton::~Automaton() {
  for (auto& chunk : chunks_) delete chunk.load();
}

// Bytes that no set tells apart.
void Automaton::find_classes() {
  std::array<std::uint32_t, 256> part{};
  std::uint32_t parts = 1;
  for (const ByteSet& set : rules_.expressions.sets()) {
    std::array<std::uint32_t, 512> split{};  // number + 1, by old part and membership
    parts = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::uint32_t& number = split[part[byte] * 2 + (set.contains(byte) ? 1 : 0)];
      if (number == 0) number = ++parts;
      part[byte] = number - 1;
    }
    if (parts == 256) break;
  }
  std::vector<int> seen(parts, -1);
  for (unsigned byte = 0; byte < 256; ++byte) {
    int& number = seen[part[byte]];
    if (number < 0) {
      number = static_cast<int>(class_bytes_.size());
      class_bytes_.push_back(static_cast<std::uint8_t>(byte));
    }
    classes_[byte] = static_cast<std::uint8_t>(number);
  }
}

Automaton::Info& Automaton::add_state(Expr expr) {
  const std::size_t number = count_.load(std::memory_order_relaxed);
  if (number >= max_states_) {
    throw ErrorException(make_error(ErrorCode::limit_exceeded, "the grammar needs more than max_states = {} states",
                                    max_states_));
  }
  std::atomic<Chunk*>& slot = chunks_[number / kChunk];
  if (slot.load(std::memory_order_relaxed) == nullptr) {
    auto chunk = std::make_unique<Chunk>();
    chunk->next = std::make_unique<std::atomic<State>[]>(kChunk * classes());
    for (std::size_t i = 0; i < kChunk * classes(); ++i) chunk->next[i].store(State::unknown, std::memory_order_relaxed);
    slot.store(chunk.release(), std::memory_order_release);
  }
  Chunk& chunk = *slot.load(std::memory_order_relaxed);
  Info& added = chunk.info[number % kChunk];
  added.next = &chunk.next[number % kChunk * classes()];
  added.expr = expr;
  return added;
}

// The state of `expr`, whole before its number is handed out.
State Automaton::state_of(Expr expr) {
  if (by_expr_.size() <= index(expr)) by_expr_.resize(index(expr) + index(expr) / 2 + 64, State::unknown);
  if (by_expr_[index(expr)] != State::unknown) return by_expr_[index(expr)];
  Expressions& expressions = rules_.expressions;
  std::vector<Letter> letters = expressions.front(expr);
  std::stable_sort(letters.begin(), letters.end(), [](const Letter& a, const Letter& b) { return a.kind < b.kind; });
  auto moves = std::make_unique<Move[]>(letters.size());
  std::size_t calls = 0, tokens = 0;
  for (const Letter letter : letters) {
    Move& move = moves[calls + tokens];
    move.rest = without_dead_ends(expressions.derivative(expr, letter));
    if (move.rest == Expr::nothing) continue;
    if (letter.kind == Kind::call) {
      move.rule = static_cast<Rule>(letter.value);
      ++calls;
    } else {
      move.leaf = expressions.token_leaves()[letter.value];
      ++tokens;
    }
  }
  Info& state = add_state(expr);
  state.moves = std::move(moves);
  state.calls = calls;
  state.tokens = tokens;
  state.accepts = expressions.nullable(expr);
  state.reads_bytes = !expressions.first_bytes(expr).empty();
  state.counted = expressions.counted(expr);
  state.plain = !state.accepts && calls + tokens == 0;
  by_expr_[index(expr)] = static_cast<State>(count_.fetch_add(1, std::memory_order_relaxed));
  return by_expr_[index(expr)];
}

State Automaton::make_next(State state, std::uint8_t byte) {
  const std::lock_guard lock(mutex_);
  std::atomic<State>* const next = info(state).next;
  if (const State known = next[classes_[byte]].load(std::memory_order_relaxed); known != State::unknown) return known;
  ByteSet alike;
  const Expr rest = rules_.expressions.derivative(info(state).expr, {Kind::bytes, class_bytes_[classes_[byte]]}, &alike);
  const State made = state_of(without_dead_ends(rest));
  for (std::size_t i = 0; i < class_bytes_.size(); ++i) {
    if (alike.contains(class_bytes_[i])) next[i].store(made, std::memory_order_release);
  }
  return made;
}

State Automaton::make_after(Move& move) {
  const std::lock_guard lock(mutex_);
  const State made = state_of(move.rest);
  move.then.store(made, std::memory_order_release);
  return made;
}

State Automaton::clamped(State state, std::uint32_t most) {
  if (!info(state).counted) return state;
  const std::lock_guard lock(mutex_);
  const std::uint64_t key = std::uint64_t{most} << 32 | static_cast<std::uint32_t>(state);
  const auto found = clamped_.find(key);
  if (found != clamped_.end()) return found->second;
  const State made = state_of(rules_.expressions.clamp_counts(info(state).expr, most, original_));
  clamped_.emplace(key, made);
  return made;
}

TextRoom Automaton::room(State state) {
  Info& of = info(state);
  if (of.room_known.load(std::memory_order_acquire)) return of.room.load(std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const TextRoom room = rooms_.of(of.expr);
  of.room.store(room, std::memory_order_relaxed);
  of.room_known.store(true, std::memory_order_release);
  return room;
}

bool Automaton::loops(State state, TextKind kind) {
  const std::lock_guard lock(mutex_);
  return rooms_.loops(info(state).expr, kind);
}

bool Automaton::counts(State state) {
  const std::lock_guard lock(mutex_);
  return rooms_.counts(info(state).expr);
}

// Intersections and complements may match nothing without showing it; no state may be a dead end.
Expr Automaton::without_dead_ends(Expr expr) {
  Expressions& expressions = rules_.expressions;
  if (!expressions.node(expr).boolean) return expr;
  std::vector<Expr> todo{expr};
  std::unordered_map<Expr, Expr> dead;
  // The boolean parts that no other boolean part holds.
  for (std::size_t i = 0; i < todo.size(); ++i) {
    const Expressions::Node n = expressions.node(todo[i]);
    if (!n.boolean || is_clean(todo[i]) || !dead.emplace(todo[i], todo[i]).second) continue;
    if (n.kind == Kind::both || n.kind == Kind::complement) {
      const auto matches = has_match(todo[i], max_states_);
      if (!matches) {
        throw ErrorException(make_error(ErrorCode::limit_exceeded, "the grammar needs more than max_states = {} states",
                                        max_states_));
      }
      if (!*matches) dead[todo[i]] = Expr::nothing;
    } else {
      if (n.kind == Kind::concat || n.kind == Kind::repeat) todo.push_back(expressions.first(todo[i]));
      if (n.kind == Kind::concat) todo.push_back(expressions.second(todo[i]));
      if (n.kind == Kind::either || n.kind == Kind::members) {
        const auto operands = expressions.operands(n);
        todo.insert(todo.end(), operands.begin(), operands.end());
      }
    }
  }
  const bool clean = std::none_of(dead.begin(), dead.end(), [](const auto& entry) { return entry.second == Expr::nothing; });
  if (clean) {
    for (const Expr part : todo) {
      if (clean_.size() <= index(part)) clean_.resize(index(part) + index(part) / 2 + 64);
      clean_[index(part)] = true;
    }
    return expr;
  }
  return expressions.without(expr, [&dead](Expr part) {
    const auto found = dead.find(part);
    return found != dead.end() && found->second == Expr::nothing;
  });
}

// Searches the derivatives for one that holds the empty string, nearest first. All of a search that fails match
// nothing, and all on the way to a match have one.
std::optional<bool> Automaton::has_match(Expr expr, std::size_t most) {
  if (const auto known = matches_.find(expr); known != matches_.end()) return known->second;
  Expressions& expressions = rules_.expressions;
  std::vector<std::pair<Expr, std::size_t>> queue;  // with the place it was reached from
  std::unordered_set<Expr> seen;
  // Whether `next` matches something, as is seen at once; it is queued if not.
  const auto matches = [&](Expr next, std::size_t from) {
    if (next == Expr::nothing || !seen.insert(next).second) return false;
    const auto known = matches_.find(next);
    if (known != matches_.end() && !known->second) return false;
    queue.emplace_back(next, from);
    return known != matches_.end() || expressions.nullable(next) || !expressions.node(next).boolean;
  };
  bool found = matches(expr, 0);
  for (std::size_t at = 0; !found && at < queue.size(); ++at) {
    ByteSet tried;
    for (std::size_t i = 0; !found && i < class_bytes_.size(); ++i) {
      if (tried.contains(class_bytes_[i])) continue;
      if (queue.size() > most) return std::nullopt;
      ByteSet alike;
      found = matches(expressions.derivative(queue[at].first, {Kind::bytes, class_bytes_[i]}, &alike), at);
      tried = tried | alike;
    }
  }
  if (!found) {
    for (const auto& [tried, from] : queue) matches_[tried] = false;
    return false;
  }
  for (std::size_t i = queue.size() - 1;; i = queue[i].second) {
    matches_[queue[i].first] = true;
    if (i == 0) return true;
  }
}

}  // namespace rill::grammar
