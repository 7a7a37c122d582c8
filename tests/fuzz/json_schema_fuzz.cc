// A JSON Schema from outside, and texts of it: the schema itself, as the text that is at hand, among them.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rill/grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view schema(reinterpret_cast<const char*>(data), size);
  const auto order = size % 2 == 0 ? rill::PropertyOrder::declared : rill::PropertyOrder::any;
  const auto grammar = rill::Grammar::json_schema(
      schema, {.property_order = order, .lenient = true, .limits = {.max_expressions = 20'000, .max_states = 500}});
  if (!grammar) return 0;
  static_cast<void>(grammar->match(schema));
  static_cast<void>(grammar->match("{\"a\":[1,2.5,\"x\",null,true,{}],\"b\":\"\\u00e9\xC3\xA9\"}"));
  return 0;
}
