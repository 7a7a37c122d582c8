#include "chat/lexer.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "chat/text.h"
#include "chat/unicode.h"

namespace rill::chat {
namespace {

bool is_ascii_digit(char c) noexcept { return c >= '0' && c <= '9'; }

int digit_value(char c) noexcept {
  if (is_ascii_digit(c)) return c - '0';
  const char lowered = static_cast<char>(c | 0x20);
  return lowered >= 'a' && lowered <= 'f' ? lowered - 'a' + 10 : 99;
}

// The end of a run of digits of `base`, single underscores between them, that starts at `begin`; `begin` if there is
// none.
std::size_t digits_end(std::string_view text, std::size_t begin, int base) noexcept {
  std::size_t i = begin;
  while (i < text.size()) {
    const std::size_t digit = i > begin && text[i] == '_' ? i + 1 : i;
    if (digit >= text.size() || digit_value(text[digit]) >= base) break;
    i = digit + 1;
  }
  return i;
}

std::string without_underscores(std::string_view text) {
  std::string result(text);
  std::erase(result, '_');
  return result;
}

}  // namespace

std::string normalize_lines(std::string_view source) {
  std::string result;
  result.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      result.push_back('\n');
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      result.push_back(source[i]);
    }
  }
  if (!result.empty() && result.back() == '\n') result.pop_back();
  return result;
}

Lexer::Lexer(std::string_view source) : source_(source), line_starts_{0} {
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\n') line_starts_.push_back(i + 1);
  }
}

Lexer::Position Lexer::position(std::size_t offset) const noexcept {
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return {static_cast<std::size_t>(after - line_starts_.begin()), offset - *(after - 1) + 1};
}

void Lexer::error(std::size_t offset, std::string_view message) const {
  const Position at = position(offset);
  fail(ErrorCode::malformed, "chat template, line {} column {}: {}", at.line, at.column, message);
}

std::size_t Lexer::skip_space(std::size_t offset) const noexcept {
  while (offset < source_.size()) {
    const CodePoint c = decode(source_, offset);
    if (!is_space(c.value)) break;
    offset += c.length;
  }
  return offset;
}

// If the block tag at `tag` is exactly `word` (raw or endraw), the offset of its closing mark; otherwise npos.
std::size_t Lexer::match_raw(std::string_view word, std::size_t tag) const noexcept {
  std::size_t i = tag + 2;
  if (i < source_.size() && (source_[i] == '-' || source_[i] == '+')) ++i;
  i = skip_space(i);
  if (source_.substr(i, word.size()) != word) return std::string_view::npos;
  i = skip_space(i + word.size());
  const bool plus = word == "endraw" && source_.substr(i, 3) == "+%}";
  const bool closes = plus || source_.substr(i, 2) == "%}" || source_.substr(i, 3) == "-%}";
  return closes ? i : std::string_view::npos;
}

// The text from `begin` to the tag, without the white space that the tag takes: all of it for `-`; what stands between
// the line's start and a block or comment tag otherwise, unless the sign is `+`.
std::string_view Lexer::strip_before_tag(std::size_t begin, std::size_t tag, bool is_print) const noexcept {
  const std::string_view text = source_.substr(begin, tag - begin);
  const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
  if (sign == '-') {
    std::size_t end = text.size();
    while (end > 0) {
      const CodePoint c = decode_before(text, end);
      if (!is_space(c.value)) break;
      end -= c.length;
    }
    return text.substr(0, end);
  }
  if (sign == '+' || is_print) return text;
  const std::size_t line_begin = text.rfind('\n') + 1;  // npos + 1 == 0
  const bool starts_line = line_begin > 0 || begin == 0 || source_[begin - 1] == '\n';
  if (starts_line && skip_space(begin + line_begin) >= tag) return text.substr(0, line_begin);
  return text;
}

void Lexer::skip_comment(std::size_t tag) {
  std::size_t begin = tag + 2;
  if (begin < source_.size() && (source_[begin] == '-' || source_[begin] == '+')) ++begin;
  const std::size_t close = source_.find("#}", begin);
  if (close == std::string_view::npos) error(tag, "the comment is not closed");
  offset_ = close + 2;
  const char sign = close > begin ? source_[close - 1] : '\0';
  if (sign == '-') {
    offset_ = skip_space(offset_);
  } else if (sign != '+' && at("\n")) {
    ++offset_;
  }
}

