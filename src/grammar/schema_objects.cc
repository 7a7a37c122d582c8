#include <algorithm>
#include <set>

#include "grammar/schema_compiler.h"

namespace rill::grammar {
namespace {

constexpr std::size_t kMaxKeyPatterns = 5;  // 2^n kinds of keys

}  // namespace

template <typename Matches>
Goal SchemaCompiler::goal_of_member(const Goal& goal, const Branch& branch, const std::string* name, Matches matches) {
  Goal result;
  bool evaluated = false;
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    bool declared = false;
    if (const auto of_name = name != nullptr ? branches_->property(id, *name) : std::nullopt) {
      result.push_back({*of_name, false}), declared = true;
    }
    for (const auto& [pattern, of_pattern] : s.pattern_properties) {
      if (matches(pattern)) result.push_back({of_pattern, false}), declared = true;
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
    return !at(id).property_names || branches_->holds({*at(id).property_names, false}, document.root());
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
    check_stop();
    const Goal of_name = goal_of_member(goal, branch, &name, [&](const std::string& pattern) {
      return validator_->pattern_found(pattern, name);
    });
    const bool allowed = name_allowed(branch, name) && !branches_->is_never(of_name);
    const Expr expr = allowed ? member(text_.body(name), of_name) : Expr::nothing;
    if (allowed || needed) members.push_back({expr, needed});
  }
  return members;
}

// Names that are not declared, and that all schemas for names allow.
Expr SchemaCompiler::key_of_names(const Branch& branch, const std::vector<std::string>& names,
                                  std::vector<Literal>& checks) {
  std::vector<Expr> every_key{e_.repeat(text_.any_character(), 0)};
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    if (!s.property_names) continue;
    const Goal of_name{{*s.property_names, false}};
    std::vector<Expr> allowed;
    for (const Branch& of_names : branches_->of(of_name)) {
      if ((of_names.types & schema::kString) == 0) continue;
      const auto values = listed(of_names);
      if (!values) {
        std::vector<Literal> open = of_names.checks;
        allowed.push_back(string_body(of_names, open));
        if (!open.empty()) checks.push_back({id, false});
        continue;
      }
      for (const JsonView value : *values) {
        if (value.is(JsonKind::string) && branches_->holds(of_name[0], value)) allowed.push_back(text_.body(value.text()));
      }
    }
    every_key.push_back(e_.either(allowed));
  }
  std::vector<Expr> declared;
  for (const std::string& name : names) declared.push_back(text_.body(name));
  if (!declared.empty()) every_key.push_back(e_.complement(e_.either(declared)));
  return e_.both(every_key);
}

// Members with other names, by the patterns that their names match.
Expr SchemaCompiler::undeclared_member(const Goal& goal, const Branch& branch, const std::vector<std::string>& names,
                                       std::vector<Literal>& checks) {
  std::vector<std::string> patterns;
  for (const SchemaId id : branch.plain) {
    for (const auto& [pattern, of_pattern] : at(id).pattern_properties) {
      if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end()) patterns.push_back(pattern);
    }
  }
  const Expr any_key = key_of_names(branch, names, checks);
  const bool dropped = std::any_of(patterns.begin(), patterns.end(),
                                   [&](const std::string& pattern) { return validator_->is_dropped(pattern); });
  if (dropped || patterns.size() > kMaxKeyPatterns) {
    for (const SchemaId id : branch.plain) {
      if (!at(id).pattern_properties.empty() && !dropped) checks.push_back({id, false});
    }
    return member(any_key, Goal());
  }
  std::map<Goal, std::vector<Expr>> keys;
  for (std::size_t matched = 0; matched < std::size_t{1} << patterns.size(); ++matched) {
    const auto matches = [&](const std::string& pattern) {
      const auto found = std::find(patterns.begin(), patterns.end(), pattern) - patterns.begin();
      return (matched >> found & 1) != 0;
    };
    const Goal of_key = goal_of_member(goal, branch, nullptr, matches);
    if (branches_->is_never(of_key)) continue;
    std::vector<Expr> parts{any_key};
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
  const bool any_order = options_.property_order == PropertyOrder::any && most.value_or(2) > 1 && !members.empty();
  if (any_order && (least > 1 || most)) {  // counted where they end
    for (const SchemaId id : branch.plain) {
      if (at(id).min_properties || at(id).max_properties) checks.push_back({id, false});
    }
  }
  if (any_order) return bracketed("{", in_any_order(members, undeclared), may_be_empty, "}");
  return opened("{", in_order(members, undeclared, least, most), may_be_empty, "}");
}

Expr SchemaCompiler::in_any_order(const std::vector<Member>& members, Expr undeclared) {
  std::vector<Expr> required, optional;
  for (const Member& one : members) (one.required ? required : optional).push_back(one.expr);
  return e_.members(comma(), required, optional, undeclared);
}

// At least one member, and what closes the object. What members have in common, a comma and a quote, stands before them
// once: a text that has read it has not to read it again in each of them. The closing stands in each, so that where one
// member alone may follow nothing has to be put behind it. By the number of members that stand there, of those before
// member i; where that makes no difference, any but none:
//   inside: what may follow their comma and a quote, tails: what may follow them.
Expr SchemaCompiler::in_order(const std::vector<Member>& members, Expr undeclared, std::uint64_t least,
                              std::optional<std::uint64_t> most) {
  const auto behind_quote = [this](Expr member) { return e_.derivative(member, {Kind::bytes, '"'}); };
  const bool counts = least > 1 || most;
  const std::size_t counted = counts ? members.size() : 0;
  const Expr more = e_.concat(comma(), undeclared), other = behind_quote(undeclared);
  const Expr quote = e_.literal("\""), end = closing("}");
  std::vector<Expr> inside(counted + 1, Expr::nothing), tails(counted + 1, Expr::nothing);
  std::vector<bool> may_end(counted + 1);
  for (std::size_t c = 0; c <= counted; ++c) {
    const std::uint64_t stand = counts ? c : 1;
    if (most && stand > *most) continue;
    const std::uint64_t lo = least > stand ? least - stand : 0;
    const std::uint64_t hi = most ? std::min<std::uint64_t>(*most - stand, kUnbounded) : kUnbounded;
    if (lo >= kUnbounded || lo > hi) continue;
    const auto low = static_cast<std::uint32_t>(lo), high = static_cast<std::uint32_t>(hi);
    may_end[c] = low == 0;
    tails[c] = e_.concat(e_.repeat(more, low, high), end);
    if (high == 0) continue;
    const Expr others = e_.repeat(more, low > 0 ? low - 1 : 0, high == kUnbounded ? high : high - 1);
    inside[c] = e_.concat(other, e_.concat(others, end));
  }
  for (std::size_t i = members.size(); i-- > 0;) {
    const Expr member = behind_quote(members[i].expr);
    for (std::size_t c = 0; c <= counted; ++c) {
      const Expr with = e_.concat(member, tails[std::min(c + 1, counted)]);
      inside[c] = members[i].required ? with : e_.either(with, inside[c]);
      may_end[c] = may_end[c] && !members[i].required;
      const Expr next = e_.concat(comma(), e_.concat(quote, inside[c]));
      tails[c] = may_end[c] ? e_.either(end, next) : next;
    }
  }
  return e_.concat(quote, inside[0]);
}

}  // namespace rill::grammar
