// One value on its way through a validator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/step_budget.h"
#include "rill/json_schema.h"
#include "schema/validator.h"
#include "schema/value_paths.h"

namespace rill::schema {

// Answers "does this subschema hold for this value?" for pairs of both, those first that others need.
class ValidationRun {
 public:
  ValidationRun(const Validator& validator, StepBudget& budget) : validator_(validator), budget_(budget) {}

  bool holds(SchemaId schema, JsonView value);

  // Why it does not hold: what no further subschema explains. After holds().
  std::vector<ValidationError> explain(SchemaId schema, JsonView value, std::size_t most);

  // Calls use(schema, value, pointer) for what is asked of a value that is valid, and holds: not within `not`, nor
  // within an alternative that does not hold; pointer() is the JSON pointer of the value. Names of members are left
  // out. After holds().
  template <typename Use>
  void each_that_counts(SchemaId schema, JsonView value, Use use);

 private:
  struct Pair {
    SchemaId schema;
    JsonView value;
  };
  enum class Stage : std::uint8_t { found, needs_met, unevaluated_met };
  struct Open {
    Pair pair;
    Stage stage = Stage::found;
  };
  struct Located {
    Pair pair;
    ValuePaths::Id path = ValuePaths::Id::root;
  };

  static std::uint64_t key(const Pair& pair) { return std::uint64_t{index(pair.schema)} << 32 | pair.value.number(); }
  static bool is_container(JsonView value) { return value.is(JsonKind::array) || value.is(JsonKind::object); }
  const Schema& schema(SchemaId id) const { return validator_.document()[id]; }
  bool valid(SchemaId id, JsonView value) const { return answers_.at(key({id, value})); }
  bool valid(const std::optional<SchemaId>& id, JsonView value) const { return !id || valid(*id, value); }
  bool found_in(const std::string& pattern, std::string_view text) const {
    return validator_.pattern_found(pattern, text, budget_);
  }

  void want(SchemaId id, JsonView value) {
    budget_.spend(1);
    const Pair pair{id, value};
    if (!answers_.contains(key(pair))) open_.push_back({pair});
  }
  void want_needed(const Pair& pair);
  void want_unevaluated(const Pair& pair);
  void answer(const Pair& pair);
  std::vector<bool> evaluated_by(SchemaId id, JsonView value) const;

  // Calls use(id, child, i) for the schemas of elements and members, but for unevaluated ones.
  template <typename Use>
  void each_child(SchemaId id, JsonView value, Use use) const;
  // Calls use(id) for the subschemas that say something about the value itself.
  template <typename Use>
  static void each_in_place(const Schema& s, JsonView value, Use use);
  // For those of them that hold, and are asked for.
  template <typename Use>
  void each_that_counts_in_place(const Schema& s, JsonView value, Use use) const;

  // Calls fail(keyword, message) for each keyword that does not hold, and descend(id, child, i) for each subschema
  // whose own keywords say why; the child is the value itself where `i` is absent.
  template <typename Fail, typename Descend>
  void check(const Pair& pair, Fail fail, Descend descend) const;
  template <typename Fail>
  void check_value(const Schema& s, JsonView value, Fail fail) const;
  template <typename Fail>
  void check_number(const Schema& s, JsonView value, Fail fail) const;
  template <typename Fail>
  void check_string(const Schema& s, std::string_view text, Fail fail) const;
  template <typename Fail>
  void check_array(const Schema& s, JsonView value, Fail fail) const;
  template <typename Fail>
  void check_object(const Schema& s, JsonView value, Fail fail) const;
  template <typename Fail, typename Descend>
  void check_in_place(const Schema& s, JsonView value, Fail fail, Descend descend) const;
  bool has_repeats(JsonView array) const;

