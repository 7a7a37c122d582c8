#include "schema/validator.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/utf8.h"
#include "schema/formats.h"
#include "schema/uri.h"

namespace rill::schema {
namespace {

std::uint64_t length_of(std::string_view text) {  // in code points
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < text.size(); ++length) i += utf8::decode(text, i).length;
  return length;
}

// The text of a value, the same for all that are equal.
std::string canonical(JsonView root) {
  std::string text;
  std::vector<std::pair<std::optional<JsonView>, std::string>> todo{{root, {}}};
  while (!todo.empty()) {
    const auto [value, literal] = std::move(todo.back());
    todo.pop_back();
    text += literal;
    if (!value) continue;
    switch (value->kind()) {
      case JsonKind::null: text += 'n'; break;
      case JsonKind::boolean: text += value->truth() ? 't' : 'f'; break;
      case JsonKind::string: text += format("\"{}:{}", value->text().size(), value->text()); break;
      case JsonKind::number: {
        const auto number = Decimal::parse(value->text());
        if (!number) {
          text += value->text();
        } else {
          text += format("#{}{}e{}", number->negative ? "-" : "", number->digits, number->exponent);
        }
        break;
      }
      case JsonKind::array:
        text += '[';
        todo.emplace_back(std::nullopt, "]");
        for (std::size_t i = value->size(); i-- > 0;) todo.emplace_back((*value)[i], ",");
        break;
      case JsonKind::object: {
        std::vector<JsonView> members;
        for (std::size_t i = 0; i < value->size(); ++i) members.push_back((*value)[i]);
        std::sort(members.begin(), members.end(), [](JsonView a, JsonView b) { return a.name() > b.name(); });
        text += '{';
        todo.emplace_back(std::nullopt, "}");
        for (const JsonView member : members) {
          todo.emplace_back(member, format("\"{}:{}", member.name().size(), member.name()));
        }
        break;
      }
    }
  }
  return text;
}

bool has_repeats(JsonView array) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < array.size(); ++i) texts.push_back(canonical(array[i]));
  std::sort(texts.begin(), texts.end());
  return std::adjacent_find(texts.begin(), texts.end()) != texts.end();
}

}  // namespace

// Answers "does this subschema hold for this value?" for pairs of both, those first that others need.
class Validation {
 public:
  explicit Validation(const Validator& validator) : validator_(validator) {}

  bool holds(SchemaId schema, JsonView value) {
    std::vector<Pair> todo{{schema, value}};
    while (!todo.empty()) {
      const Pair pair = todo.back();
      if (answers_.contains(key(pair))) {
        todo.pop_back();
        continue;
      }
      needed_.clear();
      need(pair);
      if (needed_.empty()) need_unevaluated(pair);
      if (needed_.empty()) {
        answers_[key(pair)] = answer(pair);
        todo.pop_back();
      } else {
        todo.insert(todo.end(), needed_.begin(), needed_.end());
      }
    }
    return valid(schema, value);
  }

  void explain(SchemaId schema, JsonView value, std::size_t most, std::vector<Violation>& violations);

 private:
  struct Pair {
    SchemaId schema;
    JsonView value;
  };
  struct Answer {
    bool valid = true;
    std::vector<bool> evaluated = {};  // by element or member; empty where nobody asks
  };

  static std::uint64_t key(const Pair& pair) {
    return std::uint64_t{index(pair.schema)} << 32 | pair.value.number();
  }
  const Schema& schema(SchemaId id) const { return validator_.document()[id]; }
  bool valid(SchemaId id, JsonView value) const { return answers_.at(key({id, value})).valid; }
  bool valid(const std::optional<SchemaId>& id, JsonView value) const { return !id || valid(*id, value); }

  void want(SchemaId id, JsonView value) {
    const Pair pair{id, value};
    if (!answers_.contains(key(pair))) needed_.push_back(pair);
  }
  void want(const std::optional<SchemaId>& id, JsonView value) {
    if (id) want(*id, value);
  }
  void want(const std::vector<SchemaId>& ids, JsonView value) {
    for (const SchemaId id : ids) want(id, value);
  }

