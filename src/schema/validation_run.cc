#include "schema/validation_run.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/utf8.h"
#include "schema/format_checks.h"

namespace rill::schema {
namespace {

constexpr std::size_t kStepsOfPair = 32;

std::string names_of(TypeSet types) {
  constexpr std::pair<TypeSet, std::string_view> kNames[] = {
      {kNull, "null"},     {kBoolean, "boolean"}, {kNumber, "number"}, {kInteger, "integer"},
      {kString, "string"}, {kArray, "array"},     {kObject, "object"}};
  std::string names;
  for (const auto& [type, name] : kNames) {
    if ((types & type) != type) continue;
    names += (names.empty() ? "" : " or ") + std::string(name);
    types = static_cast<TypeSet>(types & ~type);
  }
  return names;
}

}  // namespace

bool ValidationRun::holds(SchemaId root, JsonView value) {
  want(root, value);
  while (!open_.empty()) {
    const auto [pair, stage] = open_.back();
    if (answers_.contains(key(pair))) {
      open_.pop_back();
      continue;
    }
    switch (stage) {
      case Stage::found:
        open_.back().stage = Stage::needs_met;
        want_needed(pair);
        break;
      case Stage::needs_met:
        open_.back().stage = Stage::unevaluated_met;
        want_unevaluated(pair);
        break;
      case Stage::unevaluated_met: open_.pop_back(); answer(pair);
    }
  }
  return valid(root, value);
}

void ValidationRun::want_needed(const Pair& pair) {
  const JsonView value = pair.value;
  const Schema& s = schema(pair.schema);
  budget_.spend(kStepsOfPair + (is_container(value) ? value.size() : value.text().size() / kBytesOfStep));
  each_in_place(s, value, [&](SchemaId id) { want(id, value); });
  each_child(pair.schema, value, [&](SchemaId id, JsonView child, std::size_t) { want(id, child); });
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (s.contains && value.is(JsonKind::array)) want(*s.contains, value[i]);
    if (s.property_names && value.is(JsonKind::object)) want(*s.property_names, value[i].name_value());
  }
}

// What is looked at when it is known what the others have evaluated.
void ValidationRun::want_unevaluated(const Pair& pair) {
  const Schema& s = schema(pair.schema);
  const std::optional<SchemaId>& id = pair.value.is(JsonKind::array) ? s.unevaluated_items : s.unevaluated_properties;
  if (!id || !is_container(pair.value)) return;
  const std::vector<bool>& evaluated = evaluated_[key(pair)] = evaluated_by(pair.schema, pair.value);
  for (std::size_t i = 0; i < pair.value.size(); ++i) {
    if (!evaluated[i]) want(*id, pair.value[i]);
  }
}

void ValidationRun::answer(const Pair& pair) {
  bool holds = true;
  check(
      pair, [&](std::string_view, std::string_view) { holds = false; },
      [&](SchemaId, JsonView, std::optional<std::size_t>) { holds = false; });
  answers_.emplace(key(pair), holds);
  if (!holds || !validator_.needs_evaluated() || !is_container(pair.value)) return;
  const Schema& s = schema(pair.schema);
  const bool all = (pair.value.is(JsonKind::array) ? s.unevaluated_items : s.unevaluated_properties).has_value();
  evaluated_[key(pair)] = all ? std::vector<bool>(pair.value.size(), true) : evaluated_by(pair.schema, pair.value);
}

std::vector<bool> ValidationRun::evaluated_by(SchemaId id, JsonView value) const {
  const Schema& s = schema(id);
  std::vector<bool> evaluated(value.size());
  each_that_counts_in_place(s, value, [&](SchemaId part) {
    budget_.spend(1 + value.size() / kBytesOfStep);
    const std::vector<bool>& also = evaluated_.at(key({part, value}));
    for (std::size_t i = 0; i < also.size(); ++i) evaluated[i] = evaluated[i] || also[i];
  });
  each_child(id, value, [&](SchemaId, JsonView, std::size_t i) { evaluated[i] = true; });
  for (std::size_t i = 0; s.contains && value.is(JsonKind::array) && i < value.size(); ++i) {
    evaluated[i] = evaluated[i] || valid(*s.contains, value[i]);
  }
  return evaluated;
}

