// str() and repr() of every kind of value, as Python writes them.
#include <charconv>
#include <cmath>

#include "chat/unicode.h"
#include "chat/value.h"

namespace rill::chat {
namespace {

void write_quoted(Builder& out, const Text& text) {
  const std::string& bytes = text.bytes;
  const bool has_single = bytes.find('\'') != std::string::npos;
  const char quote = has_single && bytes.find('"') == std::string::npos ? '"' : '\'';
  const bool tainted = text.tainted();
  out.add(std::string_view(&quote, 1), tainted);
  for (std::size_t i = 0; i < bytes.size();) {
    const CodePoint c = decode(bytes, i);
    const bool escaped = c.value == '\\' || c.value == static_cast<unsigned char>(quote) || !is_printable(c.value);
    if (!escaped) {
      out.add(text, i, i + c.length);
    } else {
      std::string escape;
      switch (c.value) {
        case '\n': escape = "\\n"; break;
        case '\r': escape = "\\r"; break;
        case '\t': escape = "\\t"; break;
        case '\\': escape = "\\\\"; break;
        case '\'': escape = "\\'"; break;
        default:
          if (c.value >= kInvalid) {
            escape = format("\\x{:02x}", c.value - kInvalid);
          } else if (c.value < 0x100) {
            escape = format("\\x{:02x}", c.value);
          } else {
            escape = c.value < 0x10000 ? format("\\u{:04x}", c.value) : format("\\U{:08x}", c.value);
          }
      }
      out.add(escape, text.tainted(i, i + c.length));
    }
    i += c.length;
  }
  out.add(std::string_view(&quote, 1), tainted);
}

void write_items(Builder& out, const Sequence& sequence, std::string_view open, std::string_view close,
                 bool untrusted) {
  out.add(open, untrusted);
  bool first = true;
  for (const Value& item : sequence.items) {
    if (!std::exchange(first, false)) out.add(", ", untrusted);
    write_repr(out, item);
  }
  out.add(close, untrusted);
}

void write_dict(Builder& out, const Dict& dict, bool untrusted) {
  out.add("{", untrusted);
  bool first = true;
  for (const auto& [key, value] : dict.items) {
    if (!std::exchange(first, false)) out.add(", ", untrusted);
    write_repr(out, key);
    out.add(": ", untrusted);
    write_repr(out, value);
  }
  out.add("}", untrusted);
}

void write_sequence(Builder& out, const Value& value) {
  const Sequence& sequence = value.sequence();
  switch (value.kind) {
    case Kind::list: return write_items(out, sequence, "[", "]", value.untrusted);
    case Kind::tuple: return write_items(out, sequence, "(", sequence.items.size() == 1 ? ",)" : ")", value.untrusted);
    default: return write_items(out, sequence, format("{}([", sequence.name), "])", value.untrusted);
  }
}

}  // namespace

std::string format_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view scientific(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t mark = scientific.find('e');
  int exponent = 0;
  const char* digits = scientific.data() + mark + 1;
  std::from_chars(*digits == '+' ? digits + 1 : digits, end, exponent);
  if (exponent < -4 || exponent >= 16) return std::string(scientific);
  const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  std::string result(buffer, fixed);
  if (result.find('.') == std::string::npos) result += ".0";
  return result;
}

void write_repr(Builder& out, const Value& value) {
  const Budget::Depth depth(out.budget());
  out.budget().step();
  switch (value.kind) {
    case Kind::undefined: out.add("Undefined"); return;
    case Kind::none: out.add("None", value.untrusted); return;
    case Kind::boolean: out.add(value.boolean ? "True" : "False", value.untrusted); return;
    case Kind::integer: out.add(format("{}", value.integer), value.untrusted); return;
    case Kind::real: out.add(format_real(value.real), value.untrusted); return;
    case Kind::string: return write_quoted(out, value.text());
    case Kind::list:
    case Kind::tuple:
    case Kind::view: return write_sequence(out, value);
    case Kind::dict: return write_dict(out, value.dict(), value.untrusted);
    case Kind::range: {
      const Range& range = value.range();
      out.add(range.step == 1 ? format("range({}, {})", range.start, range.stop)
                              : format("range({}, {}, {})", range.start, range.stop, range.step));
      return;
    }
    case Kind::name_space:
      out.add("<Namespace ");
      write_dict(out, value.dict(), value.untrusted);
      out.add(">");
      return;
    default: fail(ErrorCode::unsupported, "printing a '{}' object is unsupported", type_name(value));
  }
}

void write_string(Builder& out, const Value& value) {
  if (value.is(Kind::string)) {
    out.add(value.text());
  } else if (!value.is(Kind::undefined)) {
    write_repr(out, value);
  }
}

Value to_string(Heap& heap, const Value& value) {
  if (value.is(Kind::string)) return value;
  Builder builder(heap.budget());
  write_string(builder, value);
  return heap.string(builder.take());
}

}  // namespace rill::chat