  // Calls use(id, child) for the schemas of elements and members, but for unevaluated ones.
  template <typename Use>
  void each_child(const Schema& s, JsonView value, Use use) const {
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
        bool declared = false;
        const auto property = std::find_if(s.properties.begin(), s.properties.end(),
                                           [&](const auto& p) { return p.first == member.name(); });
        if (property != s.properties.end()) declared = true, use(property->second, member, i);
        for (const auto& [pattern, id] : s.pattern_properties) {
          if (validator_.pattern_found(pattern, member.name())) declared = true, use(id, member, i);
        }
        if (!declared && s.additional_properties) use(*s.additional_properties, member, i);
      }
    }
  }

  // Calls use(id) for the subschemas that say something about the value itself.
  template <typename Use>
  static void each_in_place(const Schema& s, JsonView value, Use use) {
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

  void need(const Pair& pair) {
    const Schema& s = schema(pair.schema);
    each_in_place(s, pair.value, [&](SchemaId id) { want(id, pair.value); });
    each_child(s, pair.value, [&](SchemaId id, JsonView child, std::size_t) { want(id, child); });
    for (std::size_t i = 0; i < pair.value.size(); ++i) {
      if (pair.value.is(JsonKind::array)) want(s.contains, pair.value[i]);
      if (pair.value.is(JsonKind::object)) want(s.property_names, pair.value[i].name_value());
    }
  }

  // What is looked at when it is known what the others have evaluated.
  void need_unevaluated(const Pair& pair) {
    const Schema& s = schema(pair.schema);
    const std::optional<SchemaId>& id = pair.value.is(JsonKind::array) ? s.unevaluated_items : s.unevaluated_properties;
    if (!id || (!pair.value.is(JsonKind::array) && !pair.value.is(JsonKind::object))) return;
    const std::vector<bool> evaluated = evaluated_by(s, pair.value);
    for (std::size_t i = 0; i < pair.value.size(); ++i) {
      if (!evaluated[i]) want(*id, pair.value[i]);
    }
  }

  std::vector<bool> evaluated_by(const Schema& s, JsonView value) const {
    std::vector<bool> evaluated(value.size());
    const auto join = [&](SchemaId id) {
      const Answer& answer = answers_.at(key({id, value}));
      if (!answer.valid) return;
      for (std::size_t i = 0; i < answer.evaluated.size(); ++i) evaluated[i] = evaluated[i] || answer.evaluated[i];
    };
    each_in_place(s, value, [&](SchemaId id) {
      const bool taken = s.condition && valid(*s.condition, value);
      if (s.negated == id || (s.consequence == id && !taken) || (s.alternative == id && (taken || !s.condition))) return;
      join(id);
    });
    each_child(s, value, [&](SchemaId, JsonView, std::size_t i) { evaluated[i] = true; });
    if (s.contains && value.is(JsonKind::array)) {
      for (std::size_t i = 0; i < value.size(); ++i) evaluated[i] = evaluated[i] || valid(*s.contains, value[i]);
    }
    return evaluated;
  }

  // Calls fail(keyword, message) for each keyword that does not hold.
  template <typename Fail>
  void check(const Pair& pair, Fail fail) const;
  template <typename Fail>
  void check_number(const Schema& s, const Decimal& number, Fail fail) const;
  template <typename Fail>
  void check_string(const Schema& s, std::string_view text, Fail fail) const;
  template <typename Fail>
  void check_array(const Schema& s, JsonView value, Fail fail) const;
  template <typename Fail>
  void check_object(const Schema& s, JsonView value, Fail fail) const;
  template <typename Fail>
  void check_in_place(const Schema& s, JsonView value, Fail fail) const;

  Answer answer(const Pair& pair) const {
    Answer result;
    check(pair, [&](std::string_view, std::string_view) { result.valid = false; });
    const bool container = pair.value.is(JsonKind::array) || pair.value.is(JsonKind::object);
    if (validator_.needs_evaluated_ && container) {
      const Schema& s = schema(pair.schema);
      result.evaluated = evaluated_by(s, pair.value);
      const bool all = pair.value.is(JsonKind::array) ? s.unevaluated_items.has_value() : s.unevaluated_properties.has_value();
      if (all) result.evaluated.assign(result.evaluated.size(), true);
    }
    return result;
  }

  const Validator& validator_;
  std::unordered_map<std::uint64_t, Answer> answers_;
  std::vector<Pair> needed_;
};

