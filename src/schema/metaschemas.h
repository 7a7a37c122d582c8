// The schemas that say what a schema is, which schemas may refer to by their URI.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rill::schema {

// JSON, for the URI without a fragment of draft 4, 6, 7, 2019-09 or 2020-12. One document each, that asks of an instance
// what the published ones do with all vocabularies of the draft: what those spread over several is at one place here.
std::optional<std::string> metaschema(std::string_view uri);

}  // namespace rill::schema
