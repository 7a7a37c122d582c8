// The caller's own checks of values in a valid text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/step_budget.h"
#include "rill/json_schema.h"
#include "schema/validation_run.h"

namespace rill::schema {

class FieldChecks {
 public:
  FieldChecks() = default;
  // Errors: invalid_argument, which names the check by its place.
  static Result<FieldChecks> create(const std::vector<FieldCheck>& checks, const SchemaDocument& document);

  // `run` has found the root valid; `json` is the text that it comes from.
  std::vector<ValidationError> run(std::string_view json, JsonView root, ValidationRun& run, std::size_t most,
                                   StepBudget& budget) const;

 private:
  using Check = std::function<std::optional<std::string>(const JsonField&)>;
  struct ByInstance {
    std::vector<std::string> tokens;
    Check check;
  };
  struct BySchema {
    SchemaId schema;
    std::string pointer;
    Check check;
  };

  std::vector<ByInstance> by_instance_;
  std::vector<BySchema> by_schema_;
};

}  // namespace rill::schema