TypeSet type_of(JsonView value) {
  switch (value.kind()) {
    case JsonKind::null: return kNull;
    case JsonKind::boolean: return kBoolean;
    case JsonKind::string: return kString;
    case JsonKind::array: return kArray;
    case JsonKind::object: return kObject;
    case JsonKind::number: break;
  }
  const auto number = Decimal::parse(value.text());
  return number && number->is_integer() ? kInteger : kFraction;
}

bool holds_for_size(const Schema& s, JsonView value) {
  const auto within = [](std::uint64_t size, const auto& least, const auto& most) {
    return size >= least.value_or(0) && (!most || size <= *most);
  };
  switch (value.kind()) {
    case JsonKind::string: return within(length_of(value.text()), s.min_length, s.max_length);
    case JsonKind::array: return within(value.size(), s.min_items, s.max_items);
    case JsonKind::object: return within(value.size(), s.min_properties, s.max_properties);
    case JsonKind::number: {
      const auto number = Decimal::parse(value.text());
      return number && (!s.minimum || compare(*number, *s.minimum) >= 0) &&
             (!s.exclusive_minimum || compare(*number, *s.exclusive_minimum) > 0) &&
             (!s.maximum || compare(*number, *s.maximum) <= 0) &&
             (!s.exclusive_maximum || compare(*number, *s.exclusive_maximum) < 0);
    }
    default: return true;
  }
}

template <typename Fail>
void Validation::check_number(const Schema& s, const Decimal& number, Fail fail) const {
  if (s.minimum && compare(number, *s.minimum) < 0) fail("minimum", "too small");
  if (s.exclusive_minimum && compare(number, *s.exclusive_minimum) <= 0) fail("exclusiveMinimum", "too small");
  if (s.maximum && compare(number, *s.maximum) > 0) fail("maximum", "too large");
  if (s.exclusive_maximum && compare(number, *s.exclusive_maximum) >= 0) fail("exclusiveMaximum", "too large");
  if (s.multiple_of && !is_multiple(number, *s.multiple_of)) fail("multipleOf", "not a multiple");
}

template <typename Fail>
void Validation::check_string(const Schema& s, std::string_view text, Fail fail) const {
  if (s.min_length || s.max_length) {
    const std::uint64_t length = length_of(text);
    if (s.min_length && length < *s.min_length) fail("minLength", "too short");
    if (s.max_length && length > *s.max_length) fail("maxLength", "too long");
  }
  if (s.pattern && !validator_.pattern_found(*s.pattern, text)) fail("pattern", "does not match the pattern");
  if (!s.format) return;
  const auto pattern = pattern_of(*s.format);
  const auto machine = validator_.formats_.find(*s.format);
  const bool right = *s.format == Format::regex ? regex::Nfa::compile(text).has_value()
                     : machine == validator_.formats_.end()
                         ? true
                         : machine->second.matches(text) && (!pattern->max_length || length_of(text) <= *pattern->max_length);
  if (!right) fail("format", "not of the format");
}

