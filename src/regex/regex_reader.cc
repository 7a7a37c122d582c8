#include "regex/regex_reader.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"
#include "base/error.h"
#include "base/utf8.h"
#include "regex/unicode_property.h"

namespace rill::regex {
namespace {

const CodePoints& digits() {
  static const CodePoints set{{'0', '9'}};
  return set;
}
const CodePoints& word() {
  static const CodePoints set{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return set;
}
const CodePoints& space() {  // ECMA-262: WhiteSpace and LineTerminator
  static const CodePoints set{{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                              {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
  return set;
}
const CodePoints& line_end() {
  static const CodePoints set{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
  return set;
}

}  // namespace

Error RegexReader::malformed(std::size_t position, std::string_view what) const {
  return make_error(ErrorCode::malformed, "regex: {} at offset {}", what, position);
}

Error RegexReader::unsupported(std::size_t position, std::string_view what) const {
  return make_error(ErrorCode::unsupported, "regex: {} at offset {} is not supported", what, position);
}

bool RegexReader::take(std::string_view text) {
  if (!pattern_.substr(position_).starts_with(text)) return false;
  position_ += text.size();
  return true;
}

Result<void> RegexReader::read_group_open() {
  const std::size_t begin = position_++;
  if (!take("?")) return {};
  if (take(":")) return {};
  if (take("=") || take("!")) return unsupported(begin, "lookahead");
  if (take("<=") || take("<!")) return unsupported(begin, "lookbehind");
  if (take("<")) {
    const std::size_t name = position_;
    while (ascii::is_alphanumeric(peek()) || peek() == '_' || peek() == '$') ++position_;
    if (position_ == name || !take(">")) return malformed(name, "a group's name without its end");
    return {};
  }
  // What other dialects have.
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {">", "an atomic group"}, {"#", "a comment"},        {"(", "a conditional"}, {"|", "a branch reset"},
      {"P<", "a group (?P<"},   {"P=", "a backreference"}, {"P>", "recursion"},    {"'", "a group (?'"},
      {"R", "recursion"},       {"&", "recursion"},        {"+", "recursion"},
  };
  for (const auto& [mark, name] : kOthers) {
    if (take(mark)) return unsupported(begin, name);
  }
  if (ascii::is_digit(peek())) return unsupported(begin, "recursion");
  if (peek() == '-' || ascii::is_alphanumeric(peek())) {
    return unsupported(begin, "a flag in a group, (?" + std::string(1, peek()));
  }
  return malformed(begin, "an unknown kind of group");
}

std::optional<std::uint32_t> RegexReader::read_number() {
  if (!ascii::is_digit(peek())) return std::nullopt;
  std::uint64_t value = 0;
  for (; ascii::is_digit(peek()); ++position_) {
    value = std::min<std::uint64_t>(value * 10 + static_cast<std::uint64_t>(peek() - '0'), kUnbounded - 1);
  }
  return static_cast<std::uint32_t>(value);
}

Result<std::optional<RegexReader::Quantifier>> RegexReader::read_quantifier() {
  const std::size_t begin = position_;
  std::optional<Quantifier> quantifier;
  if (take("*")) {
    quantifier = {0, kUnbounded};
  } else if (take("+")) {
    quantifier = {1, kUnbounded};
  } else if (take("?")) {
    quantifier = {0, 1};
  } else if (take("{")) {
    const std::optional<std::uint32_t> least = read_number();
    const bool comma = least && take(",");
    const std::optional<std::uint32_t> most = comma ? read_number() : least;
    if (!least || !take("}")) {
      position_ = begin;
      return quantifier;
    }
    if (most && *most < *least) return malformed(begin, "a repeat whose most is below its least");
    quantifier = {*least, most.value_or(kUnbounded)};
  }
  take("?");  // lazy: the same texts
  return quantifier;
}

Result<char32_t> RegexReader::read_character() {
  const utf8::Character character = utf8::decode(pattern_, position_);
  if (character.status != utf8::Status::valid) return malformed(position_, "a byte that is not UTF-8");
  position_ += character.length;
  return character.code;
}

Result<CodePoints> RegexReader::read_set() {
  if (take(".")) return line_end().complement();
  if (take("[")) return read_class();
  if (peek() == '\\') {
    RILL_ASSIGN(ClassItem item, read_escape(false));
    return std::move(item.set);
  }
  RILL_ASSIGN(const char32_t code, read_character());
  return CodePoints{{code, code}};
}

Result<RegexReader::ClassItem> RegexReader::read_class_item() {
  if (peek() == '\\') return read_escape(true);
  RILL_ASSIGN(const char32_t code, read_character());
  return ClassItem{{{code, code}}, true};
}

Result<CodePoints> RegexReader::read_class() {
  const std::size_t begin = position_ - 1;
  const bool negated = take("^");
  std::vector<CodePoints::Range> ranges;
  const auto add = [&ranges](const CodePoints& set) {
    ranges.insert(ranges.end(), set.ranges().begin(), set.ranges().end());
  };
  while (!take("]")) {
    if (done()) return malformed(begin, "a class without its end");
    const std::size_t item_begin = position_;
    RILL_ASSIGN(ClassItem first, read_class_item());
    const bool range = peek() == '-' && position_ + 1 < pattern_.size() && pattern_[position_ + 1] != ']';
    if (!range) {
      add(first.set);
      continue;
    }
    ++position_;
    RILL_ASSIGN(ClassItem last, read_class_item());
    if (!first.single || !last.single) {  // [\d-x]: the hyphen is a character
      add(first.set);
      add(last.set);
      ranges.push_back({'-', '-'});
      continue;
    }
    if (first.set.empty() || last.set.empty()) continue;  // a lone surrogate: in no text
    const char32_t low = first.set.ranges()[0].first, high = last.set.ranges()[0].first;
    if (low > high) return malformed(item_begin, "a range whose end is below its begin");
    ranges.push_back({low, high});
  }
  if (ranges.empty() && !negated) return malformed(begin, "an empty class");
  const CodePoints set(std::move(ranges));
  return negated ? set.complement() : set;
}

Result<char32_t> RegexReader::read_hex(std::size_t begin, std::size_t digits) {
  char32_t value = 0;
  for (std::size_t i = 0; i < digits; ++i, ++position_) {
    const int digit = ascii::hex_digit(peek());
    if (digit < 0) return malformed(begin, "an escape with too few hexadecimal digits");
    value = value << 4 | static_cast<char32_t>(digit);
  }
  return value;
}

// After "\u": XXXX, a pair of surrogates, or {X...}.
Result<char32_t> RegexReader::read_unicode_escape(std::size_t begin) {
  if (take("{")) {
    const std::size_t end = pattern_.find('}', position_);
    if (end == std::string_view::npos || end == position_ || end - position_ > 6) {
      return malformed(begin, "an escape \\u{...} without 1 to 6 hexadecimal digits");
    }
    RILL_ASSIGN(const char32_t code, read_hex(begin, end - position_));
    ++position_;
    if (code > 0x10FFFF) return malformed(begin, "a character beyond U+10FFFF");
    return code;
  }
  RILL_ASSIGN(const char32_t high, read_hex(begin, 4));
  const std::size_t after = position_;
  if (high >= 0xD800 && high < 0xDC00 && take("\\u")) {
    const auto low = read_hex(begin, 4);
    if (low && *low >= 0xDC00 && *low < 0xE000) return 0x10000 + ((high - 0xD800) << 10) + (*low - 0xDC00);
    position_ = after;
  }
  return high;
}

Result<CodePoints> RegexReader::read_property(bool negated) {
  const std::size_t begin = position_ - 2;
  const std::size_t end = take("{") ? pattern_.find('}', position_) : std::string_view::npos;
  if (end == std::string_view::npos) return malformed(begin, "a property without its name in braces");
  const std::string_view name = pattern_.substr(position_, end - position_);
  position_ = end + 1;
  const std::optional<CodePoints> set = unicode_property(name);
  if (!set) return unsupported(begin, "the property \\p{" + std::string(name) + "}");
  return negated ? set->complement() : *set;
}

Result<RegexReader::ClassItem> RegexReader::read_escape(bool in_class) {
  const std::size_t begin = position_++;
  if (done()) return malformed(begin, "a backslash at the end");
  const char c = peek();
  const auto single = [](char32_t code) { return ClassItem{{{code, code}}, true}; };
  if (!ascii::is_alphanumeric(c)) {
    RILL_ASSIGN(const char32_t code, read_character());
    return single(code);
  }
  ++position_;
  switch (c) {
    case 'd': return ClassItem{digits(), false};
    case 'D': return ClassItem{digits().complement(), false};
    case 'w': return ClassItem{word(), false};
    case 'W': return ClassItem{word().complement(), false};
    case 's': return ClassItem{space(), false};
    case 'S': return ClassItem{space().complement(), false};
    case 't': return single('\t');
    case 'n': return single('\n');
    case 'v': return single('\v');
    case 'f': return single('\f');
    case 'r': return single('\r');
    case 'p':
    case 'P': {
      RILL_ASSIGN(CodePoints set, read_property(c == 'P'));
      return ClassItem{std::move(set), false};
    }
    case 'x': {
      RILL_ASSIGN(const char32_t code, read_hex(begin, 2));
      return single(code);
    }
    case 'u': {
      RILL_ASSIGN(const char32_t code, read_unicode_escape(begin));
      return single(code);
    }
    case 'c': {
      const char letter = peek();
      if (done() || letter < 'A' || (letter > 'Z' && letter < 'a') || letter > 'z') {
        return malformed(begin, "\\c without a letter");
      }
      ++position_;
      return single(static_cast<char32_t>(letter % 32));
    }
    case 'b':
      if (in_class) return single('\b');
      return unsupported(begin, "a word boundary, \\b,");
    case 'B': return unsupported(begin, "a word boundary, \\B,");
    case 'k': return unsupported(begin, "a backreference");
    case '0':
      if (!ascii::is_digit(peek())) return single(0);
      return unsupported(begin, "an octal escape");
    default:
      if (c >= '1' && c <= '9') return unsupported(begin, "a backreference");
      return unsupported(begin, "the escape \\" + std::string(1, c));
  }
}

}  // namespace rill::regex
