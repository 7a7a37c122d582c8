#include "grammar/json_schema.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "grammar/json_text.h"
#include "grammar/json_value_check.h"
#include "grammar/regex.h"
#include "grammar/schema_branches.h"
#include "schema/formats.h"

namespace rill::grammar {
namespace {

using schema::Decimal;
using schema::JsonKind;
using schema::JsonView;
using schema::Remark;
using schema::Schema;
using schema::SchemaId;
using schema::TypeSet;

constexpr std::size_t kMaxKeyPatterns = 5;       // 2^n kinds of keys
constexpr std::int64_t kMaxListedMultiples = 1000;

Expr chars(Expressions& e, std::string_view characters) {
  ByteSet set;
  for (const char c : characters) set.add(static_cast<unsigned char>(c));
  return e.bytes(set);
}

// What stands between the tokens of JSON.
struct Layout {
  Expr after_open, before_close, empty, before_comma, after_comma, before_colon, after_colon;

  static Layout of(Expressions& e, JsonWhitespace whitespace) {
    const Expr none = Expr::epsilon;
    if (whitespace == JsonWhitespace::compact) return {none, none, none, none, none, none, none};
    if (whitespace == JsonWhitespace::pretty) {
      const Expr line = e.concat(e.literal("\n"), e.repeat(e.literal(" "), 0, 40));
      return {line, line, none, none, line, none, e.literal(" ")};
    }
    const Expr space = e.repeat(chars(e, " \t\n\r"), 0, 20);
    return {space, space, space, space, space, space, space};
  }
};

class SchemaCompiler {
 public:
  SchemaCompiler(std::shared_ptr<const schema::Validator> validator, const JsonGrammarOptions& options, Rules& rules)
      : validator_(std::move(validator)),
        options_(options),
        rules_(rules),
        e_(rules.expressions),
        text_(e_),
        branches_(*validator_),
        layout_(Layout::of(e_, options.whitespace)) {}

  void compile() {
    rules_.start = rules_.add("root");
    const Expr root = value({{SchemaId{}, false}});
    rules_[rules_.start].body = root;
    while (!pending_.empty()) {
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
      known->second = rules_.add(format("value {}", rules_of_.size()));
      pending_.emplace_back(goal, known->second);
    }
    return e_.call(known->second);
  }

  Expr checked(std::string name, Expr body, std::vector<Literal> literals) {
    auto check = std::make_shared<JsonValueCheck>(validator_, std::move(literals));
    return e_.call(rules_.add(std::move(name), body, std::move(check)));
  }

  Expr body(const Goal& goal);
  Expr listed_values(const Goal& goal, const Branch& branch, std::span<const JsonView> values);
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
  Goal goal_of_property(const Goal& goal, const Branch& branch, std::string_view name);
  Expr in_order(const std::vector<Member>& members, Expr undeclared, std::uint64_t least,
                std::optional<std::uint64_t> most);
  Expr in_any_order(const std::vector<Member>& members, Expr undeclared);
  bool name_allowed(const Branch& branch, std::string_view name);
  Expr member(Expr key, const Goal& goal) {
    const Expr colon = e_.concat(layout_.before_colon, e_.concat(e_.literal(":"), layout_.after_colon));
    return e_.concat(text_.quoted(key), e_.concat(colon, value(goal)));
  }
  Expr comma() { return e_.concat(layout_.before_comma, e_.concat(e_.literal(","), layout_.after_comma)); }
  Expr bracketed(std::string_view open, Expr inside, bool may_be_empty, std::string_view close);

  // Whether what schema `id` says of unevaluated items and properties is about those that no plain schema declares.
  bool decides_unevaluated(const Goal& goal, const Branch& branch, SchemaId id) const {
    return !branch.evaluation_open && goal == Goal{{id, false}};
  }
  Expr regex(const std::string& pattern, Match match);
  const Schema& at(SchemaId id) const { return branches_.schema(id); }

