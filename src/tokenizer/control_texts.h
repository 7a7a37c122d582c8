// Where a text spells control tokens.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "rill/tokenizer.h"

namespace rill::tokenizer {

struct ControlText {
  std::size_t begin, end;
  Token token;  // of several with one text the lowest
};

// As EncodeOptions::parse_special finds them: ascending and disjoint.
std::vector<ControlText> control_texts(const Tokenizer& tokenizer, std::string_view text);

}  // namespace rill::tokenizer
