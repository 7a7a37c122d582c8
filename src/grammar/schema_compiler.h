// How a schema becomes rules: one for each goal, by type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "grammar/json_text.h"
#include "grammar/json_value_check.h"
#include "grammar/regex.h"
#include "grammar/rules.h"
#include "grammar/schema_branches.h"
#include "rill/grammar.h"

namespace rill::grammar {

using schema::Decimal;
using schema::JsonKind;
using schema::JsonView;
using schema::Schema;
using schema::SchemaId;
using schema::TypeSet;

// What stands between the tokens of JSON.
struct Layout {
  Expr after_open, before_close, empty, before_comma, after_comma, before_colon, after_colon;

  static Layout of(Expressions& e, JsonWhitespace whitespace);
};

class SchemaCompiler {
 public:
  SchemaCompiler(std::shared_ptr<const schema::Validator> validator, const JsonGrammarOptions& options, Rules& rules)
      : validator_(std::move(validator)),
        options_(options),
        rules_(rules),
        e_(rules.expressions),
        text_(e_),
        branches_(std::make_shared<SchemaBranches>(validator_)),
        layout_(Layout::of(e_, options.whitespace)) {}

  void compile() {
    rules_.start = rules_.add("root");
    const Expr root = value({{SchemaId{}, false}});
    rules_[rules_.start].body = root;
    while (!pending_.empty()) {
      check_stop();
      const auto [goal, rule] = std::move(pending_.front());
      pending_.pop_front();
      rules_[rule].body = body(goal);
    }
  }

 private:
  // A call of the rule for the values that reach the goal.
  Expr value(const Goal& goal) {
    const auto [known, is_new] = rules_of_.try_emplace(goal);
    if (is_new) {
      count_goal(goal);
      known->second = rules_.add(format("value {}", rules_of_.size()));
      pending_.emplace_back(goal, known->second);
    }
    return e_.call(known->second);
  }

  Expr checked(std::string name, Expr body, std::vector<Literal> literals) {
    auto check = std::make_shared<JsonValueCheck>(branches_, std::move(literals));
    return e_.call(rules_.add(std::move(name), body, std::move(check)));
  }

  Expr body(const Goal& goal);
  // What enum or const lists, before other keywords take from it.
  std::optional<std::span<const JsonView>> listed(const Branch& branch) const;
  Expr listed_values(const Goal& goal, std::span<const JsonView> values);
  Expr of_branch(const Goal& goal, const Branch& branch);

  Expr literal(JsonView value);
  Expr string(const Branch& branch, std::vector<Literal>& checks);
  Expr string_body(const Branch& branch, std::vector<Literal>& checks);
  Expr number(const Branch& branch, TypeSet types, std::vector<Literal>& checks);
  std::optional<Expr> multiples(const Decimal& of, const NumberBounds& bounds);
  Expr array(const Goal& goal, const Branch& branch, std::vector<Literal>& checks);
  Expr object(const Goal& goal, const Branch& branch, std::vector<Literal>& checks);

  struct Member {
    Expr expr;
    bool required;
  };
  std::vector<Member> declared_members(const Goal& goal, const Branch& branch, std::vector<std::string>& names);
  Expr undeclared_member(const Goal& goal, const Branch& branch, const std::vector<std::string>& names,
                         std::vector<Literal>& checks);
  // Of the schemas that apply to a member: `name` declared, or a name that is not, that matches the patterns for which
  // `matches(pattern)` holds.
  template <typename Matches>
  Goal goal_of_member(const Goal& goal, const Branch& branch, const std::string* name, Matches matches);
  Expr key_of_names(const Branch& branch, const std::vector<std::string>& names, std::vector<Literal>& checks);
  Expr in_order(const std::vector<Member>& members, Expr undeclared, std::uint64_t least,
                std::optional<std::uint64_t> most);
  Expr in_any_order(const std::vector<Member>& members, Expr undeclared);
  bool name_allowed(const Branch& branch, std::string_view name);
  Expr member(Expr key, const Goal& goal) {
    return member(key, value(goal));
  }
  Expr member(Expr key, Expr value) {
    const Expr colon = e_.concat(layout_.before_colon, e_.concat(e_.literal(":"), layout_.after_colon));
    return e_.concat(text_.quoted(key), e_.concat(colon, value));
  }
  Expr comma() { return e_.concat(layout_.before_comma, e_.concat(e_.literal(","), layout_.after_comma)); }
  Expr closing(std::string_view close) { return e_.concat(layout_.before_close, e_.literal(close)); }
  Expr opened(std::string_view open, Expr inside, bool may_be_empty, std::string_view close);
  Expr bracketed(std::string_view open, Expr inside, bool may_be_empty, std::string_view close);

  // Whether what schema `id` says of unevaluated items and properties is about those that no plain schema declares.
  bool decides_unevaluated(const Goal& goal, const Branch& branch, SchemaId id) const {
    return !branch.evaluation_open && goal == Goal{{id, false}};
  }
  Expr regex(const std::string& pattern, Match match);
  void check_stop() const;
  void count_goal(const Goal& goal);
  const Schema& at(SchemaId id) const { return branches_->schema(id); }

  std::shared_ptr<const schema::Validator> validator_;
  const JsonGrammarOptions& options_;
  Rules& rules_;
  Expressions& e_;
  JsonText text_;
  std::shared_ptr<SchemaBranches> branches_;
  Layout layout_;
  std::map<Goal, Rule> rules_of_;
  std::deque<std::pair<Goal, Rule>> pending_;
  std::size_t goal_literals_ = 0;
  std::map<std::pair<std::string, Match>, Expr> regexes_;
};

}  // namespace rill::grammar
