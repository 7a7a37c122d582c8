// Regular expressions over bytes, rule calls and tokens: the right-hand sides of a grammar's rules and, by derivatives, the
// states of its automata (Brzozowski, "Derivatives of Regular Expressions", 1964).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/byte_set.h"
#include "rill/stop_token.h"
#include "rill/token.h"

namespace rill::grammar {

// Equal expressions have equal ids, up to the simplifications that keep the set of derivatives finite.
enum class Expr : std::uint32_t {
  nothing = 0,   // the empty language
  epsilon = 1,   // the empty string
  anything = 2,  // every string of bytes
};
enum class Rule : std::uint32_t {};

constexpr std::size_t index(Expr expr) { return static_cast<std::size_t>(expr); }
constexpr std::size_t index(Rule rule) { return static_cast<std::size_t>(rule); }

inline constexpr std::uint32_t kUnbounded = std::numeric_limits<std::uint32_t>::max();

enum class Kind : std::uint8_t {
  nothing, epsilon, bytes, call, token, concat, either, both, complement, repeat, members
};

// What a derivative is taken by. Calls and tokens are letters of their own: Letter::token is the leaf that stands in the
// grammar, which several tokens may match.
struct Letter {
  Kind kind;            // bytes, call or token
  std::uint32_t value;  // the byte, the rule, or the index of the leaf
};

struct TokenLeaf {
  Token token;
  bool negated;  // every token but this one

  bool matches(Token other) const { return (other == token) != negated; }
  friend bool operator==(const TokenLeaf&, const TokenLeaf&) = default;
};

// A store of hash-consed expressions. Whatever would make it larger than its limit throws ErrorException with
// limit_exceeded. No operation recurses. One thread at a time.
class Expressions {
 public:
  explicit Expressions(std::size_t max_expressions);

  // Polled while expressions are added; stopping throws ErrorException with cancelled.
  void set_stop(StopToken stop) { stop_ = std::move(stop); }

  Expr bytes(const ByteSet& set);
  Expr literal(std::string_view text);
  Expr call(Rule rule);
  Expr token(TokenLeaf leaf);
  Expr concat(Expr first, Expr second);
  Expr either(Expr a, Expr b);
  Expr either(std::span<const Expr> operands);
  // both and complement: of expressions without calls and tokens.
  Expr both(Expr a, Expr b);
  Expr both(std::span<const Expr> operands);
  Expr complement(Expr expr);
  Expr without_epsilon(Expr expr);
  // `least` to `most` times, most >= least; kUnbounded: no limit. A counter: nothing is copied out.
  Expr repeat(Expr expr, std::uint32_t least, std::uint32_t most = kUnbounded);
  Expr optional(Expr expr) { return either(Expr::epsilon, expr); }
  // One or more of these in any order with `separator` between them: each of `required` once, of `optional` at most once,
  // `others` as often as may be. No member and no separator holds the empty string. Which orders there are is found out
  // as texts take them: nothing is copied out.
  Expr members(Expr separator, std::span<const Expr> required, std::span<const Expr> optional, Expr others);

  struct Node {
    Kind kind;
    bool nullable;             // holds the empty string, no call counted
    bool regular;              // without calls and tokens
    bool boolean;              // with `both` or `complement`
    bool counted = false;      // with counts other than 0, 1 and no limit, outside of those
    bool begins_other = false;  // may begin with a call or a token
    std::uint32_t first = 0;   // operand; set, rule or leaf; first of operands
    std::uint32_t second = 0;  // second operand of concat; number of operands; `least` of repeat
    std::uint32_t third = 0;   // `most` of repeat; of members: how many are required, and whether there are others
  };
  const Node& node(Expr expr) const { return nodes_[index(expr)]; }
  Expr first(Expr expr) const { return static_cast<Expr>(node(expr).first); }
  Expr second(Expr expr) const { return static_cast<Expr>(node(expr).second); }
  std::span<const Expr> operands(const Node& node) const {
    return std::span(operands_).subspan(node.first, node.second);
  }
  const ByteSet& set(const Node& node) const { return sets_[node.first]; }
  bool nullable(Expr expr) const { return node(expr).nullable; }
  bool counted(Expr expr) const { return node(expr).counted; }
  // A superset of the bytes that it may begin with.
  const ByteSet& first_bytes(Expr expr) const { return first_bytes_[index(expr)]; }
  std::size_t size() const { return nodes_.size(); }
  std::span<const ByteSet> sets() const { return sets_; }
  std::span<const TokenLeaf> token_leaves() const { return leaves_; }