  std::shared_ptr<const schema::Validator> validator_;
  const JsonGrammarOptions& options_;
  Rules& rules_;
  Expressions& e_;
  JsonText text_;
  SchemaBranches branches_;
  Layout layout_;
  std::map<Goal, Rule> rules_of_;
  std::deque<std::pair<Goal, Rule>> pending_;
  std::map<std::pair<std::string, Match>, Expr> regexes_;
};

Expr SchemaCompiler::body(const Goal& goal) {
  std::vector<Expr> choices;
  for (const Branch& branch : branches_.of(goal)) choices.push_back(of_branch(goal, branch));
  return e_.either(choices);
}

Expr SchemaCompiler::of_branch(const Goal& goal, const Branch& branch) {
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    if (s.values) return listed_values(goal, branch, *s.values);
    if (s.constant) return listed_values(goal, branch, std::span(&*s.constant, 1));
  }
  std::vector<Expr> choices;
  // Checks are asked where they can fail only: an array's at arrays.
  const auto add = [&](Expr expr, std::vector<Literal> checks) {
    checks.insert(checks.end(), branch.checks.begin(), branch.checks.end());
    std::sort(checks.begin(), checks.end());
    checks.erase(std::unique(checks.begin(), checks.end()), checks.end());
    choices.push_back(checks.empty() || expr == Expr::nothing ? expr : checked("checked", expr, std::move(checks)));
  };
  const TypeSet types = branch.types;
  if (types & schema::kNull) add(e_.literal("null"), {});
  if (types & schema::kBoolean) add(e_.either(e_.literal("true"), e_.literal("false")), {});
  std::vector<Literal> checks;
  if (types & schema::kNumber) {
    const Expr expr = number(branch, types, checks);
    add(expr, std::exchange(checks, {}));
  }
  if (types & schema::kString) {
    const Expr expr = string(branch, checks);
    add(expr, std::exchange(checks, {}));
  }
  if (types & schema::kArray) {
    const Expr expr = array(goal, branch, checks);
    add(expr, std::exchange(checks, {}));
  }
  if (types & schema::kObject) {
    const Expr expr = object(goal, branch, checks);
    add(expr, std::exchange(checks, {}));
  }
  return e_.either(choices);
}

Expr SchemaCompiler::listed_values(const Goal& goal, const Branch&, std::span<const JsonView> values) {
  std::vector<Expr> choices;
  for (const JsonView value : values) {
    const bool reached = std::all_of(goal.begin(), goal.end(), [&](const Literal& l) { return branches_.holds(l, value); });
    if (reached) choices.push_back(literal(value));
  }
  return e_.either(choices);
}

Expr SchemaCompiler::literal(JsonView root) {
  struct Step {
    JsonView value;
    std::size_t next = 0;
    std::vector<Expr> parts = {};
  };
  std::vector<Step> path{{root}};
  while (true) {
    Step& top = path.back();
    const JsonView value = top.value;
    if (top.next < value.size()) {
      path.push_back({value[top.next++]});
      continue;
    }
    Expr expr = Expr::nothing;
    switch (value.kind()) {
      case JsonKind::null: expr = e_.literal("null"); break;
      case JsonKind::boolean: expr = e_.literal(value.truth() ? "true" : "false"); break;
      case JsonKind::string: expr = text_.quoted(text_.body(value.text())); break;
      case JsonKind::number: expr = e_.either(text_.number(*Decimal::parse(value.text())), e_.literal(value.text())); break;
      case JsonKind::array:
      case JsonKind::object: {
        const bool object = value.is(JsonKind::object);
        for (std::size_t i = 0; object && i < value.size(); ++i) {
          const Expr colon = e_.concat(layout_.before_colon, e_.concat(e_.literal(":"), layout_.after_colon));
          top.parts[i] = e_.concat(text_.quoted(text_.body(value[i].name())), e_.concat(colon, top.parts[i]));
        }
        Expr inside = value.size() == 0 ? Expr::epsilon : top.parts.back();
        if (object && value.size() > 0 && options_.property_order == PropertyOrder::any) {
          inside = e_.members(comma(), top.parts, {}, Expr::nothing);
        } else {
          for (std::size_t i = value.size(); i-- > 1;) inside = e_.concat(top.parts[i - 1], e_.concat(comma(), inside));
        }
        expr = bracketed(object ? "{" : "[", value.size() == 0 ? Expr::nothing : inside, value.size() == 0, object ? "}" : "]");
        break;
      }
    }
    path.pop_back();
    if (path.empty()) return expr;
    path.back().parts.push_back(expr);
  }
}

Expr SchemaCompiler::bracketed(std::string_view open, Expr inside, bool may_be_empty, std::string_view close) {
  const Expr filled = e_.concat(layout_.after_open, e_.concat(inside, layout_.before_close));
  const Expr all = e_.either(filled, may_be_empty ? layout_.empty : Expr::nothing);
  return e_.concat(e_.literal(open), e_.concat(all, e_.literal(close)));
}

Expr SchemaCompiler::regex(const std::string& pattern, Match match) {
  const auto [known, is_new] = regexes_.try_emplace({pattern, match});
  if (!is_new) return known->second;
  const auto parsed = parse_regex(e_, pattern, {.match = match, .spell = [&](const CodePoints& set) { return text_.spell(set); }});
  if (!parsed) throw ErrorException(parsed.error());
  return known->second = *parsed;
}

Expr SchemaCompiler::string(const Branch& branch, std::vector<Literal>& checks) {
  return text_.quoted(string_body(branch, checks));
}

Expr SchemaCompiler::string_body(const Branch& branch, std::vector<Literal>& checks) {
  std::vector<Expr> parts;
  std::uint64_t least = 0, most = kUnbounded;
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    least = std::max(least, s.min_length.value_or(0));
    most = std::min(most, s.max_length.value_or(most));
    if (s.pattern && !validator_->is_dropped(*s.pattern)) parts.push_back(regex(*s.pattern, Match::search));
    if (s.format == schema::Format::regex) checks.push_back({id, false});
    if (s.format) {
      if (const auto pattern = schema::pattern_of(*s.format)) {
        parts.push_back(regex(pattern->pattern, Match::whole));
        if (pattern->max_length) most = std::min<std::uint64_t>(most, *pattern->max_length);
      }
    }
    const Exclusions& excluded = branches_.excluded(id);
    for (const std::string& text : excluded.strings) parts.push_back(e_.complement(text_.body(text)));
    for (const std::string& pattern : excluded.patterns) parts.push_back(e_.complement(regex(pattern, Match::search)));
  }
  if (least > most || least >= kUnbounded) return Expr::nothing;
  const Expr any = e_.repeat(text_.any_character(), static_cast<std::uint32_t>(least), static_cast<std::uint32_t>(most));
  const bool bounded = least > 0 || most != kUnbounded;
  const bool only_complements = std::all_of(parts.begin(), parts.end(), [&](Expr part) {
    return e_.node(part).kind == Kind::complement;
  });
  if (parts.empty() || bounded || only_complements) parts.push_back(any);
  return e_.both(parts);
}

