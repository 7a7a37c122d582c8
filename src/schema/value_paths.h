// Where values of a JSON text stand. Few of them are ever spelled: a pointer can be as long as the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/step_budget.h"
#include "schema/json_document.h"

namespace rill::schema {

// The ways from a root to values, each one step longer than another. A step of a way is a step of work, and so are some
// bytes of a pointer.
class ValuePaths {
 public:
  enum class Id : std::uint32_t { root };

  explicit ValuePaths(StepBudget& budget) : budget_(budget) {}

  // To the child at `place` of what `parent` leads to; of a member the place does not matter.
  Id add(Id parent, JsonView child, std::size_t place);

  std::string pointer(Id path) const;  // JSON pointer

 private:
  struct Step {
    Id parent;
    std::uint32_t place;
    JsonView child;
  };
  const Step& step(Id path) const { return steps_[static_cast<std::size_t>(path) - 1]; }

  StepBudget& budget_;
  std::vector<Step> steps_;
};

}  // namespace rill::schema