  // The rest of what begins with `letter`. Of a byte: `alike`, if given, becomes bytes with the same derivative, this one
  // among them.
  Expr derivative(Expr expr, Letter letter, ByteSet* alike = nullptr);

  // The letters that are no bytes and with which `expr` may begin, each once.
  std::vector<Letter> front(Expr expr);

  // Calls use(rule, times) once for each rule that is called in `root`; `times`: in how many places.
  template <typename Use>
  void each_call(Expr root, Use use);

  // How many expressions `root` is made of, or `most` if they are more.
  std::size_t count(Expr root, std::size_t most);

  template <typename Use>
  void each_operand(Expr expr, Use use) const;

  // `replace` is asked for each leaf (bytes, call, token) that stands in `root`, and gives what stands for it.
  // `target` may be another store.
  template <typename Replace>
  Expr rebuild(Expr root, Expressions& target, Replace replace);

  // The same with what replace(call) gives for each call.
  template <typename Replace>
  Expr replace_calls(Expr root, Replace replace);

  // The same with counts above `most` cut to it (a finite upper one to none), outside of `both` and `complement`:
  // a text of at most `most` - 1 bytes cannot tell the difference. The first `original` expressions stay as they are:
  // what nobody has begun to count has but one count.
  Expr clamp_counts(Expr root, std::uint32_t most, std::size_t original);

  // The same without the parts outside of `both` and `complement`, or one of these, that `is_dead` says match nothing.
  template <typename IsDead>
  Expr without(Expr root, IsDead is_dead);

 private:
  class Derivation;

  template <typename Enters, typename Make>
  Expr rebuild_outer(Expr root, Enters enters, Make make);
  // Computes of[root] from the children up, without recursion: `children(expr, push)` names what is needed first,
  // `make(expr)` may then call done(child).
  template <typename Children, typename Make>
  Expr fold(Expr root, Children children, Make make);
  Expr done(Expr expr) const { return memo_[index(expr)]; }
  void begin_walk(Expr root);  // of work_, with all stamps old

  ByteSet first_bytes_of(const Node& node) const;
  bool is_counted(const Node& node) const;
  bool may_begin_other(const Node& node) const;
  Expr add(const Node& node, std::span<const Expr> operands = {});
  std::uint64_t hash(const Node& node, std::span<const Expr> operands) const;
  bool same(const Node& a, const Node& b, std::span<const Expr> operands_of_b) const;
  void grow_table();
  void flatten(Kind kind, std::span<const Expr> operands, std::vector<Expr>& flat) const;
  void merge_counts(std::vector<Expr>& flat);
  Expr combined(Kind kind, std::vector<Expr> flat);
  static bool has_many(Kind kind) { return kind == Kind::either || kind == Kind::both || kind == Kind::members; }
  Expr members_of(std::span<const Expr> operands, std::uint32_t third);
  Expr after_member(const Node& node, std::size_t taken);
  Expr rebuilt(Expr expr, Expressions& target) const;

