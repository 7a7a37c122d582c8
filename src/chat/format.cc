// Text formatting: "..." % values, "...".format(values) and strftime_now().
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "chat/runtime.h"
#include "chat/unicode.h"

namespace rill::chat {
namespace {

// Both styles come down to this.
struct Spec {
  Text fill{" ", {}};
  char align = 0;  // < > ^ =, or 0 for the type's own
  char sign = '-';
  bool alternate = false;
  bool comma = false;
  std::size_t width = 0;
  std::optional<std::size_t> precision;
  char type = 0;
};

constexpr std::size_t kMaxWidth = 1'000'000, kMaxPrecision = 500;

void add_padded(Builder& out, const Spec& spec, const Text& body, std::size_t sign_size, char own_align) {
  const std::size_t size = count_code_points(body.bytes);
  const std::size_t total = spec.width > size ? spec.width - size : 0;
  const char align = spec.align != 0 ? spec.align : own_align;
  const std::size_t before = align == '<' ? 0 : align == '^' ? total / 2 : total;
  out.budget().step(total);
  const std::size_t head = align == '=' ? sign_size : 0;
  out.add(body, 0, head);
  for (std::size_t i = 0; i < before; ++i) out.add(spec.fill);
  out.add(body, head, body.bytes.size());
  for (std::size_t i = before; i < total; ++i) out.add(spec.fill);
}

std::string integer_digits(std::uint64_t magnitude, const Spec& spec) {
  switch (spec.type) {
    case 'x': return (spec.alternate ? "0x" : "") + format("{:x}", magnitude);
    case 'X': return (spec.alternate ? "0X" : "") + format("{:X}", magnitude);
    case 'o': return (spec.alternate ? "0o" : "") + format("{:o}", magnitude);
    case 'b': return (spec.alternate ? "0b" : "") + format("{:b}", magnitude);
    default: return format("{}", magnitude);
  }
}

std::string real_digits(double magnitude, const Spec& spec) {
  const bool upper = spec.type == 'E' || spec.type == 'G' || spec.type == 'F';
  if (std::isnan(magnitude)) return upper ? "NAN" : "nan";
  if (std::isinf(magnitude)) return upper ? "INF" : "inf";
  const std::size_t precision = spec.precision.value_or(6);
  switch (spec.type) {
    case 'e': return format("{:.{}e}", magnitude, precision);
    case 'E': return format("{:.{}E}", magnitude, precision);
    case 'g': return format("{:.{}g}", magnitude, precision);
    case 'G': return format("{:.{}G}", magnitude, precision);
    case '%': return format("{:.{}f}%", magnitude * 100, precision);
    case 0:
      if (spec.precision) fail(ErrorCode::unsupported, "a precision without a type is unsupported for a float");
      return format_real(magnitude);
    default: return format("{:.{}f}", magnitude, precision);
  }
}

std::string with_commas(std::string digits) {
  const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (std::size_t i = whole; i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

void add_number(Builder& out, const Spec& spec, const Value& value) {
  const bool as_real =
      value.is(Kind::real) || (spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos);
  const bool negative =
      as_real ? std::signbit(value.as_real()) && !std::isnan(value.as_real()) : value.as_integer() < 0;
  std::string digits;
  if (as_real) {
    digits = real_digits(std::fabs(value.as_real()), spec);
  } else {
    const auto bits = static_cast<std::uint64_t>(value.as_integer());
    digits = integer_digits(negative ? 0 - bits : bits, spec);
  }
  if (spec.comma) digits = with_commas(std::move(digits));
  const std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  Text body;
  body.append(sign + digits, value.untrusted);
  add_padded(out, spec, body, sign.size(), '>');
}

void add_text(Builder& out, const Spec& spec, const Value& text) {
  Text body = text.text();
  out.budget().memory(body.bytes.size());
  if (spec.precision) {
    Text cut;
    cut.append(body, 0, byte_offset(body.bytes, *spec.precision));
    body = std::move(cut);
  }
  add_padded(out, spec, body, 0, '<');
}

// A decimal number at `i`; nothing if there is none.
std::optional<std::size_t> read_count(std::string_view text, std::size_t& i, std::size_t limit, const char* what) {
  const std::size_t begin = i;
  std::size_t value = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    value = value * 10 + static_cast<std::size_t>(text[i] - '0');
    if (value > limit) fail(ErrorCode::limit_exceeded, "the {} of a format exceeds {}", what, limit);
  }
  if (i == begin) return std::nullopt;
  return value;
}

Value repr(Runtime& runtime, const Value& value) {
  Builder out(runtime.budget());
  write_repr(out, value);
  return runtime.heap().string(out.take());
}

// --- "..." % values ---

class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, const Text& format, const Args& args)
      : runtime_(runtime), format_(format), args_(args), out_(runtime.budget()) {}

