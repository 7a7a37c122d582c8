// Kinds of text that rules often let go on for as long as it likes, and tokens are often made of.
#pragma once

#include <array>
#include <cstdint>

namespace rill::grammar {

enum class TextKind : std::uint8_t {
  string_body,  // what stands in a JSON string as it is: whole characters, no quote, backslash or control
  letters,      // of ASCII: nearly all that names, addresses and identifiers are made of
  words,        // those, digits, underscores and spaces
  scripts,      // letters of ASCII, and beyond it whole characters of blocks without white space and general punctuation
};
inline constexpr std::array kTextKinds = {TextKind::string_body, TextKind::letters, TextKind::words, TextKind::scripts};
constexpr unsigned index(TextKind kind) { return static_cast<unsigned>(kind); }
constexpr std::uint8_t bit(TextKind kind) { return static_cast<std::uint8_t>(1u << index(kind)); }

// The automaton of a kind: from kBoundary, where a character begins, to one of the kTextStates, or to 0 if no text of the
// kind goes on like that.
inline constexpr std::uint8_t kBoundary = 1, kTextStates = 13;
std::uint8_t next_of_text(TextKind kind, std::uint8_t state, std::uint8_t byte);
inline bool begins_text(TextKind kind, std::uint8_t byte) { return next_of_text(kind, kBoundary, byte) != 0; }

// Lengths in bytes; kAnyLength: that, or more.
inline constexpr std::uint8_t kAnyLength = 255;

}  // namespace rill::grammar
