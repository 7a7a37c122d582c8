// Which texts may follow in an expression whatever they say: as long as they are of a kind, and not too long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "grammar/expression.h"
#include "grammar/text_kind.h"

namespace rill::grammar {

// For each kind, a class of lengths: every text of the kind that is no longer may follow.
class TextRoom {
 public:
  constexpr std::uint8_t of(TextKind kind) const { return classes_ >> 3 * index(kind) & 7; }
  constexpr void set(TextKind kind, std::uint8_t number) {
    classes_ = static_cast<std::uint16_t>((classes_ & ~(7u << 3 * index(kind))) | unsigned{number} << 3 * index(kind));
  }
  constexpr bool none() const { return classes_ == 0; }
  friend constexpr TextRoom larger(TextRoom a, TextRoom b) {
    for (const TextKind kind : kTextKinds) {
      if (b.of(kind) > a.of(kind)) a.set(kind, b.of(kind));
    }
    return a;
  }

 private:
  std::uint16_t classes_ = 0;
};

// Finds them for the expressions of one store. One thread at a time.
class TextRooms {
 public:
  // Whether an expression without calls and tokens is known to match anything.
  using HasMatch = std::function<bool(Expr expr)>;
  TextRooms(Expressions& expressions, HasMatch has_match) : e_(expressions), has_match_(std::move(has_match)) {}

  TextRoom of(Expr expr);

 private:
  static constexpr std::size_t kMaxDepth = 6, kMaxSteps = 4096;

  std::optional<Expr> core(Expr expr, TextKind kind, std::uint32_t most, std::size_t depth);
  std::optional<Expr> core_of_repeat(Expr expr, TextKind kind, std::uint32_t most);
  std::optional<Expr> core_of_all(Expr expr, TextKind kind, std::uint32_t most, std::size_t depth);
  bool loops(Expr expr, TextKind kind);
  bool find_loops(Expr expr, TextKind kind);

  Expressions& e_;
  HasMatch has_match_;
  std::size_t steps_ = 0;  // of the search at hand
  std::unordered_map<std::uint64_t, bool> loops_;  // by expression and kind
};

}  // namespace rill::grammar
