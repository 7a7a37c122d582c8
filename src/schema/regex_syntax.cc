#include "schema/regex_syntax.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/utf8.h"

namespace rill::schema {
namespace {

using ascii::is_alphanumeric;
using ascii::is_digit;

class RegexSyntax {
 public:
  explicit RegexSyntax(std::string_view text) : rest_(text) {}

  bool holds() {
    while (!rest_.empty()) {
      if (!read_term()) return false;
    }
    const auto is_named = [&](const std::string& name) { return names_.contains(name); };
    return open_.empty() && highest_reference_ <= groups_ &&
           std::all_of(references_.begin(), references_.end(), is_named);
  }

 private:
  enum class Group : std::uint8_t { plain, assertion };

  bool take(std::string_view begin) {
    if (!rest_.starts_with(begin)) return false;
    rest_.remove_prefix(begin.size());
    return true;
  }
  char next() {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }
  template <typename Is>
  std::string_view take_while(Is is) {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is);
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  char32_t read_character() {
    const utf8::Character character = utf8::decode(rest_, 0);
    rest_.remove_prefix(character.length);
    return character.code;
  }

  bool read_term() {
    if (take("|") || take("^") || take("$")) {
      repeatable_ = false;
      return true;
    }
    if (take("(")) return read_group();
    if (take(")")) {
      if (open_.empty()) return false;
      repeatable_ = open_.back() == Group::plain;
      open_.pop_back();
      return true;
    }
    if (rest_[0] == '*' || rest_[0] == '+' || rest_[0] == '?') return next(), read_repeat();
    if (rest_[0] == '{') {
      if (const std::optional<bool> ordered = read_count()) return *ordered && read_repeat();
    }
    repeatable_ = true;
    if (take("[")) return read_class();
    if (take("\\")) return read_escape(false);
    read_character();
    return true;
  }

  bool read_repeat() {
    take("?");
    return std::exchange(repeatable_, false);
  }

  // {m}, {m,}, {m,n}: whether m <= n. Nothing, and nothing read, where a brace begins none.
  std::optional<bool> read_count() {
    const std::string_view before = rest_;
    const auto number = [&] {
      std::string_view digits = take_while(is_digit);
      digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.empty() ? 0 : digits.size() - 1));
      return digits;
    };
    take("{");
    const std::string_view least = number();
    const bool comma = !least.empty() && take(",");
    const std::string_view most = comma ? number() : least;
    if (least.empty() || !take("}")) {
      rest_ = before;
      return std::nullopt;
    }
    return (comma && most.empty()) || least.size() < most.size() || (least.size() == most.size() && least <= most);
  }

  bool read_group() {
    repeatable_ = false;
    Group group = Group::plain;
    if (!take("?")) {
      ++groups_;
    } else if (take("=") || take("!") || take("<=") || take("<!")) {
      group = Group::assertion;
    } else if (take("<")) {
      ++groups_;
      const std::string name = read_name();
      if (name.empty() || !names_.insert(name).second) return false;
    } else if (!take(":") && !read_flags()) {
      return false;
    }
    open_.push_back(group);
    return true;
  }

  // "i:", "-i:", "im-s:": of i, m and s each at most once.
  bool read_flags() {
    const auto is_flag = [](char c) { return c == 'i' || c == 'm' || c == 's'; };
    std::string flags(take_while(is_flag));
    const bool removes = take("-");
    flags += take_while(is_flag);
    std::sort(flags.begin(), flags.end());
    return take(":") && (!flags.empty() || !removes) && std::adjacent_find(flags.begin(), flags.end()) == flags.end();
  }

  // Up to its ">"; empty if it is none.
  std::string read_name() {
    const auto in_name = [](char c) {
      return is_alphanumeric(c) || c == '_' || c == '$' || static_cast<std::uint8_t>(c) >= 0x80;
    };
    std::string name(take_while(in_name));
    return take(">") && !name.empty() && !is_digit(name[0]) ? name : std::string();
  }

  bool read_class() {
    take("^");
    while (!take("]")) {
      const std::optional<char32_t> first = read_class_member();
      if (failed_) return false;
      const bool range = rest_.starts_with('-') && rest_.size() > 1 && rest_[1] != ']';
      if (!range) continue;
      take("-");
      const std::optional<char32_t> last = read_class_member();
      if (failed_ || (first && last && *first > *last)) return false;
    }
    return true;
  }