template <typename Fail>
void ValidationRun::check_number(const Schema& s, JsonView value, Fail fail) const {
  const Decimal number = number_of(value);
  if (s.minimum && compare(number, *s.minimum) < 0) fail("minimum", "too small");
  if (s.exclusive_minimum && compare(number, *s.exclusive_minimum) <= 0) fail("exclusiveMinimum", "too small");
  if (s.maximum && compare(number, *s.maximum) > 0) fail("maximum", "too large");
  if (s.exclusive_maximum && compare(number, *s.exclusive_maximum) >= 0) fail("exclusiveMaximum", "too large");
  if (!s.multiple_of) return;
  const auto shift = static_cast<std::size_t>(std::abs(number.exponent - s.multiple_of->exponent));
  budget_.spend((number.digits.size() + shift) * (s.multiple_of->digits.size() / kBytesOfStep + 1));
  if (!is_multiple(number, *s.multiple_of)) fail("multipleOf", "not a multiple");
}

template <typename Fail>
void ValidationRun::check_string(const Schema& s, std::string_view text, Fail fail) const {
  if (s.min_length || s.max_length) {
    const std::uint64_t length = utf8::length(text);
    if (s.min_length && length < *s.min_length) fail("minLength", "too short");
    if (s.max_length && length > *s.max_length) fail("maxLength", "too long");
  }
  if (s.pattern && !found_in(*s.pattern, text)) fail("pattern", "does not match the pattern");
  if (s.format && !has_format(*s.format, text)) fail("format", "not of the format");
}

bool ValidationRun::has_repeats(JsonView array) const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < array.size(); ++i) texts.push_back(canonical(array[i], budget_));
  std::sort(texts.begin(), texts.end());
  return std::adjacent_find(texts.begin(), texts.end()) != texts.end();
}

template <typename Fail>
void ValidationRun::check_array(const Schema& s, JsonView value, Fail fail) const {
  if (s.min_items && value.size() < *s.min_items) fail("minItems", "too few items");
  if (s.max_items && value.size() > *s.max_items) fail("maxItems", "too many items");
  if (s.unique_items && has_repeats(value)) fail("uniqueItems", "two items are equal");
  if (!s.contains) return;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < value.size(); ++i) count += valid(*s.contains, value[i]) ? 1 : 0;
  if (count < s.min_contains.value_or(1)) fail(count > 0 ? "minContains" : "contains", "too few items match contains");
  if (s.max_contains && count > *s.max_contains) fail("maxContains", "too many items match contains");
}

template <typename Fail>
void ValidationRun::check_object(const Schema& s, JsonView value, Fail fail) const {
  if (s.min_properties && value.size() < *s.min_properties) fail("minProperties", "too few properties");
  if (s.max_properties && value.size() > *s.max_properties) fail("maxProperties", "too many properties");
  budget_.spend(s.required.size() + s.dependent_required.size());
  for (const std::string& name : s.required) {
    if (!value.find(name)) fail("required", format("\"{}\" is missing", name));
  }
  for (const auto& [name, needed] : s.dependent_required) {
    if (!value.find(name)) continue;
    budget_.spend(needed.size());
    for (const std::string& other : needed) {
      if (!value.find(other)) fail("dependentRequired", format("\"{}\" needs \"{}\"", name, other));
    }
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!valid(s.property_names, value[i].name_value()))
      fail("propertyNames", format("the name \"{}\"", value[i].name()));
  }
}

