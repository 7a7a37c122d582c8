// What the formats of JSON Schema mean, as functions: for the validator, which shares no more with the masks than the
// meaning. The masks' regular expressions are in schema/formats.h; a test compares both.
#pragma once

#include <string_view>

#include "schema/schema.h"

namespace rill::schema {

// Of draft 2020-12, section 7.3, and the RFCs that it names. `text` is UTF-8. Format::idn_hostname, whose rules (RFC
// 5892) rill does not know, has every text.
bool has_format(Format format, std::string_view text);

}  // namespace rill::schema
