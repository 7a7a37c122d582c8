#include "schema/field_checks.h"

#include <exception>
#include <utility>

#include "base/error.h"
#include "schema/uri.h"

namespace rill::schema {
namespace {

struct Found {
  JsonView value;
  ValuePaths::Id path = ValuePaths::Id::root;
};

// The values at a JSON pointer, in which "*" stands for any one token.
std::vector<Found> values_at(JsonView root, const std::vector<std::string>& tokens, ValuePaths& paths) {
  std::vector<Found> found{{root}};
  for (const std::string& token : tokens) {
    std::vector<Found> next;
    for (const Found& from : found) {
      const auto add = [&](JsonView child, std::size_t i) { next.push_back({child, paths.add(from.path, child, i)}); };
      if (token == "*") {
        for (std::size_t i = 0; i < from.value.size(); ++i) add(from.value[i], i);
      } else if (from.value.is(JsonKind::array)) {
        if (const auto i = array_index(token); i && *i < from.value.size()) add(from.value[*i], *i);
      } else if (const auto member = from.value.find(token)) {
        add(*member, 0);
      }
    }
    found = std::move(next);
  }
  return found;
}

template <typename Check>
std::optional<std::string> message_of(const Check& check, const JsonField& field) {
  try {
    return check(field);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "the check threw something that is no std::exception";
  }
}

}  // namespace

Result<FieldChecks> FieldChecks::create(const std::vector<FieldCheck>& checks, const SchemaDocument& document) {
  FieldChecks result;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const FieldCheck& check = checks[i];
    if (check.instance.has_value() == check.schema.has_value() || !check.check) {
      return make_error(ErrorCode::invalid_argument, "checks[{}] needs one of instance and schema, and a check", i);
    }
    if (check.instance) {
      auto tokens = pointer_tokens(*check.instance);
      if (!tokens)
        return make_error(ErrorCode::invalid_argument, "checks[{}]: \"{}\" is no JSON pointer", i, *check.instance);
      result.by_instance_.push_back({*std::move(tokens), check.check});
      continue;
    }
    std::optional<SchemaId> found;
    for (std::size_t s = 0; s < document.size() && !found; ++s) {
      if (document[static_cast<SchemaId>(s)].pointer == *check.schema) found = static_cast<SchemaId>(s);
    }
    if (!found)
      return make_error(ErrorCode::invalid_argument, "checks[{}]: no subschema is at \"{}\"", i, *check.schema);
    result.by_schema_.push_back({*found, *check.schema, check.check});
  }
  return result;
}

std::vector<ValidationError> FieldChecks::run(std::string_view json, JsonView root, ValidationRun& run,
                                              std::size_t most, StepBudget& budget) const {
  std::vector<ValidationError> errors;
  const auto apply = [&](const Check& check, JsonView value, const auto& pointer_of, const std::string& schema) {
    if (errors.size() == most) return;
    std::string pointer = pointer_of();
    const std::string_view spelled = value.spelled(json);
    const JsonField field{pointer, spelled, value.is(JsonKind::string) ? value.text() : spelled};
    auto message = message_of(check, field);
    if (!message) return;
    budget.spend(pointer.size());  // by the byte: all errors are kept
    errors.push_back({std::move(pointer), schema, *std::move(message)});
  };
  for (const ByInstance& one : by_instance_) {
    ValuePaths paths(budget);
    for (const Found& found : values_at(root, one.tokens, paths)) {
      apply(one.check, found.value, [&] { return paths.pointer(found.path); }, "");
    }
  }
  if (by_schema_.empty()) return errors;
  run.each_that_counts(SchemaId{}, root, [&](SchemaId id, JsonView value, const auto& pointer) {
    for (const BySchema& one : by_schema_) {
      if (one.schema == id) apply(one.check, value, pointer, one.pointer);
    }
  });
  return errors;
}

}  // namespace rill::schema