template <typename Fail>
void Validation::check_array(const Schema& s, JsonView value, Fail fail) const {
  if (s.min_items && value.size() < *s.min_items) fail("minItems", "too few items");
  if (s.max_items && value.size() > *s.max_items) fail("maxItems", "too many items");
  if (s.unique_items && has_repeats(value)) fail("uniqueItems", "two items are equal");
  if (s.contains) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < value.size(); ++i) count += valid(*s.contains, value[i]) ? 1 : 0;
    if (count < s.min_contains.value_or(1)) fail("contains", "too few items match it");
    if (s.max_contains && count > *s.max_contains) fail("maxContains", "too many items match contains");
  }
}

template <typename Fail>
void Validation::check_object(const Schema& s, JsonView value, Fail fail) const {
  if (s.min_properties && value.size() < *s.min_properties) fail("minProperties", "too few properties");
  if (s.max_properties && value.size() > *s.max_properties) fail("maxProperties", "too many properties");
  for (const std::string& name : s.required) {
    if (!value.find(name)) fail("required", format("\"{}\" is missing", name));
  }
  for (const auto& [name, needed] : s.dependent_required) {
    if (!value.find(name)) continue;
    for (const std::string& other : needed) {
      if (!value.find(other)) fail("dependentRequired", format("\"{}\" needs \"{}\"", name, other));
    }
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!valid(s.property_names, value[i].name_value())) fail("propertyNames", format("the name \"{}\"", value[i].name()));
  }
}

template <typename Fail>
void Validation::check_in_place(const Schema& s, JsonView value, Fail fail) const {
  const auto count = [&](const std::vector<SchemaId>& ids) {
    return std::count_if(ids.begin(), ids.end(), [&](SchemaId id) { return valid(id, value); });
  };
  if (!valid(s.reference, value)) fail("$ref", "the schema referred to does not hold");
  if (count(s.all_of) != std::ssize(s.all_of)) fail("allOf", "one of them does not hold");
  if (!s.any_of.empty() && count(s.any_of) == 0) fail("anyOf", "none of them holds");
  if (!s.one_of.empty() && count(s.one_of) != 1) fail("oneOf", format("{} of them hold", count(s.one_of)));
  if (s.negated && valid(*s.negated, value)) fail("not", "it holds");
  if (s.condition && !valid(valid(*s.condition, value) ? s.consequence : s.alternative, value)) {
    fail(valid(*s.condition, value) ? "then" : "else", "does not hold");
  }
  for (const auto& [name, id] : s.dependent_schemas) {
    if (value.find(name) && !valid(id, value)) fail("dependentSchemas", format("what \"{}\" needs does not hold", name));
  }
}

template <typename Fail>
void Validation::check(const Pair& pair, Fail fail) const {
  const Schema& s = schema(pair.schema);
  const JsonView value = pair.value;
  if (s.never) return fail("", "nothing is allowed here");
  if ((type_of(value) & s.types) == 0) fail("type", "of another type");
  const auto equals = [&](JsonView allowed) { return equal(allowed, value); };
  if (s.values && std::none_of(s.values->begin(), s.values->end(), equals)) fail("enum", "not among its values");
  if (s.constant && !equals(*s.constant)) fail("const", "another value");
  if (value.is(JsonKind::number)) {
    if (const auto number = Decimal::parse(value.text())) {
      check_number(s, *number, fail);
    } else {
      fail("type", "a number with an exponent beyond 10,000");
    }
  }
  if (value.is(JsonKind::string)) check_string(s, value.text(), fail);
  if (value.is(JsonKind::array)) check_array(s, value, fail);
  if (value.is(JsonKind::object)) check_object(s, value, fail);
  check_in_place(s, value, fail);
  each_child(s, value, [&](SchemaId id, JsonView child, std::size_t i) {
    if (valid(id, child)) return;
    fail(value.is(JsonKind::array) ? "items" : "properties",
         value.is(JsonKind::array) ? format("item {}", i) : format("\"{}\"", child.name()));
  });
  const bool array = value.is(JsonKind::array);
  const std::optional<SchemaId>& unevaluated = array ? s.unevaluated_items : s.unevaluated_properties;
  if (!unevaluated || (!array && !value.is(JsonKind::object))) return;
  const std::vector<bool> evaluated = evaluated_by(s, value);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (evaluated[i] || valid(*unevaluated, value[i])) continue;
    fail(array ? "unevaluatedItems" : "unevaluatedProperties", array ? format("item {}", i) : format("\"{}\"", value[i].name()));
  }
}

