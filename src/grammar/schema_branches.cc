#include "grammar/schema_branches.h"

#include <algorithm>
#include <utility>

#include "schema/schema.h"

namespace rill::grammar {

using schema::JsonKind;
using schema::JsonView;
using schema::Schema;
using schema::SchemaId;
using schema::TypeSet;

namespace {

constexpr std::size_t kMaxBranches = 256;
constexpr int kMaxDisjointDepth = 6;
constexpr std::size_t kMaxCompared = 64;  // alternatives of a oneOf, each with each

}  // namespace

Goal normalised(Goal goal) {
  std::sort(goal.begin(), goal.end());
  goal.erase(std::unique(goal.begin(), goal.end()), goal.end());
  return goal;
}

const Exclusions& SchemaBranches::excluded(SchemaId id) const {
  static const Exclusions none;
  const auto found = excluded_.find(id);
  return found == excluded_.end() ? none : found->second;
}

std::optional<SchemaId> SchemaBranches::property(SchemaId id, std::string_view name) const {
  if (!is_made(id)) return validator_->property(id, name);
  for (const auto& [declared, property] : schema(id).properties) {  // one at most
    if (declared == name) return property;
  }
  return std::nullopt;
}

SchemaId SchemaBranches::make(Schema schema, Exclusions exclusions) {
  const auto id = static_cast<SchemaId>(validator_->document().size() + made_.size());
  made_.push_back(std::move(schema));
  if (!exclusions.strings.empty() || !exclusions.patterns.empty() || !exclusions.numbers.empty()) {
    excluded_.emplace(id, std::move(exclusions));
  }
  return id;
}

SchemaId SchemaBranches::never() {
  if (!never_) never_ = make({.never = true});
  return *never_;
}

bool SchemaBranches::is_never(const Goal& goal) const {
  return std::any_of(goal.begin(), goal.end(), [&](const Literal& l) { return !l.negated && schema(l.schema).never; });
}

std::vector<Branch> SchemaBranches::of(const Goal& goal) {
  std::vector<Branch> done;
  std::vector<Open> todo{{.todo = goal}};
  while (!todo.empty()) {
    Open open = std::move(todo.back());
    todo.pop_back();
    if (!settle(open)) continue;
    if (open.splits.empty()) {
      done.push_back(std::move(open.branch));
      continue;
    }
    const auto [literal, choices] = std::move(open.splits.back());
    open.splits.pop_back();
    if (done.size() + todo.size() + choices.size() > kMaxBranches) {
      open.branch.checks.push_back(literal);
      open.branch.evaluation_open = true;
      todo.push_back(std::move(open));
      continue;
    }
    for (std::size_t i = choices.size(); i-- > 0;) {
      todo.push_back(open);
      todo.back().todo = choices[i];
    }
  }
  return done;
}

// Until nothing is left but splits. False: no value reaches it.
bool SchemaBranches::settle(Open& open) {
  while (!open.todo.empty()) {
    const Literal literal = open.todo.back();
    open.todo.pop_back();
    if (!take(open, literal)) return false;
  }
  return true;
}

bool SchemaBranches::take(Open& open, const Literal& literal) {
  Branch& branch = open.branch;
  if (literal.negated) {
    const std::optional<Choices>& choices = negation(literal.schema);
    branch.evaluation_open = true;
    if (!choices) {
      branch.checks.push_back(literal);
    } else if (choices->empty()) {
      return false;
    } else if (choices->size() == 1) {
      open.todo.insert(open.todo.end(), choices->front().begin(), choices->front().end());
    } else {
      open.splits.push_back({literal, *choices});
    }
    return true;
  }
  if (std::find(branch.plain.begin(), branch.plain.end(), literal.schema) != branch.plain.end()) return true;
  for (const Choices& choices : splits(literal.schema)) open.splits.push_back({literal, choices});
  const Schema& s = schema(literal.schema);
  branch.plain.push_back(literal.schema);
  branch.types &= s.types;
  if (s.never || branch.types == 0) return false;
  branch.evaluation_open |= s.any_of.size() > 1 || (s.condition && !s.consequence && !s.alternative);
  if (one_of_overlaps(literal.schema)) branch.checks.push_back(literal);
  if (s.negated) open.todo.push_back({*s.negated, true});
  for (std::size_t i = s.all_of.size(); i-- > 0;) open.todo.push_back({s.all_of[i], false});
  if (s.reference) open.todo.push_back({*s.reference, false});
  return true;
}

// What a schema says in alternatives.
const std::vector<SchemaBranches::Choices>& SchemaBranches::splits(SchemaId id) {
  const auto [known, is_new] = splits_.try_emplace(id);
  if (!is_new) return known->second;
  const Schema& s = schema(id);
  std::vector<Choices>& all = known->second;
  for (const auto* list : {&s.any_of, &s.one_of}) {
    if (list->empty()) continue;
    Choices& choices = all.emplace_back();
    for (const SchemaId one : *list) choices.push_back({{one, false}});
  }
  if (s.condition && (s.consequence || s.alternative)) {
    std::vector<Literal> yes{{*s.condition, false}}, no{{*s.condition, true}};
    if (s.consequence) yes.push_back({*s.consequence, false});
    if (s.alternative) no.push_back({*s.alternative, false});
    all.push_back({std::move(yes), std::move(no)});
  }
  const auto absent = [&](const std::string& name) {
    return std::vector<Literal>{{make({.properties = {{name, never()}}}), false}};
  };
  for (const auto& [name, needed] : s.dependent_required) {
    Schema present{.required = needed};
    present.required.push_back(name);
    all.push_back({absent(name), {{make(std::move(present)), false}}});
  }
  for (const auto& [name, dependent] : s.dependent_schemas) {
    all.push_back({absent(name), {{make({.required = {name}}), false}, {dependent, false}}});
  }
  return all;
}

// The values that are none of these.
bool SchemaBranches::negate_values(const std::vector<JsonView>& values, Choices& choices) {
  TypeSet types = schema::kAllTypes;
  Exclusions exclusions;
  int booleans = 0;
  for (const JsonView value : values) {
    switch (value.kind()) {
      case JsonKind::null: types &= static_cast<TypeSet>(~schema::kNull); break;
      case JsonKind::string: exclusions.strings.emplace_back(value.text()); break;
      case JsonKind::number: exclusions.numbers.push_back(schema::number_of(value)); break;
      case JsonKind::boolean: booleans |= value.truth() ? 2 : 1; break;
      default: return false;
    }
  }
  if (booleans == 1 || booleans == 2) return false;
  if (booleans == 3) types &= static_cast<TypeSet>(~schema::kBoolean);
  choices.push_back({{make({.types = types}, std::move(exclusions)), false}});
  return true;
}

// When `id` does not hold; nothing where that cannot be said by schemas.
const std::optional<SchemaBranches::Choices>& SchemaBranches::negation(SchemaId id) {
  const auto known = negations_.find(id);
  if (known != negations_.end()) return known->second;
  return negations_.emplace(id, negation_of(schema(id), excluded(id))).first->second;
}

std::optional<SchemaBranches::Choices> SchemaBranches::negation_of(const Schema& s, const Exclusions& excluded) {
  if (s.never) return Choices{{}};
  if (!excluded.strings.empty() || !excluded.numbers.empty() || !excluded.patterns.empty()) return std::nullopt;
  const bool hard = s.multiple_of || s.format || !s.prefix_items.empty() || s.items || s.contains || s.unique_items ||
                    s.unevaluated_items || !s.pattern_properties.empty() || s.additional_properties || s.property_names ||
                    s.unevaluated_properties || !s.dependent_required.empty() || !s.dependent_schemas.empty() ||
                    !s.one_of.empty() || (s.condition && (s.consequence || s.alternative));
  if (hard || (s.pattern && validator_->is_dropped(*s.pattern))) return std::nullopt;
  Choices choices;
  const auto add = [&](Schema schema, Exclusions exclusions = {}) {
    choices.push_back({{make(std::move(schema), std::move(exclusions)), false}});
  };
  if (s.types != schema::kAllTypes) add({.types = static_cast<TypeSet>(schema::kAllTypes & ~s.types)});
  if (s.values && !negate_values(*s.values, choices)) return std::nullopt;
  if (s.constant && !negate_values({*s.constant}, choices)) return std::nullopt;
  if (s.minimum) add({.types = schema::kNumber, .exclusive_maximum = s.minimum});
  if (s.exclusive_minimum) add({.types = schema::kNumber, .maximum = s.exclusive_minimum});
  if (s.maximum) add({.types = schema::kNumber, .exclusive_minimum = s.maximum});
  if (s.exclusive_maximum) add({.types = schema::kNumber, .minimum = s.exclusive_maximum});
  if (s.min_length.value_or(0) > 0) add({.types = schema::kString, .max_length = *s.min_length - 1});
  if (s.max_length) add({.types = schema::kString, .min_length = *s.max_length + 1});
  if (s.pattern) add({.types = schema::kString}, {.patterns = {*s.pattern}});
  if (s.min_items.value_or(0) > 0) add({.types = schema::kArray, .max_items = *s.min_items - 1});
  if (s.max_items) add({.types = schema::kArray, .min_items = *s.max_items + 1});
  if (s.min_properties.value_or(0) > 0) add({.types = schema::kObject, .max_properties = *s.min_properties - 1});
  if (s.max_properties) add({.types = schema::kObject, .min_properties = *s.max_properties + 1});
  for (const std::string& name : s.required) add({.types = schema::kObject, .properties = {{name, never()}}});
  for (const auto& [name, property] : s.properties) {
    const SchemaId other = make({.negated = property});
    add({.types = schema::kObject, .properties = {{name, other}}, .required = {name}});
  }
  if (s.reference) choices.push_back({{*s.reference, true}});
  for (const SchemaId one : s.all_of) choices.push_back({{one, true}});
  if (!s.any_of.empty()) {
    std::vector<Literal> none;
    for (const SchemaId one : s.any_of) none.push_back({one, true});
    choices.push_back(std::move(none));
  }
  if (s.negated) choices.push_back({{*s.negated, false}});
  return choices;
}

// Schemas that are made here say little, so that this goes but a few levels deep.
bool SchemaBranches::holds(const Literal& literal, JsonView value) const {
  if (!is_made(literal.schema)) {
    return validator_->is_valid(literal.schema, value) != literal.negated;
  }
  const Schema& s = schema(literal.schema);
  const Exclusions& without = excluded(literal.schema);
  bool valid = !s.never && (schema::type_of(value) & s.types) != 0;
  if (s.negated) valid = valid && holds({*s.negated, true}, value);
  if (value.is(JsonKind::string)) {
    const auto excludes = [&](const auto& list, auto matches) { return std::any_of(list.begin(), list.end(), matches); };
    valid = valid && !excludes(without.strings, [&](const std::string& text) { return text == value.text(); });
    valid =
        valid && !excludes(without.patterns, [&](const std::string& p) { return validator_->pattern_found(p, value.text()); });
  }
  for (const std::string& name : s.required) valid = valid && (!value.is(JsonKind::object) || value.find(name));
  for (const auto& [name, property] : s.properties) {
    const auto member = value.find(name);
    valid = valid && (!member || holds({property, false}, *member));
  }
  valid = valid && schema::holds_for_size(s, value);
  if (value.is(JsonKind::number)) {
    const schema::Decimal number = schema::number_of(value);
    for (const schema::Decimal& excluded : without.numbers) valid = valid && number != excluded;
  }
  return valid != literal.negated;
}

// A schema and those that hold with it.
std::vector<SchemaId> SchemaBranches::conjuncts(SchemaId id) const {
  std::vector<SchemaId> found{id};
  for (std::size_t i = 0; i < found.size() && found.size() < 64; ++i) {
    const Schema& s = schema(found[i]);
    if (s.reference) found.push_back(*s.reference);
    found.insert(found.end(), s.all_of.begin(), s.all_of.end());
  }
  return found;
}

// Whether a value may be valid for two alternatives of a oneOf.
bool SchemaBranches::one_of_overlaps(SchemaId id) {
  const std::vector<SchemaId>& ids = schema(id).one_of;
  if (ids.size() < 2) return false;
  const auto [known, is_new] = overlaps_.try_emplace(id, ids.size() > kMaxCompared);
  if (!is_new) return known->second;
  for (std::size_t i = 0; i < ids.size() && !known->second; ++i) {
    for (std::size_t j = 0; j < i && !known->second; ++j) known->second = !disjoint(ids[i], ids[j], 0);
  }
  return known->second;
}

// Whether it is plain that no value is valid for both. False says nothing.
bool SchemaBranches::disjoint(SchemaId a, SchemaId b, int depth) const {
  if (depth > kMaxDisjointDepth) return false;
  const std::vector<SchemaId> left = conjuncts(a), right = conjuncts(b);
  TypeSet left_types = schema::kAllTypes, right_types = schema::kAllTypes;
  for (const SchemaId id : left) left_types &= schema(id).types;
  for (const SchemaId id : right) right_types &= schema(id).types;
  if ((left_types & right_types) == 0) return true;
  // Values that are listed on one side are tried on the other.
  const auto none_valid = [&](const std::vector<SchemaId>& from, SchemaId other) {
    for (const SchemaId id : from) {
      const Schema& s = schema(id);
      if (s.never) return true;
      std::vector<JsonView> values = s.values.value_or(std::vector<JsonView>());
      if (s.constant) values.assign(1, *s.constant);
      if (!s.values && !s.constant) continue;
      if (std::none_of(values.begin(), values.end(), [&](JsonView v) { return holds({other, false}, v); })) return true;
    }
    return false;
  };
  if (none_valid(left, b) || none_valid(right, a)) return true;
  if ((left_types & right_types) != schema::kObject) return false;
  const auto requires_name = [&](const std::vector<SchemaId>& ids, const std::string& name) {
    return std::any_of(ids.begin(), ids.end(), [&](SchemaId id) {
      const auto& required = schema(id).required;
      return std::find(required.begin(), required.end(), name) != required.end();
    });
  };
  const auto shut_out = [&](const std::vector<SchemaId>& from, const std::vector<SchemaId>& by) {
    for (const SchemaId id : by) {
      const Schema& s = schema(id);
      if (!s.additional_properties || !schema(*s.additional_properties).never || !s.pattern_properties.empty()) continue;
      for (const SchemaId other : from) {
        for (const std::string& name : schema(other).required) {
          const auto is_name = [&](const auto& property) { return property.first == name; };
          if (std::none_of(s.properties.begin(), s.properties.end(), is_name)) return true;
        }
      }
    }
    return false;
  };
  if (shut_out(left, right) || shut_out(right, left)) return true;
  for (const SchemaId x : left) {
    for (const auto& [name, property] : schema(x).properties) {
      for (const SchemaId y : right) {
        for (const auto& [other_name, other] : schema(y).properties) {
          if (name != other_name) continue;
          const bool left_needs = requires_name(left, name), right_needs = requires_name(right, name);
          if ((left_needs && schema(other).never) || (right_needs && schema(property).never)) return true;
          if ((left_needs || right_needs) && disjoint(property, other, depth + 1)) return true;
        }
      }
    }
  }
  return false;
}

}  // namespace rill::grammar