Expr SchemaCompiler::number(const Branch& branch, TypeSet types, std::vector<Literal>& checks) {
  NumberBounds bounds{.integer = (types & schema::kNumber) == schema::kInteger};
  const auto raise = [&](const std::optional<Decimal>& value, bool exclusive) {
    if (!value) return;
    const auto order = bounds.least ? compare(*value, bounds.least->value) : std::strong_ordering::greater;
    if (order > 0 || (order == 0 && exclusive)) bounds.least = {*value, exclusive};
  };
  const auto lower = [&](const std::optional<Decimal>& value, bool exclusive) {
    if (!value) return;
    const auto order = bounds.most ? compare(*value, bounds.most->value) : std::strong_ordering::less;
    if (order < 0 || (order == 0 && exclusive)) bounds.most = {*value, exclusive};
  };
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    raise(s.minimum, false), raise(s.exclusive_minimum, true);
    lower(s.maximum, false), lower(s.exclusive_maximum, true);
    if (s.multiple_of && s.multiple_of->is_integer()) bounds.integer = true;
  }
  if (bounds.least && bounds.most && compare(bounds.least->value, bounds.most->value) > 0) return Expr::nothing;
  std::vector<Expr> parts{text_.number(bounds)};
  if ((types & schema::kNumber) == schema::kFraction) {
    parts.push_back(e_.complement(text_.number({.integer = true})));
    parts[0] = text_.number({.least = bounds.least, .most = bounds.most});
    // With an exponent it may still be an integer.
    if (!bounds.least && !bounds.most) parts.push_back(e_.complement(e_.concat(e_.repeat(e_.bytes([] {
      ByteSet others = ByteSet::all();
      ByteSet without;
      for (unsigned byte = 0; byte < 256; ++byte) {
        if (byte != 'e' && byte != 'E') without.add(byte);
      }
      return without & others;
    }()), 0), e_.concat(chars(e_, "eE"), Expr::anything))));
  }
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    if (s.multiple_of) {
      if (const auto exact = multiples(*s.multiple_of, bounds)) {
        parts.push_back(*exact);
      } else {
        checks.push_back({id, false});
      }
    }
    for (const Decimal& value : branches_.excluded(id).numbers) parts.push_back(e_.complement(text_.number(value)));
  }
  return e_.both(parts);
}

