// Whether a text is a regular expression: the format `regex`.
#pragma once

#include <string_view>

namespace rill::schema {

// ECMA-262 with the u flag (section 22.2.1), lenient where its annex B is and schemas rely on it: a brace that begins
// no count and a closing bracket are characters, a backslash before punctuation is harmless, a class may end a range.
// Names of properties are not looked up. Nothing recurses.
bool is_regex(std::string_view text);

}  // namespace rill::schema
