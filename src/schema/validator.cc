#include "schema/validator.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/utf8.h"
#include "schema/validation_run.h"

namespace rill::schema {

constexpr std::size_t kMaxInstructions = 4'000'000;

TypeSet type_of(JsonView value) {
  switch (value.kind()) {
    case JsonKind::null: return kNull;
    case JsonKind::boolean: return kBoolean;
    case JsonKind::string: return kString;
    case JsonKind::array: return kArray;
    case JsonKind::object: return kObject;
    case JsonKind::number: break;
  }
  return number_of(value).is_integer() ? kInteger : kFraction;
}

bool holds_for_size(const Schema& s, JsonView value) {
  const auto within = [](std::uint64_t size, const auto& least, const auto& most) {
    return size >= least.value_or(0) && (!most || size <= *most);
  };
  switch (value.kind()) {
    case JsonKind::string: return within(utf8::length(value.text()), s.min_length, s.max_length);
    case JsonKind::array: return within(value.size(), s.min_items, s.max_items);
    case JsonKind::object: return within(value.size(), s.min_properties, s.max_properties);
    case JsonKind::number: {
      const Decimal number = number_of(value);
      return (!s.minimum || compare(number, *s.minimum) >= 0) &&
             (!s.exclusive_minimum || compare(number, *s.exclusive_minimum) > 0) &&
             (!s.maximum || compare(number, *s.maximum) <= 0) &&
             (!s.exclusive_maximum || compare(number, *s.exclusive_maximum) < 0);
    }
    default: return true;
  }
}

Result<void> Validator::add_pattern(const Schema& schema, const std::string& pattern, const std::string& keyword) {
  if (patterns_.contains(pattern)) return {};
  Result<regex::Nfa> machine = regex::Nfa::compile(pattern);
  if (!machine) {
    not_enforced_.push_back({schema.pointer + '/' + keyword, keyword, machine.error().message});
    return {};
  }
  instructions_ += machine->size();
  if (instructions_ > kMaxInstructions) {
    return make_error(ErrorCode::limit_exceeded, "schema: patterns of more than max_pattern_instructions = {} in all",
                      kMaxInstructions);
  }
  patterns_.emplace(pattern, *std::move(machine));
  return {};
}

Result<std::shared_ptr<const Validator>> Validator::create(std::shared_ptr<const SchemaDocument> document,
                                                           const StopToken& stop) {
  return guarded([&]() -> Result<std::shared_ptr<const Validator>> {
    auto validator = std::make_shared<Validator>();
    validator->document_ = document;
    for (std::size_t i = 0; i < document->size(); ++i) {
      const Schema& s = (*document)[static_cast<SchemaId>(i)];
      const auto add = [&](const std::string& pattern, const std::string& keyword) -> Result<void> {
        if (stop.stop_requested()) return Error{ErrorCode::cancelled, "the compiling of a schema was cancelled"};
        return validator->add_pattern(s, pattern, keyword);
      };
      if (s.pattern) RILL_TRY(add(*s.pattern, "pattern"));
      for (const auto& [pattern, id] : s.pattern_properties) RILL_TRY(add(pattern, "patternProperties"));
      if (s.format == Format::idn_hostname) {
        validator->not_enforced_.push_back(
            {s.pointer + "/format", "format: idn-hostname", "its rules are not known to rill"});
      }
      std::vector<std::uint32_t>& by_name = validator->properties_by_name_.emplace_back(s.properties.size());
      std::iota(by_name.begin(), by_name.end(), 0);
      std::sort(by_name.begin(), by_name.end(),
                [&](std::uint32_t a, std::uint32_t b) { return s.properties[a].first < s.properties[b].first; });
      validator->needs_evaluated_ |= s.unevaluated_items || s.unevaluated_properties;
    }
    return std::shared_ptr<const Validator>(std::move(validator));
  });
}

std::optional<SchemaId> Validator::property(SchemaId schema, std::string_view name) const {
  const auto& properties = document()[schema].properties;
  const std::vector<std::uint32_t>& by_name = properties_by_name_[index(schema)];
  const auto found =
      std::lower_bound(by_name.begin(), by_name.end(), name,
                       [&](std::uint32_t place, std::string_view wanted) { return properties[place].first < wanted; });
  if (found == by_name.end() || properties[*found].first != name) return std::nullopt;
  return properties[*found].second;
}

bool Validator::pattern_found(const std::string& pattern, std::string_view text, StepBudget& budget) const {
  const auto machine = patterns_.find(pattern);
  return machine == patterns_.end() || machine->second.found_in(text, budget);
}

bool Validator::pattern_found(const std::string& pattern, std::string_view text) const {
  StepBudget unlimited;
  return pattern_found(pattern, text, unlimited);
}

bool Validator::is_valid(SchemaId schema, JsonView value) const {
  StepBudget unlimited;
  return ValidationRun(*this, unlimited).holds(schema, value);
}

}  // namespace rill::schema
