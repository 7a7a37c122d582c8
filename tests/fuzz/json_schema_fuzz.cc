// A JSON Schema from outside and, after a NUL byte, a text of it; without one, the schema is its own text. What a
// grammar allows, the validator holds valid.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "rill/grammar.h"
#include "rill/json_schema.h"

namespace {

void judge(const rill::JsonSchema& schema, const rill::Grammar* grammar, std::string_view text) {
  const auto validation = schema.validate(text);
  if (!validation) return;
  if ((validation->status == rill::Validity::valid) != validation->errors.empty()) std::abort();
  if (validation->status == rill::Validity::valid) {  // what begins it can be gone on with
    const auto begin = schema.validate(text.substr(0, text.size() / 2));
    if (begin && begin->status == rill::Validity::invalid &&
        begin->errors[0].message.find("malformed") != std::string::npos)
      std::abort();
  }
  if (grammar == nullptr) return;
  const auto match = grammar->match(text);
  if (match && match->matches && validation->status != rill::Validity::valid) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view text = input.substr(0, input.find('\0'));
  const auto schema = rill::JsonSchema::compile(text, {.lenient = true, .limits = {.max_steps = 2'000'000}});
  if (!schema) return 0;
  const auto order = size % 2 == 0 ? rill::PropertyOrder::declared : rill::PropertyOrder::any;
  const auto grammar = rill::Grammar::json_schema(
      *schema, {.property_order = order, .limits = {.max_expressions = 20'000, .max_states = 500}});
  for (const std::string_view json :
       {text, input.substr(std::min(size, text.size() + 1)),
        std::string_view("{\"a\":[1,2.5,\"x\",null,true,{}],\"b\":\"\\u00e9\xC3\xA9\"}")}) {
    judge(*schema, grammar ? &*grammar : nullptr, json);
  }
  return 0;
}