// The numbers within bounds that are multiples of `of`, where they are a regular language that is not large.
std::optional<Expr> SchemaCompiler::multiples(const Decimal& of, const NumberBounds& bounds) {
  const Expr digits = e_.repeat(chars(e_, "0123456789"), 0), sign = e_.optional(e_.literal("-"));
  if (of.digits == "1") {
    const auto places = static_cast<std::uint32_t>(std::min<std::int64_t>(of.exponent < 0 ? -of.exponent : of.exponent, 1000));
    if (of.exponent < 0) {
      const Expr fraction = e_.concat(e_.literal("."), e_.concat(e_.repeat(chars(e_, "0123456789"), 0, places),
                                                                 e_.repeat(e_.literal("0"), 0)));
      return e_.concat(sign, e_.concat(digits, e_.optional(fraction)));
    }
    const Expr zeros = e_.repeat(e_.literal("0"), places, places);
    const Expr whole = e_.either(e_.literal("0"), e_.concat(digits, zeros));
    return e_.concat(sign, e_.concat(whole, e_.optional(e_.literal(".0"))));
  }
  const auto small = [](const Decimal& value) -> std::optional<std::int64_t> {
    const std::string text = value.integer_part();
    if (!value.is_integer() || text.size() > 9) return std::nullopt;
    return value.negative ? -std::stoll(text) : std::stoll(text);
  };
  if (!bounds.least || !bounds.most) return std::nullopt;
  const auto step = small(of), first = small(bounds.least->value), last = small(bounds.most->value);
  if (!step || !first || !last || (*last - *first) / *step > kMaxListedMultiples) return std::nullopt;
  std::vector<Expr> choices;
  for (std::int64_t k = *first / *step - 1; k * *step <= *last; ++k) {
    if (k * *step >= *first) choices.push_back(text_.number(*Decimal::parse(std::to_string(k * *step))));
  }
  return e_.either(choices);
}

