// UTF-8 decoding, shared by everything that walks over text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rill::utf8 {

inline constexpr char32_t kReplacement = 0xFFFD;
inline constexpr std::string_view kReplacementBytes = "\xEF\xBF\xBD";

enum class Status : std::uint8_t {
  valid,
  invalid,     // the bytes can begin no character: one U+FFFD stands for all `length` of them
  incomplete,  // the text ends inside what may still become a character
};

struct Character {
  char32_t code;         // kReplacement unless valid
  std::uint32_t length;  // bytes, at least 1
  Status status;
};

// The character at `position` < text.size(). What is not well-formed (Unicode 15, table 3-7) is cut into maximal
// subparts, as WHATWG's decoder does: the longest prefix of a well-formed character, or else one byte.
inline Character decode(std::string_view text, std::size_t position) noexcept {
  const auto byte = [&](std::size_t index) { return static_cast<std::uint8_t>(text[position + index]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, Status::valid};
  if (lead < 0xC2 || lead > 0xF4) return {kReplacement, 1, Status::invalid};

  const std::uint32_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Overlong forms, surrogates and what lies beyond U+10FFFF differ from the rest in the second byte alone.
  std::uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  std::uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t code = lead & (0x7Fu >> length);
  for (std::uint32_t index = 1; index < length; ++index) {
    if (position + index == text.size()) return {kReplacement, index, Status::incomplete};
    if (byte(index) < low || byte(index) > high) return {kReplacement, index, Status::invalid};
    code = code << 6 | (byte(index) & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {code, length, Status::valid};
}

// Appends the bytes of a character.
inline void append(std::string& text, char32_t code) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return put(code);
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes after the first
  put((0xFF00u >> (more + 1) & 0xFFu) | code >> 6 * more);
  for (int i = more; i-- > 0;) put(0x80u | (code >> 6 * i & 0x3Fu));
}

// How many characters well-formed text has.
inline std::size_t length(std::string_view text) noexcept {
  std::size_t count = 0;
  for (const char byte : text) count += (byte & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

// Whether all of `text` is well-formed.
inline bool is_valid(std::string_view text) noexcept {
  for (std::size_t position = 0; position < text.size();) {
    const Character character = decode(text, position);
    if (character.status != Status::valid) return false;
    position += character.length;
  }
  return true;
}

}  // namespace rill::utf8
