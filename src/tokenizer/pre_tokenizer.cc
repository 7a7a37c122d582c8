#include "tokenizer/pre_tokenizer.h"

#include <utf8proc.h>

#include <array>
#include <cstdint>
#include <limits>

#include "base/error.h"
#include "base/utf8.h"

namespace rill::tokenizer {
namespace {

constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

// clang-format off
// gpt-2:     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// smollm:    \p{N}, then as gpt-2
// llama-bpe: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// qwen2:     as llama-bpe with \p{N}
// clang-format on
constexpr PreTokenizerRules kRules[] = {
    {.name = "gpt-2",
     .fold_case = false,
     .any_prefix = false,
     .line_ends = false,
     .space_before_number = true,
     .numbers_apart = false,
     .max_digits = kAnyNumber},
    {.name = "smollm",
     .fold_case = false,
     .any_prefix = false,
     .line_ends = false,
     .space_before_number = false,
     .numbers_apart = true,
     .max_digits = 1},
    {.name = "llama-bpe",
     .fold_case = true,
     .any_prefix = true,
     .line_ends = true,
     .space_before_number = false,
     .numbers_apart = false,
     .max_digits = 3},
    {.name = "qwen2",
     .fold_case = true,
     .any_prefix = true,
     .line_ends = true,
     .space_before_number = false,
     .numbers_apart = false,
     .max_digits = 1},
};

enum class Class : std::uint8_t { letter, number, space, other, end };

Class classify(char32_t code) noexcept {
  if (code == 0x85) return Class::space;  // NEL: a control character by category, white space by property
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return Class::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return Class::number;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return Class::space;
    default:
      return Class::other;
  }
}

constexpr auto kAscii = [] {
  std::array<Class, 128> classes{};
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    classes[c] = letter ? Class::letter : c >= '0' && c <= '9' ? Class::number : space ? Class::space : Class::other;
  }
  return classes;
}();

struct Character {
  Class type;
  std::uint32_t length;
};

Character character_at(std::string_view text, std::size_t position) noexcept {
  if (position == text.size()) return {Class::end, 0};
  const auto byte = static_cast<std::uint8_t>(text[position]);
  if (byte < 0x80) return {kAscii[byte], 1};
  const utf8::Character character = utf8::decode(text, position);
  return {classify(character.code), character.length};  // U+FFFD, for what is not UTF-8, is a symbol
}

// Where the run of `type` that may begin at `position` ends.
std::size_t run_end(std::string_view text, std::size_t position, Class type,
                    std::size_t at_most = kAnyNumber) noexcept {
  for (std::size_t count = 0; count < at_most; ++count) {
    const Character character = character_at(text, position);
    if (character.type != type) break;
    position += character.length;
  }
  return position;
}

bool is_line_end(std::string_view text, std::size_t position) noexcept {
  return position < text.size() && (text[position] == '\r' || text[position] == '\n');
}

}  // namespace

Result<PreTokenizer> PreTokenizer::named(std::string_view name) {
  for (const PreTokenizerRules& rules : kRules) {
    if (rules.name == name) return PreTokenizer(rules);
  }
  return make_error(ErrorCode::unsupported, "pre-tokenizer '{}' is not known; gpt-2, smollm, llama-bpe and qwen2 are",
                    name);
}

std::size_t PreTokenizer::piece_end(std::string_view text, std::size_t begin) const noexcept {
  if (text[begin] == '\'') {
    if (const std::size_t end = contraction_end(text, begin); end != begin) return end;
  }
  const Character first = character_at(text, begin);
  if (first.type == Class::letter) return run_end(text, begin, Class::letter);
  if (first.type == Class::number) return run_end(text, begin, Class::number, rules_->max_digits);

  const std::size_t second = begin + first.length;
  const Class next = character_at(text, second).type;
  const bool is_space = text[begin] == ' ';
  const bool leads_letters = rules_->any_prefix ? !is_line_end(text, begin) : is_space;
  if (leads_letters && next == Class::letter) return run_end(text, second, Class::letter);
  if (rules_->space_before_number && is_space && next == Class::number) return run_end(text, second, Class::number);
  if (first.type == Class::other || (is_space && next == Class::other)) {
    std::size_t end = run_end(text, second, Class::other);
    while (rules_->line_ends && is_line_end(text, end)) ++end;
    return end;
  }
  return white_space_end(text, begin);
}

// 's 't 're 've 'm 'll 'd; `begin` if there is none. Folding case makes U+017F, the long s, an s.
std::size_t PreTokenizer::contraction_end(std::string_view text, std::size_t begin) const noexcept {
  const auto letter = [&](std::size_t index) -> char {
    if (index >= text.size()) return '\0';
    const char c = text[index];
    return rules_->fold_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char second = letter(begin + 1), third = letter(begin + 2);
  if (second == 's' || second == 't' || second == 'm' || second == 'd') return begin + 2;
  if ((third == 'e' && (second == 'r' || second == 'v')) || (third == 'l' && second == 'l')) return begin + 3;
  if (rules_->fold_case && text.substr(begin + 1).starts_with("\u017F")) return begin + 3;
  return begin;
}

std::size_t PreTokenizer::white_space_end(std::string_view text, std::size_t begin) const noexcept {
  std::size_t end = begin, last = begin, after_line_end = begin;
  for (Character character = character_at(text, end); character.type == Class::space;
       character = character_at(text, end)) {
    last = end;
    end += character.length;
    if (is_line_end(text, last)) after_line_end = end;
  }
  if (rules_->line_ends && after_line_end != begin) return after_line_end;
  const Class next = character_at(text, end).type;
  if (next == Class::end || (rules_->numbers_apart && next == Class::number)) return end;
  return last == begin ? end : last;
}

}  // namespace rill::tokenizer