Expr SchemaCompiler::array(const Goal& goal, const Branch& branch, std::vector<Literal>& checks) {
  std::uint64_t least = 0, most = kUnbounded;
  std::size_t prefix = 0;
  std::optional<SchemaId> contains;
  bool several_contains = false;
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    least = std::max(least, s.min_items.value_or(0));
    most = std::min(most, s.max_items.value_or(most));
    prefix = std::max(prefix, s.prefix_items.size());
  }
  const bool any_contains =
      std::any_of(branch.plain.begin(), branch.plain.end(), [&](SchemaId id) { return at(id).contains.has_value(); });
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    if (s.unique_items && most > 1) checks.push_back({id, false});
    if (s.contains && !(s.min_contains == 0 && !s.max_contains)) {
      several_contains |= contains.has_value();
      contains = id;
    }
    if (s.unevaluated_items && (!decides_unevaluated(goal, branch, id) || any_contains)) checks.push_back({id, false});
  }
  if (least > most || least >= kUnbounded) return Expr::nothing;

  const auto item = [&](std::size_t position) {
    Goal of_item;
    bool evaluated = false;
    for (const SchemaId id : branch.plain) {
      const Schema& s = at(id);
      if (position < s.prefix_items.size()) {
        of_item.push_back({s.prefix_items[position], false}), evaluated = true;
      } else if (s.items) {
        of_item.push_back({*s.items, false}), evaluated = true;
      }
    }
    for (const SchemaId id : branch.plain) {
      const bool others = std::any_of(branch.plain.begin(), branch.plain.end(), [&](SchemaId other) {
        return other != id && at(other).unevaluated_items;
      });
      if (at(id).unevaluated_items && !evaluated && decides_unevaluated(goal, branch, id) && !any_contains && !others) {
        of_item.push_back({*at(id).unevaluated_items, false});
      }
    }
    return normalised(std::move(of_item));
  };
  const Expr rest = value(item(prefix));
  const Expr more = e_.concat(comma(), rest);
  if (contains) {
    const Schema& s = at(*contains);
    const bool simple = !several_contains && s.min_contains.value_or(1) == 1 && !s.max_contains && prefix == 0 &&
                        least <= 1 && most == kUnbounded;
    if (simple) {
      Goal matching = item(0);
      matching.push_back({*s.contains, false});
      const Expr found = value(normalised(std::move(matching)));
      const Expr before = e_.repeat(e_.concat(rest, comma()), 0);
      return bracketed("[", e_.concat(before, e_.concat(found, e_.repeat(more, 0))), false, "]");
    }
    for (const SchemaId id : branch.plain) {
      if (at(id).contains) checks.push_back({id, false});
    }
    least = std::max<std::uint64_t>(least, s.min_contains.value_or(1));
    if (least > most) return Expr::nothing;
  }
  // From the last element on: what may follow `i` elements.
  const auto repeats = [&](std::uint64_t from) {
    const std::uint64_t lo = least > from ? least - from : 0, hi = most == kUnbounded ? most : most - from;
    return e_.repeat(more, static_cast<std::uint32_t>(lo), static_cast<std::uint32_t>(hi));
  };
  const std::size_t listed = std::min<std::uint64_t>(prefix, most);
  Expr tail = Expr::nothing;
  if (listed == 0) {
    if (most == 0) return bracketed("[", Expr::nothing, true, "]");
    return bracketed("[", e_.concat(rest, repeats(1)), least == 0, "]");
  }
  tail = listed < prefix ? Expr::epsilon : repeats(listed);
  for (std::size_t i = listed; i-- > 1;) {
    tail = e_.concat(comma(), e_.concat(value(item(i)), tail));
    if (i >= least) tail = e_.optional(tail);
  }
  return bracketed("[", e_.concat(value(item(0)), tail), least == 0, "]");
}

// A name's goal: that of every schema that applies to it.
Goal SchemaCompiler::goal_of_property(const Goal& goal, const Branch& branch, std::string_view name) {
  Goal result;
  bool evaluated = false;
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    bool declared = false;
    for (const auto& [property, of_property] : s.properties) {
      if (property == name) result.push_back({of_property, false}), declared = true;
    }
    for (const auto& [pattern, of_pattern] : s.pattern_properties) {
      if (validator_->pattern_found(pattern, name)) result.push_back({of_pattern, false}), declared = true;
    }
    if (!declared && s.additional_properties) result.push_back({*s.additional_properties, false}), declared = true;
    evaluated |= declared || (s.unevaluated_properties && goal != Goal{{id, false}});
  }
  for (const SchemaId id : branch.plain) {
    const auto& unevaluated = at(id).unevaluated_properties;
    if (unevaluated && !evaluated && decides_unevaluated(goal, branch, id)) result.push_back({*unevaluated, false});
  }
  return normalised(std::move(result));
}

bool SchemaCompiler::name_allowed(const Branch& branch, std::string_view name) {
  const schema::JsonDocument document = schema::JsonDocument::of_string(name);
  return std::all_of(branch.plain.begin(), branch.plain.end(), [&](SchemaId id) {
    return !at(id).property_names || branches_.holds({*at(id).property_names, false}, document.root());
  });
}

std::vector<SchemaCompiler::Member> SchemaCompiler::declared_members(const Goal& goal, const Branch& branch,
                                                                     std::vector<std::string>& names) {
  std::set<std::string> seen, required;
  for (const SchemaId id : branch.plain) {
    for (const auto& [name, of_name] : at(id).properties) {
      if (seen.insert(name).second) names.push_back(name);
    }
    required.insert(at(id).required.begin(), at(id).required.end());
  }
  for (const SchemaId id : branch.plain) {
    for (const std::string& name : at(id).required) {
      if (seen.insert(name).second) names.push_back(name);
    }
  }
  if (options_.property_order == PropertyOrder::alphabetical) std::sort(names.begin(), names.end());
  std::vector<Member> members;
  for (const std::string& name : names) {
    const bool needed = required.contains(name);
    const Goal of_name = goal_of_property(goal, branch, name);
    const bool allowed = name_allowed(branch, name) && !branches_.is_never(of_name);
    const Expr expr = allowed ? member(text_.body(name), of_name) : Expr::nothing;
    if (allowed || needed) members.push_back({expr, needed});
  }
  return members;
}

