// Compiles rules and asks what texts they hold.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "grammar/automaton.h"
#include "grammar/gbnf.h"
#include "grammar/regex.h"
#include "grammar/text_matcher.h"

namespace rill::grammar {

inline constexpr std::size_t kTestExpressions = 1'000'000;

class Language {
 public:
  explicit Language(Rules rules) : automaton_(std::make_unique<Automaton>(std::move(rules), 50'000)) {}

  static Language regex(std::string_view pattern, Match match = Match::whole) {
    Rules rules(kTestExpressions);
    rules.start = rules.add("root", parse_regex(rules.expressions, pattern, {.match = match}).value());
    return Language(std::move(rules));
  }
  static Language gbnf(std::string_view text, bool simplified = true, std::string_view start = "root") {
    Rules rules(kTestExpressions);
    parse_gbnf(text, start, nullptr, rules).value();
    if (simplified) simplify(rules);
    return Language(std::move(rules));
  }

  TextMatcher matcher() const { return TextMatcher(*automaton_, 200'000); }
  bool begins(std::string_view text) const { return matcher().push(text); }
  bool holds(std::string_view text) const {
    TextMatcher matcher = this->matcher();
    return matcher.push(text) && matcher.complete();
  }
  Automaton& automaton() const { return *automaton_; }

 private:
  std::unique_ptr<Automaton> automaton_;
};

}  // namespace rill::grammar
