// Free text with structures between tags: reasoning, tool calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rill/export.h"
#include "rill/grammar.h"
#include "rill/result.h"
#include "rill/token.h"

namespace rill::grammar {

// Text, however it is cut into tokens; or a token, such as <tool_call>, which no text stands for. For a control token the
// token is what a model emits.
using Tag = std::variant<std::string, Token>;

struct TaggedStructure {
  Tag begin;
  std::optional<Grammar> body = std::nullopt;  // absent: any text up to the first `end`
  Tag end = {};                                // an empty text: none, where there is a body
};

struct TaggedOptions {
  std::vector<TaggedStructure> structures = {};  // each call is one of them
  std::uint32_t least_calls = 0;
  std::uint32_t most_calls = kNoLimit;  // 1: no parallel calls
  // Any text before, between and after calls. Whatever it says, once it holds a trigger it is a call: lazy, as the text is
  // free until then.
  bool free_text = true;
  // Beginnings of text tags, from which on one of those tags must follow; empty: the whole tags.
  std::vector<std::string> triggers = {};
  std::string separator = {};   // between calls, without free text
  bool stop_after_last = false;  // nothing follows the call that is the `most_calls`th
  GrammarLimits limits = {};
  StopToken stop = {};
};

// Errors: invalid_argument for a structure without begin or end, for a tag that cannot come about as another one's trigger
// is inside of it or that no trigger begins, for a trigger that begins no tag, for counts that hold nothing; limit_exceeded.
RILL_EXPORT Result<Grammar> tagged(const TaggedOptions& options);

}  // namespace rill::grammar
