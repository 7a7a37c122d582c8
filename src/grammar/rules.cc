#include "grammar/rules.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/hash.h"

namespace rill::grammar {
namespace {

constexpr std::size_t kMaxInlined = 96;  // expressions that putting a rule where it is called may add
constexpr std::size_t kMaxUnfolded = 4096;

Expr copy_leaf(Expressions& from, Expressions& to, Expr leaf, std::size_t first_rule) {
  const Expressions::Node& n = from.node(leaf);
  switch (n.kind) {
    case Kind::bytes: return to.bytes(from.set(n));
    case Kind::call: return to.call(static_cast<Rule>(first_rule + n.first));
    default: return to.token(from.token_leaves()[n.first]);
  }
}

// Tells the alternatives of a rule that begin with a call of itself from the others.
class LeftRecursion {
 public:
  LeftRecursion(Expressions& expressions, Rule rule) : expressions_(expressions), self_(expressions.call(rule)) {}

  // E = E a | b is b a*. Nothing if it does not come down to that.
  std::optional<Expr> removed(Expr body) {
    if (!begins_with_self(body)) return std::nullopt;
    todo_.assign(1, body);
    for (std::size_t steps = 0; !todo_.empty(); ++steps) {
      if (steps == kMaxUnfolded) return std::nullopt;
      const Expr choice = todo_.back();
      todo_.pop_back();
      unfold(choice);
    }
    return expressions_.concat(expressions_.either(others_), expressions_.repeat(expressions_.either(tails_), 0));
  }

 private:
  bool begins_with_self(Expr expr) {
    const auto front = expressions_.front(expr);
    return std::any_of(front.begin(), front.end(), [&](const Letter& letter) {
      return letter.kind == Kind::call && letter.value == expressions_.node(self_).first;
    });
  }

  void unfold(Expr choice) {
    Expressions& e = expressions_;
    if (!begins_with_self(choice)) {
      others_.push_back(choice);
      return;
    }
    const bool chain = e.node(choice).kind == Kind::concat;
    const Expr head = chain ? e.first(choice) : choice, rest = chain ? e.second(choice) : Expr::epsilon;
    const Expressions::Node n = e.node(head);
    if (head == self_) {
      if (rest != Expr::epsilon) tails_.push_back(rest);
    } else if (n.kind == Kind::either) {
      const auto operands = e.operands(n);
      for (const Expr operand : std::vector<Expr>(operands.begin(), operands.end())) {
        todo_.push_back(e.concat(operand, rest));
      }
    } else if (n.kind == Kind::repeat) {
      if (e.nullable(head)) todo_.push_back(rest);
      const std::uint32_t most = n.third == kUnbounded ? kUnbounded : n.third - 1;
      const Expr more = e.repeat(e.first(head), n.second == 0 ? 0 : n.second - 1, most);
      todo_.push_back(e.concat(e.without_epsilon(e.first(head)), e.concat(more, rest)));
    } else {
      others_.push_back(choice);  // an empty `head` that does not unfold; the parser copes
    }
  }

  Expressions& expressions_;
  Expr self_;
  std::vector<Expr> todo_, others_, tails_;
};

struct Reached {
  std::vector<std::size_t> order;  // each rule after those that it calls, but for what leads back to it
  std::vector<std::size_t> calls;  // of each of the grammar's rules, in how many places
  bool circular = false;           // some call themselves through others
};

// What the start rule reaches.
Reached reached_rules(Rules& rules) {
  struct Visit {
    std::size_t rule, next;
  };
  std::vector<std::vector<std::size_t>> callees(rules.rules.size());
  std::vector<bool> entered(rules.rules.size()), left(rules.rules.size());
  std::vector<Visit> path;
  Reached reached{{}, std::vector<std::size_t>(rules.rules.size())};
  const auto enter = [&](std::size_t rule) {
    entered[rule] = true;
    rules.expressions.each_call(rules.rules[rule].body, [&](std::size_t callee, std::size_t times) {
      callees[rule].push_back(callee);
      reached.calls[callee] += times;
    });
    std::sort(callees[rule].begin(), callees[rule].end());  // by no order that a compiler may choose
    path.push_back({rule, 0});
  };
  enter(index(rules.start));
  while (!path.empty()) {
    Visit& top = path.back();
    if (top.next == callees[top.rule].size()) {
      reached.order.push_back(top.rule);
      left[top.rule] = true;
      path.pop_back();
    } else if (const std::size_t callee = callees[top.rule][top.next++]; !entered[callee]) {
      enter(callee);
    } else {
      reached.circular |= callee != top.rule && !left[callee];
    }
  }
  return reached;
}

void drop_unreached(Rules& rules) {
  std::vector<bool> reached(rules.rules.size());
  for (const std::size_t rule : reached_rules(rules).order) reached[rule] = true;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (!reached[i]) rules.rules[i] = {std::move(rules.rules[i].name)};
  }
}

// Puts rules where they are called if that makes little of it. Large ones stay, even if they are called but once: what
// follows a call would stand behind each of their derivatives. Returns whether some call themselves through others.
bool inline_rules(Rules& rules) {
  Expressions& expressions = rules.expressions;
  const auto [order, calls, circular] = reached_rules(rules);
  std::vector<bool> goes(rules.rules.size());
  for (const std::size_t i : order) {
    RuleBody& rule = rules.rules[i];
    rule.body = expressions.replace_calls(rule.body, [&](std::size_t callee) {
      return goes[callee] ? rules.rules[callee].body : expressions.call(static_cast<Rule>(callee));
    });
    if (i == index(rules.start) || rule.check) continue;
    bool recursive = false;
    expressions.each_call(rule.body, [&](std::size_t callee, std::size_t) { recursive |= callee == i; });
    const std::size_t most = kMaxInlined / calls[i];
    goes[i] = !recursive && expressions.count(rule.body, most + 1) <= most;
  }
  drop_unreached(rules);
  return circular;
}

void remove_left_recursion(Rules& rules) {
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    if (rules.rules[i].check) continue;
    const auto body = LeftRecursion(rules.expressions, static_cast<Rule>(i)).removed(rules.rules[i].body);
    if (body) rules.rules[i].body = *body;
  }
}

}  // namespace

