// What the formats of JSON Schema mean, as regular expressions: for the masks. The validator has functions of its own
// (schema/format_checks.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "schema/schema.h"

namespace rill::schema {

struct FormatPattern {
  std::string pattern;                    // ECMA-262; the text matches as a whole
  std::optional<std::size_t> max_length;  // in code points
};

// Of draft 2020-12, section 7.3, and the RFCs that it names. Nothing for Format::regex, which is no regular language,
// and idn-hostname, whose rules (RFC 5892) rill does not know. Less than has_format() holds: leap seconds only at UTC.
std::optional<FormatPattern> pattern_of(Format format);

}  // namespace rill::schema
