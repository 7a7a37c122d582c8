#include "chat/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/utf8.h"

namespace rill::chat {
namespace {

utf8proc_category_t category(std::uint32_t c) noexcept {
  return c < kInvalid ? utf8proc_category(static_cast<utf8proc_int32_t>(c)) : UTF8PROC_CATEGORY_CN;
}

// Upper-case mappings to several code points (Unicode's SpecialCasing), but for U+1F80..1FAF, which are regular.
struct Expansion {
  std::uint32_t from;
  std::array<std::uint32_t, 3> to;
};
constexpr Expansion kUpper[] = {
    {0x00DF, {0x0053, 0x0053}},         {0x0149, {0x02BC, 0x004E}},         {0x01F0, {0x004A, 0x030C}},
    {0x0390, {0x0399, 0x0308, 0x0301}}, {0x03B0, {0x03A5, 0x0308, 0x0301}}, {0x0587, {0x0535, 0x0552}},
    {0x1E96, {0x0048, 0x0331}},         {0x1E97, {0x0054, 0x0308}},         {0x1E98, {0x0057, 0x030A}},
    {0x1E99, {0x0059, 0x030A}},         {0x1E9A, {0x0041, 0x02BE}},         {0x1F50, {0x03A5, 0x0313}},
    {0x1F52, {0x03A5, 0x0313, 0x0300}}, {0x1F54, {0x03A5, 0x0313, 0x0301}}, {0x1F56, {0x03A5, 0x0313, 0x0342}},
    {0x1FB2, {0x1FBA, 0x0399}},         {0x1FB3, {0x0391, 0x0399}},         {0x1FB4, {0x0386, 0x0399}},
    {0x1FB6, {0x0391, 0x0342}},         {0x1FB7, {0x0391, 0x0342, 0x0399}}, {0x1FBC, {0x0391, 0x0399}},
    {0x1FC2, {0x1FCA, 0x0399}},         {0x1FC3, {0x0397, 0x0399}},         {0x1FC4, {0x0389, 0x0399}},
    {0x1FC6, {0x0397, 0x0342}},         {0x1FC7, {0x0397, 0x0342, 0x0399}}, {0x1FCC, {0x0397, 0x0399}},
    {0x1FD2, {0x0399, 0x0308, 0x0300}}, {0x1FD3, {0x0399, 0x0308, 0x0301}}, {0x1FD6, {0x0399, 0x0342}},
    {0x1FD7, {0x0399, 0x0308, 0x0342}}, {0x1FE2, {0x03A5, 0x0308, 0x0300}}, {0x1FE3, {0x03A5, 0x0308, 0x0301}},
    {0x1FE4, {0x03A1, 0x0313}},         {0x1FE6, {0x03A5, 0x0342}},         {0x1FE7, {0x03A5, 0x0308, 0x0342}},
    {0x1FF2, {0x1FFA, 0x0399}},         {0x1FF3, {0x03A9, 0x0399}},         {0x1FF4, {0x038F, 0x0399}},
    {0x1FF6, {0x03A9, 0x0342}},         {0x1FF7, {0x03A9, 0x0342, 0x0399}}, {0x1FFC, {0x03A9, 0x0399}},
    {0xFB00, {0x0046, 0x0046}},         {0xFB01, {0x0046, 0x0049}},         {0xFB02, {0x0046, 0x004C}},
    {0xFB03, {0x0046, 0x0046, 0x0049}}, {0xFB04, {0x0046, 0x0046, 0x004C}}, {0xFB05, {0x0053, 0x0054}},
    {0xFB06, {0x0053, 0x0054}},         {0xFB13, {0x0544, 0x0546}},         {0xFB14, {0x0544, 0x0535}},
    {0xFB15, {0x0544, 0x053B}},         {0xFB16, {0x054E, 0x0546}},         {0xFB17, {0x0544, 0x053D}},
};

std::array<std::uint32_t, 3> upper(std::uint32_t c) noexcept {
  if (c >= 0x1F80 && c <= 0x1FAF) {
    constexpr std::uint32_t kBase[] = {0x1F08, 0x1F28, 0x1F68};
    return {kBase[(c - 0x1F80) / 16] + (c & 7), 0x0399};
  }
  const auto found = std::lower_bound(std::begin(kUpper), std::end(kUpper), c,
                                      [](const Expansion& entry, std::uint32_t key) { return entry.from < key; });
  if (found != std::end(kUpper) && found->from == c) return found->to;
  return {static_cast<std::uint32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)))};
}

std::uint32_t lower(std::uint32_t c) noexcept {
  return static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

std::array<std::uint32_t, 3> title(std::uint32_t c) noexcept {
  std::array<std::uint32_t, 3> mapped = upper(c);
  const auto simple = static_cast<std::uint32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c)));
  if (mapped[1] == 0) return {simple};
  if (c == 0x0149) return mapped;
  // Greek with a subscript iota has a title case letter of its own, or keeps the iota as a mark.
  const std::size_t last = mapped[2] != 0 ? 2 : 1;
  if (c >= 0x1F80 && c <= 0x1FFF && mapped[last] == 0x0399) {
    if (last == 1 && (simple != c || category(c) == UTF8PROC_CATEGORY_LT)) return {simple};
    mapped[last] = 0x0345;
    return mapped;
  }
  for (std::size_t i = 1; i <= last; ++i) mapped[i] = lower(mapped[i]);
  return mapped;
}