// Members with other names, by the patterns that their names match.
Expr SchemaCompiler::undeclared_member(const Goal& goal, const Branch& branch, const std::vector<std::string>& names,
                                       std::vector<Literal>& checks) {
  std::vector<std::string> patterns;
  std::vector<Expr> every_key{e_.repeat(text_.any_character(), 0)};
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    for (const auto& [pattern, of_pattern] : s.pattern_properties) {
      if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end()) patterns.push_back(pattern);
    }
    if (!s.property_names) continue;
    std::vector<Expr> allowed;
    bool exact = true;
    for (const Branch& of_names : branches_.of({{*s.property_names, false}})) {
      std::vector<Literal> open = of_names.checks;
      if ((of_names.types & schema::kString) == 0) continue;
      std::vector<JsonView> values;
      for (const SchemaId part : of_names.plain) {
        if (at(part).values) values = *at(part).values;
        if (at(part).constant) values.assign(1, *at(part).constant);
      }
      if (values.empty()) {
        allowed.push_back(string_body(of_names, open));
      } else {
        for (const JsonView value : values) {
          const bool fits = value.is(JsonKind::string) && branches_.holds({*s.property_names, false}, value);
          if (fits) allowed.push_back(text_.body(value.text()));
        }
      }
      exact = exact && open.empty();
    }
    if (!exact) checks.push_back({id, false});
    every_key.push_back(e_.either(allowed));
  }
  std::vector<Expr> declared;
  for (const std::string& name : names) declared.push_back(text_.body(name));
  if (!declared.empty()) every_key.push_back(e_.complement(e_.either(declared)));
  const bool dropped = std::any_of(patterns.begin(), patterns.end(),
                                   [&](const std::string& pattern) { return validator_->is_dropped(pattern); });
  if (dropped || patterns.size() > kMaxKeyPatterns) {
    for (const SchemaId id : branch.plain) {
      if (!at(id).pattern_properties.empty() && !dropped) checks.push_back({id, false});
    }
    return member(e_.both(every_key), {});
  }
  std::map<Goal, std::vector<Expr>> keys;
  for (std::size_t matched = 0; matched < std::size_t{1} << patterns.size(); ++matched) {
    const auto matches = [&](const std::string& pattern) {
      const auto found = std::find(patterns.begin(), patterns.end(), pattern) - patterns.begin();
      return (matched >> found & 1) != 0;
    };
    Goal of_key;
    bool evaluated = false;
    for (const SchemaId id : branch.plain) {
      const Schema& s = at(id);
      bool by_pattern = false;
      for (const auto& [pattern, of_pattern] : s.pattern_properties) {
        if (matches(pattern)) of_key.push_back({of_pattern, false}), by_pattern = true;
      }
      if (!by_pattern && s.additional_properties) of_key.push_back({*s.additional_properties, false});
      evaluated |= by_pattern || s.additional_properties || (s.unevaluated_properties && goal != Goal{{id, false}});
    }
    for (const SchemaId id : branch.plain) {
      const auto& unevaluated = at(id).unevaluated_properties;
      if (unevaluated && !evaluated && decides_unevaluated(goal, branch, id)) of_key.push_back({*unevaluated, false});
    }
    of_key = normalised(std::move(of_key));
    if (branches_.is_never(of_key)) continue;
    std::vector<Expr> parts = every_key;
    for (const std::string& pattern : patterns) {
      const Expr part = regex(pattern, Match::search);
      parts.push_back(matches(pattern) ? part : e_.complement(part));
    }
    keys[of_key].push_back(e_.both(parts));
  }
  std::vector<Expr> choices;
  for (const auto& [of_key, of_keys] : keys) {
    const Expr key = e_.either(of_keys);
    if (key != Expr::nothing) choices.push_back(member(key, of_key));
  }
  return e_.either(choices);
}

