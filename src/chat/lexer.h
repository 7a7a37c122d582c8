// Splits a template into tokens, one at a time, by jinja2's rules with trim_blocks and lstrip_blocks on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace rill::chat {

enum class LexemeKind : std::uint8_t {
  end, data, block_begin, block_end, print_begin, print_end, name, string, integer, real, op,
};

struct Lexeme {
  LexemeKind kind = LexemeKind::end;
  std::string text;  // data, name, decoded string or operator
  std::int64_t integer = 0;
  double real = 0;
  std::size_t offset = 0;  // in the source
};

class Lexer {
 public:
  // `source` has \n for every line end, and outlives the lexer.
  explicit Lexer(std::string_view source);

  Lexeme next();  // throws malformed

  struct Position {
    std::size_t line = 1;
    std::size_t column = 1;  // in bytes
  };
  Position position(std::size_t offset) const noexcept;

 private:
  enum class State : std::uint8_t { data, block, print };

  bool at(std::string_view text) const noexcept { return source_.substr(offset_, text.size()) == text; }
  std::size_t skip_space(std::size_t offset) const noexcept;
  std::size_t match_raw(std::string_view word, std::size_t tag) const noexcept;
  std::string_view strip_before_tag(std::size_t begin, std::size_t tag, bool is_print) const noexcept;
  bool lex_data(Lexeme& out);
  bool lex_raw(std::size_t begin, Lexeme& out);
  void skip_comment(std::size_t tag);
  bool lex_close(Lexeme& out);
  void lex_inside(Lexeme& out);
  void lex_number(Lexeme& out);
  void lex_string(Lexeme& out);
  void lex_operator(Lexeme& out);
  void decode_escape(std::string_view body, std::size_t& i, std::string& out) const;
  [[noreturn]] void error(std::size_t offset, std::string_view message) const;

  std::string_view source_;
  std::size_t offset_ = 0;
  State state_ = State::data;
  std::string open_;  // brackets that are open inside a tag
  std::vector<std::size_t> line_starts_;
};

// Line ends become \n, and one at the very end is dropped.
std::string normalize_lines(std::string_view source);

}  // namespace rill::chat
