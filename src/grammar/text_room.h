// Which texts may follow in an expression whatever they say: as long as they are of a kind, and not too long.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "grammar/expression.h"
#include "grammar/text_kind.h"

namespace rill::grammar {

// For each kind, a length: every text of the kind that is no longer may follow. kAnyLength: any text.
class TextRoom {
 public:
  constexpr std::uint8_t of(TextKind kind) const { return lengths_[index(kind)]; }
  constexpr void set(TextKind kind, std::uint8_t length) { lengths_[index(kind)] = length; }
  // Those with any room, as bits.
  constexpr std::uint8_t kinds() const {
    std::uint8_t kinds = 0;
    for (const TextKind kind : kTextKinds) kinds |= of(kind) > 0 ? bit(kind) : std::uint8_t{0};
    return kinds;
  }
  friend constexpr TextRoom larger(TextRoom a, TextRoom b) {
    for (std::size_t i = 0; i < a.lengths_.size(); ++i) a.lengths_[i] = std::max(a.lengths_[i], b.lengths_[i]);
    return a;
  }

 private:
  std::array<std::uint8_t, 4> lengths_{};  // a power of two, to be atomic
};
static_assert(kTextKinds.size() <= 4);

// Finds them for the expressions of one store. One thread at a time.
class TextRooms {
 public:
  // Whether an expression without calls and tokens is known to match anything.
  using HasMatch = std::function<bool(Expr expr)>;
  TextRooms(Expressions& expressions, HasMatch has_match) : e_(expressions), has_match_(std::move(has_match)) {}

  TextRoom of(Expr expr);
  // Whether every character of the kind leads back to the expression.
  bool loops(Expr expr, TextKind kind);
  // Whether every character of a string's body leads to one and the same expression, or none may follow.
  bool counts(Expr expr);

 private:
  static constexpr std::size_t kMaxDepth = 6, kMaxSteps = 4096;
  static constexpr std::uint8_t kMostCounted = 64;  // bytes; longer tokens are few

  std::uint8_t length(Expr expr, TextKind kind);
  std::optional<Expr> core(Expr expr, TextKind kind, std::uint32_t most, std::size_t depth);
  std::optional<Expr> core_of_repeat(Expr expr, TextKind kind, std::uint32_t most);
  std::optional<Expr> core_of_all(Expr expr, TextKind kind, std::uint32_t most, std::size_t depth);
  bool find_loops(Expr expr, TextKind kind);

  Expressions& e_;
  HasMatch has_match_;
  std::size_t steps_ = 0;  // of the search at hand
  std::unordered_map<std::uint64_t, bool> loops_;  // by expression and kind
};

}  // namespace rill::grammar
