// The lexical part of a regular expression: characters, escapes, classes, quantifiers, the heads of groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "regex/code_points.h"
#include "rill/result.h"

namespace rill::regex {

inline constexpr std::uint32_t kUnbounded = 0xFFFFFFFF;

class RegexReader {
 public:
  explicit RegexReader(std::string_view pattern) : pattern_(pattern) {}

  bool done() const { return position_ == pattern_.size(); }
  std::size_t position() const { return position_; }
  char peek() const { return done() ? '\0' : pattern_[position_]; }  // a NUL in the pattern is a character like others
  void skip() { ++position_; }

  // "(", "(?:" or "(?<name>".
  Result<void> read_group_open();

  struct Quantifier {
    std::uint32_t least, most;  // kUnbounded: no limit
  };
  // Nothing, and nothing read, where a brace begins none.
  Result<std::optional<Quantifier>> read_quantifier();

  // A character, an escape, a class or the dot.
  Result<CodePoints> read_set();

  Error malformed(std::size_t position, std::string_view what) const;
  Error unsupported(std::size_t position, std::string_view what) const;

 private:
  struct ClassItem {
    CodePoints set;
    bool single;  // one character, which may be the end of a range
  };

  bool take(std::string_view text);
  Result<CodePoints> read_class();
  Result<ClassItem> read_class_item();
  Result<ClassItem> read_escape(bool in_class);
  Result<CodePoints> read_property(bool negated);
  Result<char32_t> read_unicode_escape(std::size_t begin);
  Result<char32_t> read_hex(std::size_t begin, std::size_t digits);
  Result<char32_t> read_character();
  std::optional<std::uint32_t> read_number();

  std::string_view pattern_;
  std::size_t position_ = 0;
};

}  // namespace rill::regex