  Value run() {
    const std::string& text = format_.bytes;
    std::size_t i = 0;
    while (i < text.size()) {
      const std::size_t mark = std::min(text.find('%', i), text.size());
      out_.add(format_, i, mark);
      i = mark;
      if (i < text.size()) directive(i);
    }
    if (!used_name_ && next_ < args_.positional.size() &&
        !(args_.positional.size() == 1 && args_.positional[0].is(Kind::dict))) {
      fail(ErrorCode::malformed, "not all arguments converted during string formatting");
    }
    return runtime_.heap().string(out_.take());
  }

 private:
  char at(std::size_t i) const {
    if (i >= format_.bytes.size()) fail(ErrorCode::malformed, "incomplete format");
    return format_.bytes[i];
  }

  Value argument(const std::optional<std::string_view>& name) {
    if (!name) {
      if (next_ >= args_.positional.size()) fail(ErrorCode::malformed, "not enough arguments for format string");
      return args_.positional[next_++];
    }
    used_name_ = true;
    for (const auto& [key, value] : args_.named) {
      if (key.bytes == *name) return value;
    }
    fail(ErrorCode::malformed, "the format's name '{}' has no value", *name);
  }

  void directive(std::size_t& i) {
    const std::string_view text = format_.bytes;
    const std::size_t start = i++;
    std::optional<std::string_view> name;
    if (at(i) == '(') {
      const std::size_t close = text.find(')', i);
      if (close == std::string_view::npos) fail(ErrorCode::malformed, "incomplete format key");
      name = text.substr(i + 1, close - i - 1);
      i = close + 1;
    }
    Spec spec;
    bool zero = false;
    for (; std::string_view("-+ #0").find(at(i)) != std::string_view::npos; ++i) {
      switch (at(i)) {
        case '-': spec.align = '<'; break;
        case '+': spec.sign = '+'; break;
        case ' ': spec.sign = spec.sign == '+' ? '+' : ' '; break;
        case '#': spec.alternate = true; break;
        default: zero = true; break;
      }
    }
    if (at(i) == '*') fail(ErrorCode::unsupported, "a format's '*' width is unsupported");
    spec.width = read_count(text, i, kMaxWidth, "width").value_or(0);
    if (at(i) == '.') {
      ++i;
      if (at(i) == '*') fail(ErrorCode::unsupported, "a format's '*' precision is unsupported");
      spec.precision = read_count(text, i, kMaxPrecision, "precision").value_or(0);
    }
    while (at(i) == 'h' || at(i) == 'l' || at(i) == 'L') ++i;
    spec.type = at(i++);
    if (spec.type == '%') {
      out_.add(format_, start, start + 1);
      return;
    }
    convert(spec, zero, argument(name));
  }

  void convert(Spec spec, bool zero, const Value& value) {
    if (spec.align == 0) spec.align = '>';
    const char type = spec.type;
    if (type == 's' || type == 'r') {
      return add_text(out_, spec, type == 's' ? to_string(runtime_.heap(), value) : repr(runtime_, value));
    }
    if (type == 'c') {
      if (!value.is(Kind::string) || count_code_points(value.view()) != 1) {
        fail(ErrorCode::malformed, "%c requires a char");
      }
      return add_text(out_, spec, value);
    }
    const bool integral = type == 'd' || type == 'i' || type == 'u' || type == 'x' || type == 'X' || type == 'o';
    if (!integral && std::string_view("eEfFgG").find(type) == std::string_view::npos) {
      fail(ErrorCode::malformed, "unsupported format character '{}'", type);
    }
    if (!value.is_number()) {
      fail(ErrorCode::malformed, "%{} format: a number is required, not {}", type, type_name(value));
    }
    if (zero && spec.align != '<') spec.align = '=', spec.fill = Text{"0", {}};
    if (!integral) return add_number(out_, spec, value);
    const bool truncates = type == 'd' || type == 'i' || type == 'u';
    if (value.is(Kind::real) && !truncates) {
      fail(ErrorCode::malformed, "%{} format: an integer is required, not float", type);
    }
    if (truncates) spec.type = 'd';
    const std::size_t digits = spec.precision.value_or(0);
    spec.precision.reset();
    if (digits != 0) fail(ErrorCode::unsupported, "a precision of an integer is unsupported");
    const Value number = value.is(Kind::real) ? runtime_.call_builtin(*find_filter("int"), value, {}) : value;
    add_number(out_, spec, number);
  }

