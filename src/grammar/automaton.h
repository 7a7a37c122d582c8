// The deterministic automata of a grammar's rules, made as they are needed and shared by all who use the grammar.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/rules.h"
#include "grammar/text_room.h"

namespace rill::grammar {

enum class State : std::uint32_t {
  dead = 0,       // no continuation matches
  done = 1,       // what is to come is nothing: only the end of the rule
  unknown = 0xFFFFFFFF,
};
constexpr std::size_t index(State state) { return static_cast<std::size_t>(state); }

// A state is the expression of what may follow inside a rule. Thread-safe: transitions that exist are read without a
// lock. States are never removed; more than the limit throw ErrorException with limit_exceeded.
class Automaton {
 public:
  // By a letter that is no byte: where the rule goes on after it is made when it is asked for.
  struct Move {
    Rule rule{};            // of a call
    TokenLeaf leaf{};       // of a token
    Expr rest = Expr::nothing;
    std::atomic<State> then{State::unknown};
  };

  Automaton(Rules rules, std::size_t max_states);
  ~Automaton();

  State start() const { return start_[index(rules_.start)]; }
  State start_of(Rule rule) const { return start_[index(rule)]; }
  const ValueCheck* check_of(Rule rule) const { return rules_[rule].check.get(); }
  bool has_checks() const { return has_checks_; }
  std::span<const TokenLeaf> token_leaves() const { return rules_.expressions.token_leaves(); }

  State next(State state, std::uint8_t byte) {
    const State known = info(state).next[classes_[byte]].load(std::memory_order_acquire);
    return known == State::unknown ? make_next(state, byte) : known;
  }
  Expr expression(State state) const { return info(state).expr; }
  bool accepts(State state) const { return info(state).accepts; }
  // Whether a byte or a token may come next.
  bool reads(State state) const { return info(state).reads_bytes || info(state).tokens > 0; }
  // Neither an end, nor calls, nor tokens: only bytes go on from here.
  bool plain(State state) const { return info(state).plain; }
  std::span<Move> calls(State state) const { return {info(state).moves.get(), info(state).calls}; }
  std::span<Move> token_moves(State state) const {
    return {info(state).moves.get() + info(state).calls, info(state).tokens};
  }
  State after(Move& move) {
    const State known = move.then.load(std::memory_order_acquire);
    return known == State::unknown ? make_after(move) : known;
  }

  // Which texts may follow without leaving the rule.
  TextRoom room(State state);
  // Whether every character of the kind leads back to the state.
  bool loops(State state, TextKind kind);
  // Whether every character of a string's body leads to one and the same state, or none may follow.
  bool counts(State state);

  // A state with the same continuations of up to `most` - 1 bytes, and fewer like it: counters are cut to `most`.
  State clamped(State state, std::uint32_t most);

  std::size_t rules() const { return start_.size(); }
  std::size_t states() const { return count_.load(std::memory_order_relaxed); }
  std::size_t classes() const { return class_bytes_.size(); }
  std::uint8_t class_of(std::uint8_t byte) const { return classes_[byte]; }
  std::span<const std::uint8_t> class_bytes() const { return class_bytes_; }  // one of each class

  // The rules, to build others from. Called under a lock that nobody else may hold then.
  template <typename Use>
  auto with_rules(Use use) {
    const std::lock_guard lock(mutex_);
    return use(rules_);
  }

 private:
  struct Info {
    std::atomic<State>* next = nullptr;  // by class of byte
    Expr expr = Expr::nothing;
    bool accepts = false, reads_bytes = false, plain = false, counted = false;
    std::atomic<bool> room_known = false;
    std::atomic<TextRoom> room{};
    std::unique_ptr<Move[]> moves;  // the calls, then the tokens
    std::size_t calls = 0, tokens = 0;
  };
  static constexpr std::size_t kChunk = 256;
  static constexpr std::size_t kMaxChunks = 4096;
  static constexpr std::size_t kMostForRoom = 256;
  struct Chunk {
    std::array<Info, kChunk> info;
    std::unique_ptr<std::atomic<State>[]> next;
  };

  Info& info(State state) const {
    return chunks_[index(state) / kChunk].load(std::memory_order_acquire)->info[index(state) % kChunk];
  }
  void find_classes();
  State make_next(State state, std::uint8_t byte);
  State make_after(Move& move);
  State state_of(Expr expr);  // the lock is held from here on
  Info& add_state(Expr expr);
  Expr without_dead_ends(Expr expr);
  bool is_clean(Expr expr) const { return index(expr) < clean_.size() && clean_[index(expr)]; }
  // Nothing if it would take more than `most` derivatives to know.
  std::optional<bool> has_match(Expr expr, std::size_t most);

  Rules rules_;
  std::size_t max_states_;
  std::size_t original_ = 0;  // expressions, before texts were read
  std::vector<State> start_;
  bool has_checks_ = false;
  std::array<std::uint8_t, 256> classes_{};
  std::vector<std::uint8_t> class_bytes_;  // one of each class
  std::array<std::atomic<Chunk*>, kMaxChunks> chunks_{};
  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;
  std::vector<State> by_expr_;                     // by expression; unknown: none yet
  std::unordered_map<Expr, bool> matches_;         // of boolean expressions
  std::vector<bool> clean_;                        // expressions without dead ends
  std::unordered_map<std::uint64_t, State> clamped_;
  TextRooms rooms_{rules_.expressions, [this](Expr expr) { return has_match(expr, kMostForRoom).value_or(false); }};
};

}  // namespace rill::grammar