  const Validator& validator_;
  StepBudget& budget_;
  std::unordered_map<std::uint64_t, bool> answers_;
  // By element or member, where somebody asks: until the pair is known to hold, by others than its unevaluated keyword.
  std::unordered_map<std::uint64_t, std::vector<bool>> evaluated_;
  std::vector<Open> open_;
};

template <typename Use>
void ValidationRun::each_child(SchemaId id, JsonView value, Use use) const {
  const Schema& s = schema(id);
  if (value.is(JsonKind::array)) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i < s.prefix_items.size()) {
        use(s.prefix_items[i], value[i], i);
      } else if (s.items) {
        use(*s.items, value[i], i);
      }
    }
  } else if (value.is(JsonKind::object)) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const JsonView member = value[i];
      const std::optional<SchemaId> property = validator_.property(id, member.name());
      bool declared = property.has_value();
      if (property) use(*property, member, i);
      for (const auto& [pattern, schema] : s.pattern_properties) {
        if (found_in(pattern, member.name())) declared = true, use(schema, member, i);
      }
      if (!declared && s.additional_properties) use(*s.additional_properties, member, i);
    }
  }
}

template <typename Use>
void ValidationRun::each_in_place(const Schema& s, JsonView value, Use use) {
  if (s.reference) use(*s.reference);
  for (const auto* list : {&s.all_of, &s.any_of, &s.one_of}) {
    for (const SchemaId id : *list) use(id);
  }
  for (const auto* one : {&s.negated, &s.condition, &s.consequence, &s.alternative}) {
    if (*one) use(**one);
  }
  for (const auto& [name, id] : s.dependent_schemas) {
    if (value.find(name)) use(id);
  }
}

template <typename Use>
void ValidationRun::each_that_counts_in_place(const Schema& s, JsonView value, Use use) const {
  const auto use_if_valid = [&](const std::optional<SchemaId>& id) {
    if (id && valid(*id, value)) use(*id);
  };
  use_if_valid(s.reference);
  for (const auto* list : {&s.all_of, &s.any_of, &s.one_of}) std::for_each(list->begin(), list->end(), use_if_valid);
  use_if_valid(s.condition);
  if (s.condition) use_if_valid(valid(*s.condition, value) ? s.consequence : s.alternative);
  for (const auto& [name, id] : s.dependent_schemas) {
    if (value.find(name)) use_if_valid(id);
  }
}

template <typename Use>
void ValidationRun::each_that_counts(SchemaId root, JsonView value, Use use) {
  std::unordered_set<std::uint64_t> seen;
  ValuePaths paths(budget_);
  std::vector<Located> todo{{{root, value}}};
  while (!todo.empty()) {
    const Located at = todo.back();
    todo.pop_back();
    if (!seen.insert(key(at.pair)).second) continue;
    budget_.spend(1 + at.pair.value.size());
    use(at.pair.schema, at.pair.value, [&] { return paths.pointer(at.path); });
    const Schema& s = schema(at.pair.schema);
    each_that_counts_in_place(s, at.pair.value, [&](SchemaId id) {
      todo.push_back({{id, at.pair.value}, at.path});
    });
    const auto descend = [&](SchemaId id, JsonView child, std::size_t i) {
      todo.push_back({{id, child}, paths.add(at.path, child, i)});
    };
    each_child(at.pair.schema, at.pair.value, descend);
    if (!is_container(at.pair.value)) continue;
    const bool array = at.pair.value.is(JsonKind::array);
    const auto& unevaluated = array ? s.unevaluated_items : s.unevaluated_properties;
    const std::vector<bool> evaluated = unevaluated ? evaluated_by(at.pair.schema, at.pair.value) : std::vector<bool>();
    for (std::size_t i = 0; i < at.pair.value.size(); ++i) {
      const JsonView child = at.pair.value[i];
      if (array && s.contains && valid(*s.contains, child)) descend(*s.contains, child, i);
      if (unevaluated && !evaluated[i]) descend(*unevaluated, child, i);
    }
  }
}

}  // namespace rill::schema