  Runtime& runtime_;
  const Text& format_;
  const Args& args_;
  Builder out_;
  std::size_t next_ = 0;
  bool used_name_ = false;
};

// --- "...".format(values) ---

class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const Text& format, const Args& args)
      : runtime_(runtime), format_(format), args_(args), out_(runtime.budget()) {}

  Value run() {
    const std::string_view text = format_.bytes;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t mark = std::min(text.find_first_of("{}", i), text.size());
      out_.add(format_, i, mark);
      if (mark == text.size()) break;
      if (mark + 1 < text.size() && text[mark + 1] == text[mark]) {
        out_.add(format_, mark, mark + 1);
        i = mark + 2;
        continue;
      }
      if (text[mark] == '}') fail(ErrorCode::malformed, "Single '}}' encountered in format string");
      const std::size_t close = text.find('}', mark);
      if (close == std::string_view::npos) fail(ErrorCode::malformed, "expected '}}' before end of string");
      if (text.substr(mark + 1, close - mark - 1).find('{') != std::string_view::npos) {
        fail(ErrorCode::unsupported, "a nested format field is unsupported");
      }
      field(mark + 1, close);
      i = close + 1;
    }
    return runtime_.heap().string(out_.take());
  }

 private:
  void field(std::size_t begin, std::size_t end) {
    const std::string_view text = format_.bytes;
    const std::size_t colon = std::min(text.find(':', begin), end);
    const std::size_t bang = std::min(text.find('!', begin), colon);
    Value value = resolve(text.substr(begin, bang - begin));
    if (bang < colon) {
      const std::string_view conversion = text.substr(bang + 1, colon - bang - 1);
      if (conversion != "s" && conversion != "r") {
        fail(ErrorCode::unsupported, "the format conversion '!{}' is unsupported", conversion);
      }
      value = conversion == "s" ? to_string(runtime_.heap(), value) : repr(runtime_, value);
    }
    apply(value, colon < end ? colon + 1 : end, end);
  }

  Value resolve(std::string_view name) {
    const std::size_t head = std::min(name.find_first_of(".["), name.size());
    Value value = base(name.substr(0, head));
    for (std::size_t i = head; i < name.size();) {
      if (name[i] == '.') {
        const std::size_t next = std::min(name.find_first_of(".[", i + 1), name.size());
        value = runtime_.attribute(value, name.substr(i + 1, next - i - 1));
        i = next;
      } else if (name[i] == '[' && name.find(']', i) != std::string_view::npos) {
        const std::size_t close = name.find(']', i);
        const std::string_view key = name.substr(i + 1, close - i - 1);
        std::int64_t index = 0;
        const auto parsed = std::from_chars(key.data(), key.data() + key.size(), index);
        const bool is_index = parsed.ec == std::errc() && parsed.ptr == key.data() + key.size() && index >= 0;
        value = runtime_.item(value, is_index ? Value::of(index) : runtime_.heap().string(key));
        i = close + 1;
      } else {
        fail(ErrorCode::malformed, "a format field is malformed");
      }
    }
    return value;
  }

  Value base(std::string_view name) {
    std::size_t index = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool is_index = parsed.ec == std::errc() && parsed.ptr == name.data() + name.size();
    if (name.empty() || is_index) {
      if (name.empty()) index = next_++;
      if (index >= args_.positional.size()) {
        fail(ErrorCode::malformed, "Replacement index {} out of range for positional args tuple", index);
      }
      return args_.positional[index];
    }
    for (const auto& [key, value] : args_.named) {
      if (key.bytes == name) return value;
    }
    fail(ErrorCode::malformed, "the format's name '{}' has no value", name);
  }

  Spec parse_spec(std::size_t i, std::size_t end) {
    const std::string_view text = std::string_view(format_.bytes).substr(0, end);
    Spec spec;
    constexpr std::string_view kAligns = "<>^=";
    if (i < end) {
      const std::size_t size = decode(text, i).length;
      if (i + size < end && kAligns.find(text[i + size]) != std::string_view::npos) {
        spec.fill = Text();
        spec.fill.append(format_, i, i + size);
        spec.align = text[i + size];
        i += size + 1;
      } else if (kAligns.find(text[i]) != std::string_view::npos) {
        spec.align = text[i++];
      }
    }
    if (i < end && std::string_view("+- ").find(text[i]) != std::string_view::npos) spec.sign = text[i++];
    if (i < end && text[i] == '#') spec.alternate = true, ++i;
    if (i < end && text[i] == '0') {
      if (spec.align == 0) spec.align = '=', spec.fill = Text{"0", {}};
      ++i;
    }
    spec.width = read_count(text, i, kMaxWidth, "width").value_or(0);
    if (i < end && text[i] == ',') spec.comma = true, ++i;
    if (i < end && text[i] == '.') {
      ++i;
      spec.precision = read_count(text, i, kMaxPrecision, "precision");
      if (!spec.precision) fail(ErrorCode::malformed, "Format specifier missing precision");
    }
    if (i < end) spec.type = text[i++];
    if (i != end) fail(ErrorCode::malformed, "Invalid format specifier");
    return spec;
  }

  void apply(const Value& value, std::size_t begin, std::size_t end) {
    if (begin == end) return write_string(out_, value);
    Spec spec = parse_spec(begin, end);
    if (value.is(Kind::string)) {
      if (spec.type != 0 && spec.type != 's') {
        fail(ErrorCode::malformed, "Unknown format code '{}' for a string", spec.type);
      }
      if (spec.align == '=') fail(ErrorCode::malformed, "'=' alignment not allowed in string format specifier");
      return add_text(out_, spec, value);
    }
    if (!value.is_number()) fail(ErrorCode::malformed, "unsupported format string passed to {}", type_name(value));
    constexpr std::string_view kInteger = "dxXob", kReal = "eEfFgG%";
    const bool known = spec.type == 0 || kReal.find(spec.type) != std::string_view::npos ||
                       (!value.is(Kind::real) && kInteger.find(spec.type) != std::string_view::npos);
    if (!known) fail(ErrorCode::malformed, "Unknown format code '{}' for a number", spec.type);
    if (value.is(Kind::boolean) && spec.type == 0) return add_text(out_, spec, to_string(runtime_.heap(), value));
    add_number(out_, spec, value);
  }

  Runtime& runtime_;
  const Text& format_;
  const Args& args_;
  Builder out_;
  std::size_t next_ = 0;
};