  // A character; nothing for a class such as \d, or where there is none.
  std::optional<char32_t> read_class_member() {
    failed_ = rest_.empty();
    if (failed_) return std::nullopt;
    if (!take("\\")) return read_character();
    escaped_.reset();
    failed_ = !read_escape(true);
    return escaped_;
  }

  std::optional<char32_t> read_hex(std::size_t least, std::size_t most) {
    char32_t value = 0;
    std::size_t count = 0;
    for (; count < most && !rest_.empty() && ascii::hex_digit(rest_[0]) >= 0; ++count) {
      value = value << 4 | static_cast<char32_t>(ascii::hex_digit(next()));
    }
    return count < least ? std::nullopt : std::optional(value);
  }

  // After a backslash; `escaped_` is what it stands for, if that is a character.
  bool read_escape(bool in_class) {
    if (rest_.empty()) return false;
    escaped_ = read_character();
    const char32_t c = *escaped_;
    if (c >= 0x80 || !is_alphanumeric(static_cast<char>(c))) return true;
    switch (c) {
      case 't': escaped_ = '\t'; return true;
      case 'n': escaped_ = '\n'; return true;
      case 'v': escaped_ = '\v'; return true;
      case 'f': escaped_ = '\f'; return true;
      case 'r': escaped_ = '\r'; return true;
      case '0': escaped_ = 0; return rest_.empty() || !is_digit(rest_[0]);
      case 'x': escaped_ = read_hex(2, 2); return escaped_.has_value();
      case 'u': return read_unicode();
      case 'c':
        if (rest_.empty() || !ascii::is_letter(rest_[0])) return false;
        escaped_ = static_cast<char32_t>(next() & 31);
        return true;
      default: break;
    }
    escaped_.reset();
    switch (c) {
      case 'd':
      case 'D':
      case 'w':
      case 'W':
      case 's':
      case 'S': return true;
      case 'p':
      case 'P': return read_property();
      case 'b':
        if (in_class) escaped_ = '\b';
        repeatable_ = in_class;
        return true;
      case 'B': repeatable_ = false; return !in_class;
      case 'k': {
        if (in_class || !take("<")) return false;
        references_.push_back(read_name());
        return !references_.back().empty();
      }
      default: return !in_class && read_reference(c);
    }
  }

  bool read_reference(char32_t first) {
    if (first < '1' || first > '9') return false;  // a letter that means nothing
    std::size_t number = first - '0';
    for (const char c : take_while(is_digit))
      number = std::min(number * 10 + static_cast<std::size_t>(c - '0'), SIZE_MAX / 20);
    highest_reference_ = std::max(highest_reference_, number);
    return true;
  }

  bool read_unicode() {
    if (take("{")) {
      const bool zeros = !take_while([](char c) { return c == '0'; }).empty();
      escaped_ = read_hex(zeros ? 0 : 1, 6);
      return escaped_ && *escaped_ <= 0x10FFFF && take("}");
    }
    escaped_ = read_hex(4, 4);
    if (!escaped_) return false;
    const std::string_view before = rest_;
    if (*escaped_ >= 0xD800 && *escaped_ < 0xDC00 && take("\\u")) {
      const std::optional<char32_t> low = read_hex(4, 4);
      if (low && *low >= 0xDC00 && *low < 0xE000) {
        escaped_ = 0x10000 + ((*escaped_ - 0xD800) << 10) + (*low - 0xDC00);
      } else {
        rest_ = before;
      }
    }
    return true;
  }

  bool read_property() {
    const auto in_name = [](char c) { return is_alphanumeric(c) || c == '_'; };
    if (!take("{") || take_while(in_name).empty()) return false;
    return (!take("=") || !take_while(in_name).empty()) && take("}");
  }

  std::string_view rest_;
  std::vector<Group> open_;
  bool repeatable_ = false;  // the last term may be
  bool failed_ = false;
  std::optional<char32_t> escaped_;
  std::size_t groups_ = 0, highest_reference_ = 0;
  std::set<std::string> names_;
  std::vector<std::string> references_;
};

}  // namespace

bool is_regex(std::string_view text) { return RegexSyntax(text).holds(); }

}  // namespace rill::schema