bool is_cased(std::uint32_t c) noexcept { return is_upper(c) || is_lower(c) || is_title(c); }

bool is_case_ignorable(std::uint32_t c) noexcept {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK: return true;
    default: break;
  }
  constexpr std::uint32_t kPunctuation[] = {'\'', '.', ':', 0xB7, 0x387, 0x55F, 0x5F4, 0x2018, 0x2019, 0x2024, 0x2027};
  return std::find(std::begin(kPunctuation), std::end(kPunctuation), c) != std::end(kPunctuation);
}

// A capital sigma that ends a word becomes the final form.
bool ends_word(std::string_view text, std::size_t offset, std::size_t length) noexcept {
  std::size_t before = offset;
  bool cased = false;
  while (before > 0) {
    const CodePoint c = decode_before(text, before);
    before -= c.length;
    if (is_case_ignorable(c.value)) continue;
    cased = is_cased(c.value);
    break;
  }
  if (!cased) return false;
  for (std::size_t after = offset + length; after < text.size();) {
    const CodePoint c = decode(text, after);
    after += c.length;
    if (!is_case_ignorable(c.value)) return !is_cased(c.value);
  }
  return true;
}

}  // namespace

CodePoint decode(std::string_view text, std::size_t offset) noexcept {
  const utf8::Character character = utf8::decode(text, offset);
  if (character.status != utf8::Status::valid) return {kInvalid + static_cast<unsigned char>(text[offset]), 1};
  return {character.code, character.length};
}

CodePoint decode_before(std::string_view text, std::size_t end) noexcept {
  for (std::size_t length = 1; length <= 4 && length <= end; ++length) {
    if ((static_cast<unsigned char>(text[end - length]) & 0xC0) == 0x80) continue;
    const CodePoint c = decode(text.substr(0, end), end - length);
    if (c.length == length) return c;
    break;
  }
  return {kInvalid + static_cast<unsigned char>(text[end - 1]), 1};
}

void append_utf8(std::string& out, std::uint32_t code_point) {
  if (code_point >= kInvalid) {
    out.push_back(static_cast<char>(code_point - kInvalid));
    return;
  }
  utf8::append(out, code_point);
}

std::size_t count_code_points(std::string_view text) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); i += decode(text, i).length) ++count;
  return count;
}

std::size_t byte_offset(std::string_view text, std::size_t index) noexcept {
  std::size_t offset = 0;
  for (; index > 0 && offset < text.size(); --index) offset += decode(text, offset).length;
  return offset;
}

bool is_space(std::uint32_t c) noexcept {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_break(std::uint32_t c) noexcept {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_decimal(std::uint32_t c) noexcept { return category(c) == UTF8PROC_CATEGORY_ND; }

bool is_digit(std::uint32_t c) noexcept {
  constexpr std::uint32_t kRanges[][2] = {
      {0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},   {0x2070, 0x2070},
      {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247C},   {0x2488, 0x2490},
      {0x24EA, 0x24EA},   {0x24F5, 0x24FD},   {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},
      {0x278A, 0x2792},   {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A},
  };
  return is_decimal(c) ||
         std::any_of(std::begin(kRanges), std::end(kRanges), [c](const auto& r) { return c >= r[0] && c <= r[1]; });
}

bool is_alpha(std::uint32_t c) noexcept {
  const auto k = category(c);
  return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}

bool is_word(std::uint32_t c) noexcept {
  const auto k = category(c);
  return c == '_' || is_alpha(c) || k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_NO;
}

bool is_upper(std::uint32_t c) noexcept { return category(c) == UTF8PROC_CATEGORY_LU; }
bool is_lower(std::uint32_t c) noexcept { return category(c) == UTF8PROC_CATEGORY_LL || c == 0xAA || c == 0xBA; }
bool is_title(std::uint32_t c) noexcept { return category(c) == UTF8PROC_CATEGORY_LT; }

bool is_printable(std::uint32_t c) noexcept {
  if (c == ' ') return true;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS: return false;
    default: return true;
  }
}

bool is_identifier_start(std::uint32_t c) noexcept {
  return c == '_' || is_alpha(c) || category(c) == UTF8PROC_CATEGORY_NL;
}

bool is_identifier_part(std::uint32_t c) noexcept {
  const auto k = category(c);
  return is_identifier_start(c) || k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_MN ||
         k == UTF8PROC_CATEGORY_MC || k == UTF8PROC_CATEGORY_PC;
}

void append_cased(std::string& out, std::string_view text, std::size_t offset, Casing casing) {
  const CodePoint c = decode(text, offset);
  if (c.value < 0x80) {
    const bool change = casing == Casing::lower ? c.value >= 'A' && c.value <= 'Z' : c.value >= 'a' && c.value <= 'z';
    out.push_back(static_cast<char>(change ? c.value ^ 0x20 : c.value));
    return;
  }
  if (c.value >= kInvalid) return append_utf8(out, c.value);
  if (casing == Casing::lower) {
    if (c.value == 0x0130) return append_utf8(out, 'i'), append_utf8(out, 0x0307);
    const bool final_sigma = c.value == 0x03A3 && ends_word(text, offset, c.length);
    return append_utf8(out, final_sigma ? 0x03C2 : lower(c.value));
  }
  for (const std::uint32_t mapped : casing == Casing::upper ? upper(c.value) : title(c.value)) {
    if (mapped != 0) append_utf8(out, mapped);
  }
}

}  // namespace rill::chat
