// Reads a JSON text (RFC 8259; strings are UTF-8 without lone surrogates) from left to right. Nothing recurses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "rill/result.h"
#include "schema/json_document.h"

namespace rill::schema {

class JsonReader {
 public:
  JsonReader(std::string_view text, const JsonLimits& limits, JsonNodes& nodes)
      : text_(text), limits_(limits), nodes_(nodes) {}

  // Errors: malformed, at the first byte after which no JSON text is possible; limit_exceeded.
  Result<void> read();

  // After an error: the text is well-formed as far as it goes, and some JSON text goes on from there.
  bool cut_off() const { return cut_off_; }

 private:
  struct Level {
    std::uint32_t node;
    std::size_t first;  // of children_
  };

  bool done() const { return position_ == text_.size(); }
  char peek() const { return done() ? '\0' : text_[position_]; }
  bool at_digit() const { return ascii::is_digit(peek()); }
  bool take(char c);
  void skip_space();

  Result<void> read_member(const Level& level, bool first);
  Result<void> read_value();
  Result<void> read_literal(std::string_view literal);
  Result<void> read_number();
  Result<void> read_digits();
  Result<void> read_string();
  Result<void> read_escape();
  Result<char32_t> read_hex(std::uint32_t low = 0, std::uint32_t high = 0xFFFF);

  Result<std::uint32_t> add(JsonKind kind, std::size_t begin);
  void end(std::uint32_t node);
  void close();
  void order_by_name(std::size_t first);
  Error expected(std::string_view what);

  std::string_view text_;
  const JsonLimits& limits_;
  JsonNodes& nodes_;
  std::size_t position_ = 0;
  bool cut_off_ = false;
  std::uint32_t name_ = 0;  // of the member that is being read
  std::vector<Level> levels_;
  std::vector<std::uint32_t> children_;  // of all open levels
};

}  // namespace rill::schema
