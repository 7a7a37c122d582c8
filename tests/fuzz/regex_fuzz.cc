// A regular expression from outside, and texts of it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rill/grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view pattern(reinterpret_cast<const char*>(data), size);
  const auto grammar = rill::Grammar::regex(pattern, {.limits = {.max_expressions = 20'000, .max_states = 500}});
  if (!grammar) return 0;
  static_cast<void>(grammar->match(pattern));
  static_cast<void>(grammar->match("ab12 \xC3\xA9\xF0\x9F\x98\x80\xff"));
  return 0;
}