Expr SchemaCompiler::object(const Goal& goal, const Branch& branch, std::vector<Literal>& checks) {
  std::uint64_t least = 0;
  std::optional<std::uint64_t> most;
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    least = std::max(least, s.min_properties.value_or(0));
    if (s.max_properties) most = std::min(most.value_or(*s.max_properties), *s.max_properties);
    if (s.unevaluated_properties && !decides_unevaluated(goal, branch, id)) checks.push_back({id, false});
  }
  std::vector<std::string> names;
  const std::vector<Member> members = declared_members(goal, branch, names);
  const Expr undeclared = undeclared_member(goal, branch, names, checks);
  if (least > 1 && undeclared != Expr::nothing) {  // a name that is not declared may stand there twice
    for (const SchemaId id : branch.plain) {
      if (at(id).min_properties) checks.push_back({id, false});
    }
  }
  const bool may_be_empty =
      least == 0 && std::none_of(members.begin(), members.end(), [](const Member& m) { return m.required; });
  const bool any_order = options_.property_order == PropertyOrder::any && most.value_or(2) > 1;
  if (any_order && (least > 1 || most)) {  // counted where they end
    for (const SchemaId id : branch.plain) {
      if (at(id).min_properties || at(id).max_properties) checks.push_back({id, false});
    }
  }
  const Expr inside = any_order ? in_any_order(members, undeclared) : in_order(members, undeclared, least, most);
  return bracketed("{", inside, may_be_empty, "}");
}

Expr SchemaCompiler::in_any_order(const std::vector<Member>& members, Expr undeclared) {
  std::vector<Expr> required, optional;
  for (const Member& one : members) (one.required ? required : optional).push_back(one.expr);
  return e_.members(comma(), required, optional, undeclared);
}

// At least one member. tails[c]: what may follow when `c` members stand there, of those before member i.
Expr SchemaCompiler::in_order(const std::vector<Member>& members, Expr undeclared, std::uint64_t least,
                              std::optional<std::uint64_t> most) {
  const std::size_t counted = least > 1 || most ? members.size() : std::min<std::size_t>(members.size(), 1);
  const Expr more = e_.concat(comma(), undeclared);
  std::vector<Expr> tails(counted + 2, Expr::nothing);
  for (std::size_t c = 0; c <= counted; ++c) {
    if (most && c > *most) continue;
    const std::uint64_t lo = least > c ? least - c : 0, hi = most ? std::min<std::uint64_t>(*most - c, kUnbounded) : kUnbounded;
    if (lo >= kUnbounded || lo > hi) continue;
    const auto low = static_cast<std::uint32_t>(lo), high = static_cast<std::uint32_t>(hi);
    if (c > 0) {
      tails[c] = e_.repeat(more, low, high);
    } else if (high > 0) {
      const std::uint32_t others = high == kUnbounded ? high : high - 1;
      tails[c] = e_.concat(undeclared, e_.repeat(more, low > 0 ? low - 1 : 0, others));
    }
  }
  for (std::size_t i = members.size(); i-- > 0;) {
    for (std::size_t c = 0; c <= counted; ++c) {
      const Expr next = tails[std::min(c + 1, counted)];
      const Expr with = e_.concat(c > 0 ? e_.concat(comma(), members[i].expr) : members[i].expr, next);
      tails[c] = members[i].required ? with : e_.either(with, tails[c]);
    }
  }
  return tails[0];
}

}  // namespace

Result<std::vector<Remark>> compile_schema(std::shared_ptr<const schema::Validator> validator,
                                           const JsonGrammarOptions& options, Rules& rules) {
  std::vector<Remark> open = validator->document().not_enforced();
  open.insert(open.end(), validator->not_enforced().begin(), validator->not_enforced().end());
  if (!open.empty() && !options.lenient) {
    std::string list;
    for (const Remark& remark : open) list += format("\n  {}: {}", remark.pointer, remark.reason);
    return make_error(ErrorCode::unsupported, "schema: constraints that cannot be enforced:{}", list);
  }
  SchemaCompiler(std::move(validator), options, rules).compile();
  return open;
}

}  // namespace rill::grammar
