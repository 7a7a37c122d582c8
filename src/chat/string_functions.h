// Functions on text that methods of str and filters share.
#pragma once

#include <cstdint>
#include <vector>

#include "chat/runtime.h"
#include "chat/unicode.h"

namespace rill::chat {

Value piece(Runtime& runtime, const Text& text, std::size_t begin, std::size_t end);
// Appends the code point of `text` at `offset`, `length` bytes long, in that case.
void add_cased(Builder& out, const Text& text, std::size_t offset, std::size_t length, Casing casing);
Value replace_text(Runtime& runtime, const Text& text, const Text& from, const Text& to, std::int64_t count);
// params[0]: the characters to strip, white space without them.
Value strip_sides(Runtime& runtime, const Text& text, const Params& params, bool left, bool right);

enum class Side : std::uint8_t { left, right, both };
Value pad(Runtime& runtime, const Value& self, const Params& params, Side padded);

// [begin, end) of a line, and where the next begins.
struct Line {
  std::size_t begin, end, next;
};
std::vector<Line> lines_of(Runtime& runtime, std::string_view bytes);

// Builtins that are both.
Value upper(Runtime& runtime, const Value& self, const Params& params);
Value lower(Runtime& runtime, const Value& self, const Params& params);
Value capitalize(Runtime& runtime, const Value& self, const Params& params);
Value strip(Runtime& runtime, const Value& self, const Params& params);

}  // namespace rill::chat
