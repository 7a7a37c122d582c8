#include "grammar/text_kind.h"

#include "base/ascii.h"

namespace rill::grammar {
namespace {

// UTF-8 (Unicode 15, table 3-7): 2, 3, 4: so many continuations less one are wanted; 5 to 8: the second byte after E0, ED,
// F0, F4.
std::uint8_t next_of_string(std::uint8_t state, std::uint8_t byte) {
  const auto within = [byte](unsigned first, unsigned last) { return byte >= first && byte <= last; };
  switch (state) {
    case kBoundary:
      if (byte < 0x80) return byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7F ? 0 : kBoundary;
      if (within(0xC2, 0xDF)) return 2;
      if (byte == 0xE0) return 5;
      if (byte == 0xED) return 6;
      if (within(0xE1, 0xEF)) return 3;
      if (byte == 0xF0) return 7;
      if (byte == 0xF4) return 8;
      return within(0xF1, 0xF3) ? 4 : 0;
    case 2: return within(0x80, 0xBF) ? kBoundary : 0;
    case 3: return within(0x80, 0xBF) ? 2 : 0;
    case 4: return within(0x80, 0xBF) ? 3 : 0;
    case 5: return within(0xA0, 0xBF) ? 2 : 0;
    case 6: return within(0x80, 0x9F) ? 2 : 0;
    case 7: return within(0x90, 0xBF) ? 3 : 0;
    case 8: return within(0x80, 0x8F) ? 3 : 0;
    default: return 0;
  }
}

bool is_letter(std::uint8_t byte) { return ascii::is_letter(static_cast<char>(byte)); }

// Without U+0080 to U+00BF, U+1680 to U+16BF, U+2000 to U+207F, U+3000 to U+303F and U+FEC0 to U+FEFF; 9 to 12: the second
// byte after E1, E2, E3, EF.
std::uint8_t next_of_script(std::uint8_t state, std::uint8_t byte) {
  if (state == kBoundary) {
    if (byte < 0x80) return is_letter(byte) ? kBoundary : 0;
    if (byte == 0xC2) return 0;
    if (byte >= 0xE1 && byte <= 0xE3) return static_cast<std::uint8_t>(9 + byte - 0xE1);
    return byte == 0xEF ? 12 : next_of_string(state, byte);
  }
  if (state < 9) return next_of_string(state, byte);
  const bool left_out = (state == 9 && byte == 0x9A) || (state == 10 && byte <= 0x81) || (state == 11 && byte == 0x80) ||
                        (state == 12 && byte == 0xBB);
  return left_out ? 0 : next_of_string(3, byte);
}

}  // namespace

std::uint8_t next_of_text(TextKind kind, std::uint8_t state, std::uint8_t byte) {
  if (state == 0) return 0;
  if (kind == TextKind::string_body) return next_of_string(state, byte);
  if (kind == TextKind::scripts) return next_of_script(state, byte);
  const bool other = kind == TextKind::words && (ascii::is_digit(static_cast<char>(byte)) || byte == '_' || byte == ' ');
  return is_letter(byte) || other ? kBoundary : 0;
}

}  // namespace rill::grammar
