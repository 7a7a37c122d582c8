// A grammar before it is compiled: what the front ends make.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/expression.h"

namespace rill::grammar {

// Decides on the value of a rule when its last byte is read: what no left-to-right automaton can (unique items, say).
// Thread-safe.
class ValueCheck {
 public:
  virtual ~ValueCheck() = default;
  // False: the rule may not end here. `value` is what the rule matched.
  virtual bool accepts(std::string_view value) const = 0;
  // The same text for those that decide alike, and for no others.
  virtual std::string describe() const = 0;
};

struct RuleBody {
  std::string name;  // for messages
  Expr body = Expr::nothing;
  std::shared_ptr<const ValueCheck> check = nullptr;
};

struct Rules {
  explicit Rules(std::size_t max_expressions) : expressions(max_expressions) {}

  Expressions expressions;
  std::vector<RuleBody> rules;
  Rule start{};

  Rule add(std::string name, Expr body = Expr::nothing, std::shared_ptr<const ValueCheck> check = nullptr) {
    rules.push_back({std::move(name), body, std::move(check)});
    return static_cast<Rule>(rules.size() - 1);
  }
  RuleBody& operator[](Rule rule) { return rules[index(rule)]; }
  const RuleBody& operator[](Rule rule) const { return rules[index(rule)]; }

  // Copies the rules of `other` in; its start rule, here.
  Rule import(Rules& other);
};

// The same language with less work for the parser: left recursion becomes repetition, and rules that need not be rules
// are put where they are called. Rules that the start rule does not reach become empty.
void simplify(Rules& rules);

// Cuts out calls of rules that match nothing, so that whatever remains can be finished. Throws ErrorException with
// invalid_argument if that takes the start rule.
void cut_dead_calls(Rules& rules);

// Of what the rules say: not of their names, of those that are empty, and of the order in which expressions were made.
std::uint64_t digest(const Rules& rules);

}  // namespace rill::grammar
