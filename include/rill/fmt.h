// Optional: fmt formatters for rill's error types. This header alone includes fmt, which the reader's own build
// provides.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "rill/result.h"

// The name, as to_string gives it; takes the format options of a string, e.g. "{:>20}".
template <>
struct fmt::formatter<rill::ErrorCode> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(rill::ErrorCode code, Context& context) const {
    return fmt::formatter<std::string_view>::format(rill::to_string(code), context);
  }
};

// "code: message", as ErrorException::what.
template <>
struct fmt::formatter<rill::Error> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }

  template <typename Context>
  auto format(const rill::Error& error, Context& context) const {
    return fmt::format_to(context.out(), "{}: {}", rill::to_string(error.code), error.message);
  }
};