// What a directive of strftime stands for in the C locale.
std::string time_field(char directive, bool padded, const std::tm& time) {
  static constexpr std::array<const char*, 7> kDays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};
  static constexpr std::array<const char*, 12> kMonths{"January",   "February", "March",    "April",
                                                       "May",       "June",     "July",     "August",
                                                       "September", "October",  "November", "December"};
  const std::string day = kDays[static_cast<std::size_t>(std::clamp(time.tm_wday, 0, 6))];
  const std::string month = kMonths[static_cast<std::size_t>(std::clamp(time.tm_mon, 0, 11))];
  const auto number = [padded](int value) { return padded ? format("{:02}", value) : format("{}", value); };
  switch (directive) {
    case 'a': return day.substr(0, 3);
    case 'A': return day;
    case 'b': return month.substr(0, 3);
    case 'B': return month;
    case 'd': return number(time.tm_mday);
    case 'H': return number(time.tm_hour);
    case 'I': return number(time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12);
    case 'j': return padded ? format("{:03}", time.tm_yday + 1) : format("{}", time.tm_yday + 1);
    case 'm': return number(time.tm_mon + 1);
    case 'M': return number(time.tm_min);
    case 'p': return time.tm_hour < 12 ? "AM" : "PM";
    case 'S': return number(time.tm_sec);
    case 'y': return number(time.tm_year % 100);
    case 'Y': return format("{}", time.tm_year + 1900);
    case '%': return "%";
    default: fail(ErrorCode::unsupported, "the strftime directive '%{}' is unsupported", directive);
  }
}

}  // namespace

Value percent_format(Runtime& runtime, const Text& format, const Args& args) {
  return PercentFormatter(runtime, format, args).run();
}

Value brace_format(Runtime& runtime, const Text& format, const Args& args) {
  return BraceFormatter(runtime, format, args).run();
}

Value strftime_now(Runtime& runtime, const Value&, const Params& params) {
  const std::tm now = runtime.clock()();
  const Text& format = params.text(0);
  Builder out(runtime.budget());
  for (std::size_t i = 0; i < format.bytes.size(); ++i) {
    if (format.bytes[i] != '%') {
      out.add(format, i, i + 1);
      continue;
    }
    const bool padded = i + 1 >= format.bytes.size() || format.bytes[i + 1] != '-';
    i += padded ? 1 : 2;
    if (i >= format.bytes.size()) fail(ErrorCode::malformed, "incomplete strftime format");
    out.add(time_field(format.bytes[i], padded, now));
  }
  return runtime.heap().string(out.take());
}

}  // namespace rill::chat
