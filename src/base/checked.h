// Arithmetic on sizes that come from outside: nothing, instead of a wrapped number.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace rill {

constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  if (a > std::numeric_limits<std::uint64_t>::max() - b) return std::nullopt;
  return a + b;
}

constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) return std::nullopt;
  return a * b;
}

// The lowest multiple of `alignment`, a power of two, that is not below `value`.
constexpr std::optional<std::uint64_t> checked_align(std::uint64_t value, std::uint64_t alignment) {
  const std::optional<std::uint64_t> padded = checked_add(value, alignment - 1);
  if (!padded) return std::nullopt;
  return *padded & ~(alignment - 1);
}

}  // namespace rill