// `begin` is where the text inside {% raw %} starts.
bool Lexer::lex_raw(std::size_t begin, Lexeme& out) {
  for (std::size_t tag = source_.find("{%", begin); tag != std::string_view::npos; tag = source_.find("{%", tag + 1)) {
    const std::size_t close = match_raw("endraw", tag);
    if (close == std::string_view::npos) continue;
    out.kind = LexemeKind::data;
    out.offset = begin;
    out.text = strip_before_tag(begin, tag, false);
    offset_ = close + (source_[close] == '%' ? 2 : 3);
    if (source_[close] == '-') {
      offset_ = skip_space(offset_);
    } else if (source_[close] == '%' && at("\n")) {
      ++offset_;
    }
    return !out.text.empty();
  }
  error(begin, "{% raw %} is not closed");
}

// Lexes up to one token outside of tags; false if there was only a comment or white space that a tag took.
bool Lexer::lex_data(Lexeme& out) {
  std::size_t tag = offset_;
  for (;; ++tag) {
    tag = source_.find('{', tag);
    if (tag == std::string_view::npos || tag + 1 >= source_.size()) {
      tag = source_.size();
      break;
    }
    const char second = source_[tag + 1];
    if (second == '%' || second == '{' || second == '#') break;
  }
  out.offset = offset_;
  if (tag > offset_) {
    const bool at_tag = tag < source_.size();
    out.text = at_tag ? strip_before_tag(offset_, tag, source_[tag + 1] == '{') : source_.substr(offset_);
    out.kind = LexemeKind::data;
    offset_ = tag;
    return !out.text.empty();
  }
  if (source_[tag + 1] == '#') return skip_comment(tag), false;
  if (source_[tag + 1] == '%') {
    if (const std::size_t close = match_raw("raw", tag); close != std::string_view::npos) {
      return lex_raw(source_[close] == '-' ? skip_space(close + 3) : close + 2, out);
    }
  }
  const bool is_print = source_[tag + 1] == '{';
  state_ = is_print ? State::print : State::block;
  out.kind = is_print ? LexemeKind::print_begin : LexemeKind::block_begin;
  offset_ = tag + 2;
  if (at("-") || at("+")) ++offset_;
  return true;
}

bool Lexer::lex_close(Lexeme& out) {
  if (!open_.empty()) return false;
  const bool is_print = state_ == State::print;
  const std::string_view mark = is_print ? "}}" : "%}";
  const char sign = source_[offset_];
  const bool signed_close = (sign == '-' || (sign == '+' && !is_print)) && source_.substr(offset_ + 1, 2) == mark;
  if (!signed_close && !at(mark)) return false;
  out.kind = is_print ? LexemeKind::print_end : LexemeKind::block_end;
  offset_ += signed_close ? 3 : 2;
  if (signed_close && sign == '-') {
    offset_ = skip_space(offset_);
  } else if (!signed_close && !is_print && at("\n")) {
    ++offset_;
  }
  state_ = State::data;
  return true;
}

Lexeme Lexer::next() {
  Lexeme out;
  while (state_ == State::data) {
    if (offset_ >= source_.size()) {
      out.kind = LexemeKind::end;
      out.offset = source_.size();
      return out;
    }
    if (lex_data(out)) return out;
    out = {};
  }
  offset_ = skip_space(offset_);
  out.offset = offset_;
  if (offset_ >= source_.size()) return out;
  if (!lex_close(out)) lex_inside(out);
  return out;
}

void Lexer::lex_inside(Lexeme& out) {
  const CodePoint c = decode(source_, offset_);
  if (is_ascii_digit(source_[offset_])) return lex_number(out);
  if (source_[offset_] == '\'' || source_[offset_] == '"') return lex_string(out);
  if (!is_identifier_start(c.value)) return lex_operator(out);
  std::size_t end = offset_ + c.length;
  while (end < source_.size()) {
    const CodePoint part = decode(source_, end);
    if (!is_identifier_part(part.value)) break;
    end += part.length;
  }
  out.kind = LexemeKind::name;
  out.text = source_.substr(offset_, end - offset_);
  offset_ = end;
}

