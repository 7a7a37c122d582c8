// An order of JSON values, to look them up by.
#pragma once

#include <compare>
#include <span>

#include "base/step_budget.h"
#include "schema/json_document.h"

namespace rill::schema {

// Total, and equal where equal() is true. Ends at the first difference. Steps as those of equal().
std::strong_ordering order(JsonView left, JsonView right, StepBudget& budget);

// Whether an equal value is among those, which ascend.
bool is_among(std::span<const JsonView> values, JsonView value, StepBudget& budget);

}  // namespace rill::schema
