// One message of a conversation.
#pragma once

#include <string>
#include <vector>

#include "rill/json.h"

namespace rill {

struct ToolCall {
  std::string id;                // left out of the template's view when empty
  std::string name;
  std::string arguments = "{}";  // JSON text; the template sees the parsed value
};

// Plain data. A template sees it as a mapping with the keys `role`, `content` and, where they are not empty, `name`,
// `tool_calls` (each {"type": "function", "id", "function": {"name", "arguments"}}), `tool_call_id` and those of
// `extra`.
struct Message {
  std::string role;
  std::string content = "";
  std::string name = "";
  std::vector<ToolCall> tool_calls = {};
  std::string tool_call_id = "";
  JsonObject extra = {};  // further fields, e.g. reasoning_content; must not repeat a name above
};

}  // namespace rill
