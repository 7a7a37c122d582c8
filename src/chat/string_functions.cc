#include "chat/string_functions.h"

#include <algorithm>

namespace rill::chat {
namespace {

Value cased(Runtime& runtime, const Text& text, Casing first, Casing rest) {
  Builder out(runtime.budget());
  for (std::size_t i = 0; i < text.bytes.size();) {
    const std::size_t length = decode(text.bytes, i).length;
    add_cased(out, text, i, length, i == 0 ? first : rest);
    i += length;
  }
  return runtime.heap().string(out.take());
}

bool strips(const Params& params, const CodePoint& c, std::string_view bytes) {
  if (!params.given(0) || params[0].is(Kind::none)) return is_space(c.value);
  return params.text(0).bytes.find(bytes) != std::string::npos;
}

}  // namespace

Value piece(Runtime& runtime, const Text& text, std::size_t begin, std::size_t end) {
  Builder builder(runtime.budget());
  builder.add(text, begin, end);
  return runtime.heap().string(builder.take());
}

void add_cased(Builder& out, const Text& text, std::size_t offset, std::size_t length, Casing casing) {
  std::string mapped;
  append_cased(mapped, text.bytes, offset, casing);
  out.add(mapped, text.tainted(offset, offset + length));
}

Value upper(Runtime& runtime, const Value& self, const Params&) {
  return cased(runtime, to_string(runtime.heap(), self).text(), Casing::upper, Casing::upper);
}
Value lower(Runtime& runtime, const Value& self, const Params&) {
  return cased(runtime, to_string(runtime.heap(), self).text(), Casing::lower, Casing::lower);
}
Value capitalize(Runtime& runtime, const Value& self, const Params&) {
  return cased(runtime, to_string(runtime.heap(), self).text(), Casing::title, Casing::lower);
}

Value strip_sides(Runtime& runtime, const Text& text, const Params& params, bool left, bool right) {
  std::size_t begin = 0, end = text.bytes.size();
  const std::string_view bytes = text.bytes;
  const std::size_t characters = params.given(0) && params[0].is(Kind::string) ? params[0].view().size() : 0;
  while (left && begin < end) {
    runtime.budget().step(1 + characters / 64);
    const CodePoint c = decode(bytes, begin);
    if (!strips(params, c, bytes.substr(begin, c.length))) break;
    begin += c.length;
  }
  while (right && end > begin) {
    runtime.budget().step(1 + characters / 64);
    const CodePoint c = decode_before(bytes, end);
    if (!strips(params, c, bytes.substr(end - c.length, c.length))) break;
    end -= c.length;
  }
  return piece(runtime, text, begin, end);
}

Value strip(Runtime& runtime, const Value& self, const Params& params) {
  return strip_sides(runtime, to_string(runtime.heap(), self).text(), params, true, true);
}
Value replace_text(Runtime& runtime, const Text& text, const Text& from, const Text& to, std::int64_t count) {
  std::size_t left = count < 0 ? std::string::npos : static_cast<std::size_t>(count);
  Builder out(runtime.budget());
  const std::string& bytes = text.bytes;
  std::size_t done = 0;
  runtime.budget().search(bytes.size(), from.bytes.size());
  if (from.bytes.empty()) {  // before every code point and at the end
    while (left > 0) {
      out.add(to);
      --left;
      if (done == bytes.size()) break;
      const std::size_t length = decode(bytes, done).length;
      out.add(text, done, done + length);
      done += length;
    }
  } else {
    for (std::size_t at = bytes.find(from.bytes); at != std::string::npos && left > 0;
         at = bytes.find(from.bytes, done), --left) {
      out.add(text, done, at).add(to);
      done = at + from.bytes.size();
    }
  }
  out.add(text, done, bytes.size());
  return runtime.heap().string(out.take());
}

std::vector<Line> lines_of(Runtime& runtime, std::string_view bytes) {
  std::vector<Line> lines;
  for (std::size_t begin = 0, i = 0; i < bytes.size();) {
    const CodePoint c = decode(bytes, i);
    std::size_t next = i + c.length;
    if (is_line_break(c.value)) {
      if (c.value == '\r' && next < bytes.size() && bytes[next] == '\n') ++next;
      lines.push_back({begin, i, next});
      begin = next;
    } else if (next == bytes.size()) {
      lines.push_back({begin, next, next});
    }
    i = next;
  }
  runtime.budget().step(bytes.size() / 64 + lines.size());
  runtime.budget().memory(lines.size() * sizeof(Line));
  return lines;
}

Value pad(Runtime& runtime, const Value& self, const Params& params, Side padded) {
  const std::int64_t width = params.integer(0, 80);
  const Text fill = params.given(1) ? params.text(1) : Text{" ", {}};
  if (count_code_points(fill.bytes) != 1) fail(ErrorCode::malformed, "the fill character must be one character");
  const auto size = static_cast<std::int64_t>(length(runtime.budget(), self));
  const auto total = static_cast<std::size_t>(std::max<std::int64_t>(width - size, 0));
  // Python's str.center puts the odd one left if the width is odd.
  const std::size_t left = padded == Side::left    ? total
                           : padded == Side::right ? 0
                                                   : total / 2 + (total & static_cast<std::size_t>(width) & 1);
  Builder out(runtime.budget());
  runtime.budget().step(total);
  for (std::size_t i = 0; i < left; ++i) out.add(fill);
  out.add(self.text());
  for (std::size_t i = left; i < total; ++i) out.add(fill);
  return runtime.heap().string(out.take());
}
}  // namespace rill::chat
