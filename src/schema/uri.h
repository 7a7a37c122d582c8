// URI references, as far as schemas need them (RFC 3986, section 5.2).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rill::schema {

// The reference as seen from `base`: absolute if the base is.
std::string resolve_uri(std::string_view base, std::string_view reference);

// What stands before the first '#', and after it.
std::pair<std::string_view, std::string_view> split_fragment(std::string_view uri);

// With %XX as the bytes that they stand for.
std::string percent_decoded(std::string_view text);

// JSON pointers (RFC 6901): a name as a reference token; the names of a pointer, or nothing if it is none; the place in
// an array that a name stands for.
std::string pointer_token(std::string_view name);
std::optional<std::vector<std::string>> pointer_tokens(std::string_view pointer);
std::optional<std::size_t> array_index(std::string_view name);

}  // namespace rill::schema
