// A GBNF text from outside, and texts of it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rill/grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto grammar = rill::Grammar::gbnf(
      text, {.limits = {.max_expressions = 20'000, .max_states = 500, .max_stack_edges = 2'000}});
  if (!grammar) return 0;
  static_cast<void>(grammar->match(text));
  static_cast<void>(grammar->match("{\"a\": [1, 2]}ab((\xC3\xA9"));
  return 0;
}