void Validation::explain(SchemaId root, JsonView value, std::size_t most, std::vector<Violation>& violations) {
  struct Place {
    Pair pair;
    std::string pointer;
  };
  std::vector<Place> todo{{{root, value}, ""}};
  while (!todo.empty() && violations.size() < most) {
    const Place place = std::move(todo.back());
    todo.pop_back();
    if (valid(place.pair.schema, place.pair.value)) continue;
    const Schema& s = schema(place.pair.schema);
    check(place.pair, [&](std::string_view keyword, std::string_view message) {
      if (violations.size() == most || keyword == "items" || keyword == "properties" || keyword == "$ref") return;
      violations.push_back({place.pointer, s.pointer + (keyword.empty() ? "" : "/") + std::string(keyword), std::string(message)});
    });
    if (s.reference) todo.push_back({{*s.reference, place.pair.value}, place.pointer});
    for (const SchemaId id : s.all_of) todo.push_back({{id, place.pair.value}, place.pointer});
    each_child(s, place.pair.value, [&](SchemaId id, JsonView child, std::size_t i) {
      const std::string token = place.pair.value.is(JsonKind::array) ? std::to_string(i) : pointer_token(child.name());
      todo.push_back({{id, child}, place.pointer + '/' + token});
    });
  }
}

Result<std::shared_ptr<const Validator>> Validator::create(std::shared_ptr<const SchemaDocument> document) {
  return guarded([&]() -> Result<std::shared_ptr<const Validator>> {
    auto validator = std::make_shared<Validator>();
    validator->document_ = document;
    for (std::size_t i = 0; i < document->size(); ++i) {
      const Schema& s = (*document)[static_cast<SchemaId>(i)];
      const auto add = [&](const std::string& pattern, const std::string& keyword) {
        if (validator->patterns_.contains(pattern)) return;
        Result<regex::Nfa> machine = regex::Nfa::compile(pattern);
        if (!machine) {
          validator->not_enforced_.push_back({s.pointer + '/' + keyword, keyword, machine.error().message});
        } else {
          validator->patterns_.emplace(pattern, *std::move(machine));
        }
      };
      if (s.pattern) add(*s.pattern, "pattern");
      for (const auto& [pattern, id] : s.pattern_properties) add(pattern, "patternProperties");
      if (s.format == Format::idn_hostname) {
        validator->not_enforced_.push_back({s.pointer + "/format", "format: idn-hostname", "its rules are not known to rill"});
      }
      if (s.format && !validator->formats_.contains(*s.format)) {
        if (const auto pattern = pattern_of(*s.format)) {
          RILL_ASSIGN(regex::Nfa machine, regex::Nfa::compile(pattern->pattern));
          validator->formats_.emplace(*s.format, std::move(machine));
        }
      }
      validator->needs_evaluated_ |= s.unevaluated_items || s.unevaluated_properties;
    }
    return std::shared_ptr<const Validator>(std::move(validator));
  });
}

bool Validator::pattern_found(const std::string& pattern, std::string_view text) const {
  const auto machine = patterns_.find(pattern);
  return machine == patterns_.end() || machine->second.found_in(text);
}

bool Validator::is_valid(SchemaId schema, JsonView value) const { return Validation(*this).holds(schema, value); }

std::vector<Violation> Validator::violations(SchemaId schema, JsonView value, std::size_t most) const {
  std::vector<Violation> result;
  Validation validation(*this);
  if (!validation.holds(schema, value)) validation.explain(schema, value, most, result);
  return result;
}

}  // namespace rill::schema
