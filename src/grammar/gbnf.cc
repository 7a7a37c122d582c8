#include "grammar/gbnf.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ascii.h"
#include "base/error.h"
#include "base/utf8.h"
#include "grammar/utf8_of.h"

namespace rill::grammar {
namespace {

using ascii::is_digit;

bool is_name(char c) { return ascii::is_alphanumeric(c) || c == '-'; }

class GbnfParser {
 public:
  GbnfParser(std::string_view text, const Tokenizer* tokenizer, Rules& rules)
      : text_(text), tokenizer_(tokenizer), rules_(rules), expressions_(rules.expressions) {}

  Result<void> parse(std::string_view start);

 private:
  struct Group {
    std::size_t opened = 0;
    std::vector<Expr> sequence = {};
    std::vector<Expr> choices = {};
  };
  struct Named {
    Rule rule{};
    bool defined = false;
    std::size_t first_use = 0;
  };

  char peek(std::size_t ahead = 0) const { return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0'; }
  bool done() const { return position_ == text_.size(); }
  bool take(std::string_view expected);
  void skip_space(bool newlines);
  bool nested() const { return groups_.size() > 1; }
  Error malformed(std::size_t position, std::string_view what) const;

  Result<void> parse_rule();
  Result<void> parse_alternatives(Rule rule);
  Result<void> parse_item();
  Result<void> parse_literal();
  Result<void> parse_class();
  Result<void> parse_token();
  Result<void> parse_repeat();
  Result<char32_t> parse_character();
  Result<char32_t> parse_hex(std::size_t begin, std::size_t digits);
  Result<std::uint32_t> parse_count();
  std::string_view parse_name();
  Named& named(std::string_view name);
  void end_choice();
  Expr end_group();

  std::string_view text_;
  std::size_t position_ = 0;
  const Tokenizer* tokenizer_;
  Rules& rules_;
  Expressions& expressions_;
  std::vector<Group> groups_;
  std::unordered_map<std::string_view, Named> names_;
};

Error GbnfParser::malformed(std::size_t position, std::string_view what) const {
  const std::string_view before = text_.substr(0, position);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 == 0
  return make_error(ErrorCode::malformed, "GBNF: {} at line {}, column {}", what, line, position - line_begin + 1);
}

bool GbnfParser::take(std::string_view expected) {
  if (!text_.substr(position_).starts_with(expected)) return false;
  position_ += expected.size();
  return true;
}

void GbnfParser::skip_space(bool newlines) {
  for (;; ++position_) {
    if (peek() == '#') {
      while (!done() && peek() != '\r' && peek() != '\n') ++position_;
    }
    const char c = peek();
    if (c != ' ' && c != '\t' && !(newlines && (c == '\r' || c == '\n'))) return;
  }
}

std::string_view GbnfParser::parse_name() {
  const std::size_t begin = position_;
  while (is_name(peek())) ++position_;
  return text_.substr(begin, position_ - begin);
}

GbnfParser::Named& GbnfParser::named(std::string_view name) {
  const auto [found, added] = names_.try_emplace(name);
  if (added) found->second = {rules_.add(std::string(name)), false, position_ - name.size()};
  return found->second;
}

Result<char32_t> GbnfParser::parse_hex(std::size_t begin, std::size_t digits) {
  char32_t value = 0;
  for (std::size_t i = 0; i < digits; ++i, ++position_) {
    const int digit = ascii::hex_digit(peek());
    if (digit < 0) return malformed(begin, "an escape with too few hexadecimal digits");
    value = value << 4 | static_cast<char32_t>(digit);
  }
  if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return malformed(begin, "an escape that is no character");
  return value;
}

Result<char32_t> GbnfParser::parse_character() {
  const std::size_t begin = position_;
  if (peek() != '\\') {
    const utf8::Character character = utf8::decode(text_, position_);
    if (character.status != utf8::Status::valid) return malformed(begin, "a byte that is not UTF-8");
    position_ += character.length;
    return character.code;
  }
  const char c = peek(1);
  position_ += std::min<std::size_t>(2, text_.size() - position_);
  switch (c) {
    case 'x': return parse_hex(begin, 2);
    case 'u': return parse_hex(begin, 4);
    case 'U': return parse_hex(begin, 8);
    case 't': return U'\t';
    case 'r': return U'\r';
    case 'n': return U'\n';
    case '\\':
    case '"':
    case '[':
    case ']':
    case '-': return static_cast<char32_t>(c);
    default: return malformed(begin, "an unknown escape");
  }
}

Result<void> GbnfParser::parse_literal() {
  const std::size_t begin = position_++;
  std::string literal;
  while (!take("\"")) {
    if (done()) return malformed(begin, "a string without its end");
    const std::size_t at = position_;
    RILL_ASSIGN(const char32_t code, parse_character());
    if (text_[at] == '\\') {
      utf8::append(literal, code);
    } else {
      literal += text_.substr(at, position_ - at);
    }
  }
  groups_.back().sequence.push_back(expressions_.literal(literal));
  return {};
}

Result<void> GbnfParser::parse_class() {
  const std::size_t begin = position_++;
  const bool negated = take("^");
  std::vector<CodePoints::Range> ranges;
  while (!take("]")) {
    if (done()) return malformed(begin, "a class without its end");
    const std::size_t at = position_;
    RILL_ASSIGN(const char32_t first, parse_character());
    char32_t last = first;
    if (peek() == '-' && peek(1) != ']') {
      ++position_;
      if (done()) return malformed(begin, "a class without its end");
      RILL_ASSIGN(last, parse_character());
      if (last < first) return malformed(at, "a range whose end is below its begin");
    }
    ranges.push_back({first, last});
  }
  if (ranges.empty()) return malformed(begin, "an empty class");
  const CodePoints set(std::move(ranges));
  groups_.back().sequence.push_back(utf8_of(expressions_, negated ? set.complement() : set));
  return {};
}

// <name>, <[id]>, and with ! before it any other token.
Result<void> GbnfParser::parse_token() {
  const std::size_t begin = position_;
  const bool negated = take("!");
  if (!take("<")) return malformed(begin, "a ! without a token");
  const std::size_t end = text_.find('>', position_);
  if (end == std::string_view::npos) return malformed(begin, "a token without its >");
  std::optional<Token> token;
  if (take("[")) {
    RILL_ASSIGN(const std::uint32_t id, parse_count());
    if (!take("]>")) return malformed(begin, "a token's id without its ]>");
    if (id > static_cast<std::uint32_t>(std::numeric_limits<Token>::max()))
      return malformed(begin, "a token's id that is too large");
    token = static_cast<Token>(id);
  } else {
    const std::size_t name = negated ? begin + 1 : begin;
    position_ = end + 1;
    if (tokenizer_ == nullptr) return malformed(begin, "a token by name, which needs a tokenizer in the options,");
    token = tokenizer_->find(text_.substr(name, position_ - name));
    if (!token) return malformed(begin, "a token that the vocabulary lacks");
  }
  groups_.back().sequence.push_back(expressions_.token({*token, negated}));
  return {};
}

Result<std::uint32_t> GbnfParser::parse_count() {
  if (!is_digit(peek())) return malformed(position_, "no number");
  std::uint64_t value = 0;
  const std::size_t begin = position_;
  for (; is_digit(peek()); ++position_) {
    value = value * 10 + static_cast<std::uint64_t>(peek() - '0');
    if (value >= kUnbounded) return malformed(begin, "a number that is too large");
  }
  return static_cast<std::uint32_t>(value);
}

Result<void> GbnfParser::parse_repeat() {
  const std::size_t begin = position_;
  std::uint32_t least = 0, most = kUnbounded;
  if (take("*")) {
  } else if (take("+")) {
    least = 1;
  } else if (take("?")) {
    most = 1;
  } else {
    ++position_;
    skip_space(nested());
    RILL_ASSIGN(least, parse_count());
    skip_space(nested());
    most = least;
    if (take(",")) {
      skip_space(nested());
      most = kUnbounded;
      if (is_digit(peek())) {
        RILL_ASSIGN(most, parse_count());
        skip_space(nested());
      }
    }
    if (!take("}")) return malformed(position_, "no } after a repeat's counts");
    if (most < least) return malformed(begin, "a repeat whose most is below its least");
  }
  std::vector<Expr>& sequence = groups_.back().sequence;
  if (sequence.empty()) return malformed(begin, "nothing to repeat");
  sequence.back() = expressions_.repeat(sequence.back(), least, most);
  return {};
}

void GbnfParser::end_choice() {
  Group& group = groups_.back();
  Expr whole = Expr::epsilon;
  for (std::size_t i = group.sequence.size(); i-- > 0;) whole = expressions_.concat(group.sequence[i], whole);
  group.choices.push_back(whole);
  group.sequence.clear();
}

Expr GbnfParser::end_group() {
  end_choice();
  const Expr result = expressions_.either(groups_.back().choices);
  groups_.pop_back();
  return result;
}

Result<void> GbnfParser::parse_item() {
  const std::size_t begin = position_;
  switch (peek()) {
    case '"': RILL_TRY(parse_literal()); break;
    case '[': RILL_TRY(parse_class()); break;
    case '<':
    case '!': RILL_TRY(parse_token()); break;
    case '.':
      ++position_;
      groups_.back().sequence.push_back(utf8_of(expressions_, CodePoints::all()));
      break;
    case '*':
    case '+':
    case '?':
    case '{': RILL_TRY(parse_repeat()); break;
    case '(':
      ++position_;
      groups_.push_back({.opened = begin});
      skip_space(true);
      return {};
    case ')': {
      if (!nested()) return malformed(begin, "a closing parenthesis without an opening one");
      ++position_;
      const Expr inner = end_group();
      groups_.back().sequence.push_back(inner);
      break;
    }
    case '|':
      ++position_;
      end_choice();
      skip_space(true);
      return {};
    default: {
      const std::string_view name = parse_name();
      if (name.empty()) return malformed(begin, "an unexpected character");
      groups_.back().sequence.push_back(expressions_.call(named(name).rule));
    }
  }
  skip_space(nested());
  return {};
}

Result<void> GbnfParser::parse_alternatives(Rule rule) {
  groups_.assign(1, Group{});
  while (!done() && (nested() || (peek() != '\r' && peek() != '\n'))) RILL_TRY(parse_item());
  if (nested()) return malformed(groups_.back().opened, "an opening parenthesis without a closing one");
  rules_[rule].body = end_group();
  return {};
}

Result<void> GbnfParser::parse_rule() {
  const std::size_t begin = position_;
  const std::string_view name = parse_name();
  if (name.empty()) return malformed(begin, "no name of a rule");
  Named& entry = named(name);
  entry.defined = true;
  const Rule rule = entry.rule;
  skip_space(false);
  if (!take("::=")) return malformed(position_, "no ::= after the name of a rule");
  skip_space(true);
  RILL_TRY(parse_alternatives(rule));
  skip_space(true);
  return {};
}

Result<void> GbnfParser::parse(std::string_view start) {
  skip_space(true);
  while (!done()) RILL_TRY(parse_rule());
  const Named* missing = nullptr;
  for (const auto& [name, entry] : names_) {
    if (!entry.defined && (missing == nullptr || entry.first_use < missing->first_use)) missing = &entry;
  }
  if (missing != nullptr) {
    Error error = malformed(missing->first_use, "the rule " + rules_[missing->rule].name + ", which is not defined,");
    error.code = ErrorCode::not_found;
    return error;
  }
  const auto found = names_.find(start);
  if (found == names_.end()) {
    return make_error(ErrorCode::not_found, "GBNF: the start rule {} is not defined", start);
  }
  rules_.start = found->second.rule;
  return {};
}

}  // namespace

Result<void> parse_gbnf(std::string_view text, std::string_view start, const Tokenizer* tokenizer, Rules& rules) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // the byte order mark of some editors
  return GbnfParser(text, tokenizer, rules).parse(start);
}

}  // namespace rill::grammar
