// The sets that \p{...} names.
#pragma once

#include <optional>
#include <string_view>

#include "regex/code_points.h"

namespace rill::regex {

// General categories by short or long name, alone or after `gc=` or `General_Category=`; Any, ASCII and Assigned.
// Nothing for others, such as scripts.
std::optional<CodePoints> unicode_property(std::string_view name);

}  // namespace rill::regex
