// Makes a Grammar of rules, and rules of a Grammar.
#pragma once

#include <memory>
#include <utility>

#include "base/error.h"
#include "grammar/compiled.h"
#include "rill/grammar.h"

namespace rill {

// Reaches what grammars are made of, to make others of it.
struct GrammarParts {
  static const grammar::Compiled* compiled(const Grammar& grammar) { return grammar.compiled_.get(); }
  static grammar::Expr import(grammar::Rules& rules, const Grammar& part) {
    return part.compiled_->automaton().with_rules(
        [&](grammar::Rules& source) { return rules.expressions.call(rules.import(source)); });
  }
};

namespace grammar {

// Compiles the rules that `fill` writes.
template <typename Fill>
Result<Grammar> compile(const GrammarLimits& limits, const StopToken& stop, Fill fill) {
  return guarded([&]() -> Result<Grammar> {
    Rules rules(limits.max_expressions);
    rules.expressions.set_stop(stop);
    RILL_TRY(fill(rules));
    simplify(rules);
    auto compiled = std::make_shared<Compiled>(std::move(rules), limits);
    compiled->automaton().with_rules([](Rules& done) { done.expressions.set_stop({}); });
    return Grammar(std::move(compiled));
  });
}

inline Result<void> start_with(Rules& rules, Expr body) {
  rules.start = rules.add("root", body);
  return {};
}

}  // namespace grammar
}  // namespace rill