  std::size_t max_expressions_;
  StopToken stop_;
  std::vector<Node> nodes_;
  std::vector<ByteSet> first_bytes_;  // by node
  std::vector<Expr> operands_;
  struct SetHash {
    std::size_t operator()(const ByteSet& set) const;
  };
  std::vector<ByteSet> sets_;
  std::unordered_map<ByteSet, std::uint32_t, SetHash> set_numbers_;
  std::vector<TokenLeaf> leaves_;
  std::vector<std::uint32_t> table_;  // open addressing; node index + 1, 0: free
  // Working memory of fold(): a value counts if its stamp is the current one.
  std::vector<Expr> memo_, work_;
  std::vector<std::uint32_t> stamps_;
  std::uint32_t stamp_ = 0;
};

template <typename Children, typename Make>
Expr Expressions::fold(Expr root, Children children, Make make) {
  begin_walk(root);
  const auto is_done = [&](Expr expr) { return index(expr) < stamps_.size() && stamps_[index(expr)] == stamp_; };
  while (!work_.empty()) {
    const Expr expr = work_.back();
    const std::size_t before = work_.size();
    if (!is_done(expr)) {
      children(expr, [&](Expr child) {
        if (!is_done(child)) work_.push_back(child);
      });
      if (work_.size() > before) continue;
      const Expr value = make(expr);
      memo_[index(expr)] = value;
      stamps_[index(expr)] = stamp_;
    }
    work_.pop_back();
  }
  return done(root);
}

template <typename Use>
void Expressions::each_call(Expr root, Use use) {
  if (node(root).regular) return;
  std::vector<Expr> found;
  std::vector<std::uint32_t> times;  // by place in the working memory of fold(), which numbers what it finds
  const auto each_other = [this](Expr expr, auto need) {
    each_operand(expr, [&](Expr operand) {
      if (!node(operand).regular) need(operand);
    });
  };
  fold(root, each_other, [&](Expr expr) {
    found.push_back(expr);
    times.push_back(0);
    each_other(expr, [&](Expr operand) { ++times[index(done(operand))]; });
    return static_cast<Expr>(found.size() - 1);
  });
  ++times.back();  // the root stands in its rule
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (const Node& n = node(found[i]); n.kind == Kind::call) use(n.first, times[i]);
  }
}

template <typename Use>
void Expressions::each_operand(Expr expr, Use use) const {
  const Node& n = node(expr);
  if (n.kind == Kind::concat || n.kind == Kind::complement || n.kind == Kind::repeat) use(first(expr));
  if (n.kind == Kind::concat) use(second(expr));
  if (has_many(n.kind)) {
    for (const Expr operand : operands(n)) use(operand);
  }
}

template <typename Replace>
Expr Expressions::rebuild(Expr root, Expressions& target, Replace replace) {
  return fold(
      root,
      [this](Expr expr, auto need) { this->each_operand(expr, need); },
      [&](Expr expr) {
        const Kind kind = node(expr).kind;
        const bool leaf = kind == Kind::bytes || kind == Kind::call || kind == Kind::token;
        return leaf ? replace(expr) : rebuilt(expr, target);
      });
}

template <typename Replace>
Expr Expressions::replace_calls(Expr root, Replace replace) {
  return fold(
      root,
      [this](Expr expr, auto need) {
        if (!node(expr).regular) each_operand(expr, need);
      },
      [&](Expr expr) {
        const Node& n = node(expr);
        if (n.regular || n.kind == Kind::token) return expr;
        return n.kind == Kind::call ? replace(n.first) : rebuilt(expr, *this);
      });
}

// Leaves what is inside of `both` and `complement` alone, and what `enters` does not hold for; `make` may change what was
// rebuilt.
template <typename Enters, typename Make>
Expr Expressions::rebuild_outer(Expr root, Enters enters, Make make) {
  return fold(
      root,
      [&](Expr expr, auto need) {
        const Node& n = node(expr);
        if (!enters(expr)) return;
        if (n.kind == Kind::concat || n.kind == Kind::repeat) need(first(expr));
        if (n.kind == Kind::concat) need(second(expr));
        if (n.kind == Kind::either || n.kind == Kind::members) {
          for (const Expr operand : operands(n)) need(operand);
        }
      },
      [&](Expr expr) {
        const Kind kind = node(expr).kind;
        const bool inner = kind == Kind::concat || kind == Kind::either || kind == Kind::repeat || kind == Kind::members;
        return make(inner && enters(expr) ? rebuilt(expr, *this) : expr);
      });
}

template <typename IsDead>
Expr Expressions::without(Expr root, IsDead is_dead) {
  return rebuild_outer(
      root, [](Expr) { return true; }, [&](Expr expr) { return is_dead(expr) ? Expr::nothing : expr; });
}

}  // namespace rill::grammar