// What needs no other subschema.
template <typename Fail>
void ValidationRun::check_value(const Schema& s, JsonView value, Fail fail) const {
  if (const TypeSet type = type_of(value); (type & s.types) == 0) {
    fail("type", format("{}, not {}", names_of(type == kFraction ? kNumber : type), names_of(s.types)));
  }
  if (s.values && !is_among(*s.values, value, budget_)) fail("enum", "not among its values");
  if (s.constant && !equal(*s.constant, value, budget_)) fail("const", "another value");
  switch (value.kind()) {
    case JsonKind::number: return check_number(s, value, fail);
    case JsonKind::string: return check_string(s, value.text(), fail);
    case JsonKind::array: return check_array(s, value, fail);
    case JsonKind::object: return check_object(s, value, fail);
    default: return;
  }
}

template <typename Fail, typename Descend>
void ValidationRun::check_in_place(const Schema& s, JsonView value, Fail fail, Descend descend) const {
  const auto need = [&](const std::optional<SchemaId>& id) {
    if (!valid(id, value)) descend(*id, value, std::nullopt);
  };
  const auto count = [&](const std::vector<SchemaId>& ids) {
    return std::count_if(ids.begin(), ids.end(), [&](SchemaId id) { return valid(id, value); });
  };
  need(s.reference);
  std::for_each(s.all_of.begin(), s.all_of.end(), need);
  if (!s.any_of.empty() && count(s.any_of) == 0) fail("anyOf", "none of them holds");
  if (!s.one_of.empty() && count(s.one_of) != 1) fail("oneOf", format("{} of them hold, not one", count(s.one_of)));
  if (s.negated && valid(*s.negated, value)) fail("not", "it holds");
  if (s.condition) need(valid(*s.condition, value) ? s.consequence : s.alternative);
  for (const auto& [name, id] : s.dependent_schemas) {
    if (value.find(name)) need(id);
  }
}

template <typename Fail, typename Descend>
void ValidationRun::check(const Pair& pair, Fail fail, Descend descend) const {
  const Schema& s = schema(pair.schema);
  const JsonView value = pair.value;
  if (s.never) return fail("", "nothing is allowed here");
  check_value(s, value, fail);
  check_in_place(s, value, fail, descend);
  const auto need = [&](SchemaId id, JsonView child, std::size_t i) {
    if (!valid(id, child)) descend(id, child, i);
  };
  each_child(pair.schema, value, need);
  const std::optional<SchemaId>& unevaluated =
      value.is(JsonKind::array) ? s.unevaluated_items : s.unevaluated_properties;
  if (!unevaluated || !is_container(value)) return;
  const std::vector<bool>& evaluated = evaluated_.at(key(pair));
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!evaluated[i]) need(*unevaluated, value[i], i);
  }
}

std::vector<ValidationError> ValidationRun::explain(SchemaId root, JsonView value, std::size_t most) {
  std::vector<ValidationError> errors;
  std::unordered_set<std::uint64_t> seen;
  ValuePaths paths(budget_);
  std::vector<Located> todo{{{root, value}}};
  while (!todo.empty() && errors.size() < most) {
    const Located at = todo.back();
    todo.pop_back();
    if (valid(at.pair.schema, at.pair.value) || !seen.insert(key(at.pair)).second) continue;
    const std::string& keywords = schema(at.pair.schema).pointer;
    const auto fail = [&](std::string_view keyword, std::string_view message) {
      if (errors.size() == most) return;
      std::string pointer = paths.pointer(at.path);
      budget_.spend(pointer.size() + message.size());  // by the byte: all errors are kept
      errors.push_back(
          {std::move(pointer), keywords + (keyword.empty() ? "" : "/") + std::string(keyword), std::string(message)});
    };
    std::vector<Located> deeper;
    check(at.pair, fail, [&](SchemaId id, JsonView child, std::optional<std::size_t> i) {
      deeper.push_back({{id, child}, i ? paths.add(at.path, child, *i) : at.path});
    });
    todo.insert(todo.end(), deeper.rbegin(), deeper.rend());
  }
  return errors;
}

}  // namespace rill::schema
