// Code points of UTF-8 text, classified and case-mapped as Python's str does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rill::chat {

// One code point of a text. A byte that starts no valid sequence stands for itself: `value` is kInvalid + byte.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 1;  // bytes
};
inline constexpr std::uint32_t kInvalid = 0x110000;

// The code point at byte `offset`, which must be inside.
CodePoint decode(std::string_view text, std::size_t offset) noexcept;
// The code point that ends at byte `end` > 0.
CodePoint decode_before(std::string_view text, std::size_t end) noexcept;
void append_utf8(std::string& out, std::uint32_t code_point);

std::size_t count_code_points(std::string_view text) noexcept;
// Byte offset of code point number `index`, or the text's length when there are fewer.
std::size_t byte_offset(std::string_view text, std::size_t index) noexcept;

bool is_space(std::uint32_t c) noexcept;       // str.isspace, str.strip, \s
bool is_line_break(std::uint32_t c) noexcept;  // str.splitlines
bool is_digit(std::uint32_t c) noexcept;       // str.isdigit
bool is_decimal(std::uint32_t c) noexcept;
bool is_alpha(std::uint32_t c) noexcept;
bool is_word(std::uint32_t c) noexcept;        // \w
bool is_upper(std::uint32_t c) noexcept;
bool is_lower(std::uint32_t c) noexcept;
bool is_title(std::uint32_t c) noexcept;
bool is_printable(std::uint32_t c) noexcept;   // what repr() leaves as it is
bool is_identifier_start(std::uint32_t c) noexcept;
bool is_identifier_part(std::uint32_t c) noexcept;

enum class Casing : std::uint8_t { upper, lower, title };
// Appends the full mapping (one to three code points) of the code point at byte `offset` of `text`.
void append_cased(std::string& out, std::string_view text, std::size_t offset, Casing casing);

}  // namespace rill::chat
