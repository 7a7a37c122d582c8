// Text with fmt's format strings, checked at compile time. fmt is header-only here, and its code is compiled once, in
// format.cc: in every file it would take half of all compile time.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

namespace rill {

std::string format_arguments(fmt::string_view format, fmt::format_args arguments);

template <typename... Args>
std::string format(fmt::format_string<Args...> format, Args&&... args) {
  return format_arguments(format, fmt::make_format_args(args...));
}

// `text` with its control characters spelled, e.g. as \x1b: a name from a file must not end a line of a log, or rule a
// terminal.
std::string one_line(std::string_view text);

}  // namespace rill
