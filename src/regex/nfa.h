// Regular expressions as machines that search a text in time linear in it (Thompson, "Regular Expression Search
// Algorithm", 1968).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/step_budget.h"
#include "regex/code_points.h"
#include "rill/result.h"

namespace rill::regex {

// Immutable; thread-safe.
class Nfa {
 public:
  // ECMA-262 with the u flag, as RegexReader reads it. Errors: malformed, unsupported; limit_exceeded where counted
  // repeats make it larger than 100,000 instructions.
  static Result<Nfa> compile(std::string_view pattern);

  std::size_t size() const { return code_.size(); }  // in instructions

  // Whether the pattern matches some part of `text`, which is UTF-8. Each instruction that is reached is a step.
  bool found_in(std::string_view text, StepBudget& budget) const;
  bool found_in(std::string_view text) const;

 private:
  enum class Op : std::uint8_t { set, split, jump, text_begin, text_end, match };
  struct Instruction {
    Op op;
    std::uint32_t set = 0;    // of sets_
    std::int32_t to = 0;      // split and jump: where to, from here
  };
  using Code = std::vector<Instruction>;
  friend class NfaBuilder;

  Code code_;
  std::vector<CodePoints> sets_;
};

}  // namespace rill::regex