Rule Rules::import(Rules& other) {
  const std::size_t first = rules.size();
  for (const RuleBody& rule : other.rules) {
    RuleBody copy = rule;
    copy.body = other.expressions.rebuild(rule.body, expressions, [&](Expr leaf) {
      return copy_leaf(other.expressions, expressions, leaf, first);
    });
    rules.push_back(std::move(copy));
  }
  return static_cast<Rule>(first + index(other.start));
}

void simplify(Rules& rules) {
  drop_unreached(rules);
  remove_left_recursion(rules);
  if (!inline_rules(rules)) return;
  inline_rules(rules);           // rules that called each other now call themselves
  remove_left_recursion(rules);  // and what recursed through others shows
}

void cut_dead_calls(Rules& rules) {
  Expressions& expressions = rules.expressions;
  std::vector<bool> lives(rules.rules.size());
  const auto cut = [&](Expr body) {
    return expressions.replace_calls(body, [&](std::size_t callee) {
      return lives[callee] ? expressions.call(static_cast<Rule>(callee)) : Expr::nothing;
    });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = lives.size(); i-- > 0;) {  // callers mostly stand first
      if (lives[i] || cut(rules.rules[i].body) == Expr::nothing) continue;
      lives[i] = changed = true;
    }
  }
  for (RuleBody& rule : rules.rules) rule.body = cut(rule.body);
  if (!lives[index(rules.start)]) {
    throw ErrorException(make_error(ErrorCode::invalid_argument, "the grammar's rule {} matches no text at all",
                                    rules[rules.start].name));
  }
}

std::uint64_t digest(const Rules& rules) {
  const Expressions& e = rules.expressions;
  std::vector<std::uint64_t> numbers(rules.rules.size());  // from 1, of the rules that are not empty
  std::vector<bool> used(e.size());
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Expr body = rules.rules[i].body;
    if (body == Expr::nothing) continue;
    numbers[i] = ++count;
    used[index(body)] = true;
  }
  // Operands have lower ids than what they stand in.
  for (std::size_t i = used.size(); i-- > 0;) {
    if (used[i]) e.each_operand(static_cast<Expr>(i), [&](Expr operand) { used[index(operand)] = true; });
  }
  std::vector<std::uint64_t> digests(used.size()), words;
  const auto digest_words = [&] { return checksum(std::as_bytes(std::span(words))); };
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    const auto expr = static_cast<Expr>(i);
    const Expressions::Node& n = e.node(expr);
    words.assign(1, static_cast<std::uint64_t>(n.kind));
    e.each_operand(expr, [&](Expr operand) { words.push_back(digests[index(operand)]); });
    if (n.kind == Kind::either || n.kind == Kind::both) std::sort(words.begin() + 1, words.end());
    if (n.kind == Kind::repeat || n.kind == Kind::members) words.insert(words.end(), {n.second, n.third});
    if (n.kind == Kind::bytes) words.insert(words.end(), e.set(n).words().begin(), e.set(n).words().end());
    if (n.kind == Kind::call) words.push_back(numbers[n.first]);
    if (n.kind == Kind::token) {
      const TokenLeaf leaf = e.token_leaves()[n.first];
      words.insert(words.end(), {static_cast<std::uint64_t>(leaf.token), leaf.negated ? 1u : 0u});
    }
    digests[i] = digest_words();
  }
  words.assign(1, numbers[index(rules.start)]);
  for (const RuleBody& rule : rules.rules) {
    if (rule.body == Expr::nothing) continue;
    words.push_back(digests[index(rule.body)]);
    if (rule.check == nullptr) continue;
    const std::string check = rule.check->describe();
    words.push_back(checksum(std::as_bytes(std::span(check))));
  }
  return digest_words();
}

}  // namespace rill::grammar