void Lexer::lex_number(Lexeme& out) {
  const bool after_dot = offset_ > 0 && source_[offset_ - 1] == '.';
  const std::size_t whole = digits_end(source_, offset_, 10);
  std::size_t end = whole;
  bool is_real = false;
  if (!after_dot) {
    if (end < source_.size() && source_[end] == '.') {
      const std::size_t fraction = digits_end(source_, end + 1, 10);
      if (fraction > end + 1) end = fraction, is_real = true;
    }
    if (end < source_.size() && (source_[end] | 0x20) == 'e') {
      const std::size_t sign = end + 1 < source_.size() && (source_[end + 1] == '+' || source_[end + 1] == '-') ? 1 : 0;
      const std::size_t exponent = digits_end(source_, end + 1 + sign, 10);
      if (exponent > end + 1 + sign) end = exponent, is_real = true;
    }
  }
  if (is_real) {
    const std::string digits = without_underscores(source_.substr(offset_, end - offset_));
    out.kind = LexemeKind::real;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), out.real);
    if (parsed.ec != std::errc()) error(offset_, "the number is out of range");
    offset_ = end;
    return;
  }
  int base = 10;
  std::size_t begin = offset_;
  if (source_[offset_] == '0') {
    const char mark = offset_ + 1 < source_.size() ? static_cast<char>(source_[offset_ + 1] | 0x20) : '\0';
    const int marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (marked != 0 && digits_end(source_, offset_ + 2, marked) > offset_ + 2) {
      base = marked;
      begin = offset_ + 2;
    } else {
      base = 1;  // a leading zero is followed by zeros only
    }
  }
  end = digits_end(source_, begin, base);
  const std::string digits = without_underscores(source_.substr(begin, end - begin));
  out.kind = LexemeKind::integer;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), out.integer, std::max(base, 2));
  if (parsed.ec != std::errc()) error(offset_, "the number does not fit 64 bits");
  offset_ = end;
}

void Lexer::lex_string(Lexeme& out) {
  const char quote = source_[offset_];
  std::size_t end = offset_ + 1;
  while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size()) error(offset_, "the string is not closed");
  const std::string_view body = source_.substr(offset_ + 1, end - offset_ - 1);
  out.kind = LexemeKind::string;
  out.text.reserve(body.size());
  for (std::size_t i = 0; i < body.size();) {
    if (body[i] == '\\') {
      decode_escape(body, i, out.text);
    } else {
      out.text.push_back(body[i++]);
    }
  }
  offset_ = end + 1;
}

// `body[i]` is a backslash, never the last byte. An unknown escape keeps it, as in Python.
void Lexer::decode_escape(std::string_view body, std::size_t& i, std::string& out) const {
  const std::size_t start = i;
  const char c = body[i + 1];
  i += 2;
  constexpr std::string_view kNames = "\\'\"abfnrtv", kValues = "\\'\"\a\b\f\n\r\t\v";
  if (const auto simple = kNames.find(c); simple != std::string_view::npos) return out.push_back(kValues[simple]);
  if (c == '\n') return;
  std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  int base = 16;
  if (c >= '0' && c <= '7') {
    --i;
    base = 8;
    digits = 1;
    while (digits < 3 && i + digits < body.size() && digit_value(body[i + digits]) < 8) ++digits;
  }
  if (c == 'N') error(offset_ + 1 + start, "the escape \\N is unsupported");
  if (digits == 0) {
    out.push_back('\\');
    i = start + 1;
    return;
  }
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < digits; ++k, ++i) {
    if (i >= body.size() || digit_value(body[i]) >= base) error(offset_ + 1 + start, "the escape is cut short");
    value = value * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit_value(body[i]));
  }
  if (value >= kInvalid || (value >= 0xD800 && value <= 0xDFFF)) {
    error(offset_ + 1 + start, "the escape is no Unicode scalar value");
  }
  append_utf8(out, value);
}

void Lexer::lex_operator(Lexeme& out) {
  static constexpr std::string_view kOperators[] = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "/",
                                                    "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                    ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
  const auto found = std::find_if(std::begin(kOperators), std::end(kOperators), [this](auto op) { return at(op); });
  if (found == std::end(kOperators)) error(offset_, "unexpected character");
  const char c = found->front();
  if (c == '(' || c == '[' || c == '{') open_.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
  if (c == ')' || c == ']' || c == '}') {
    if (open_.empty() || open_.back() != c) error(offset_, format("unexpected '{}'", c));
    open_.pop_back();
  }
  out.kind = LexemeKind::op;
  out.text = *found;
  offset_ += found->size();
}

}  // namespace rill::chat
