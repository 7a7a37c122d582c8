#include "regex/unicode_property.h"

#include <utf8proc.h>

#include <array>
#include <bit>

namespace rill::regex {
namespace {

struct Category {
  std::string_view short_name, long_name;
  std::uint32_t members;  // bit c: utf8proc's category c
};

constexpr std::uint32_t bit(int category) { return std::uint32_t{1} << category; }
constexpr std::uint32_t bits(int first, int last) { return (bit(last) << 1) - bit(first); }

// Unicode 15, PropertyValueAliases. utf8proc numbers the categories group by group.
constexpr Category kCategories[] = {
    {"L", "Letter", bits(UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO)},
    {"LC", "Cased_Letter", bits(UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LT)},
    {"Lu", "Uppercase_Letter", bit(UTF8PROC_CATEGORY_LU)},
    {"Ll", "Lowercase_Letter", bit(UTF8PROC_CATEGORY_LL)},
    {"Lt", "Titlecase_Letter", bit(UTF8PROC_CATEGORY_LT)},
    {"Lm", "Modifier_Letter", bit(UTF8PROC_CATEGORY_LM)},
    {"Lo", "Other_Letter", bit(UTF8PROC_CATEGORY_LO)},
    {"M", "Mark", bits(UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME)},
    {"Mn", "Nonspacing_Mark", bit(UTF8PROC_CATEGORY_MN)},
    {"Mc", "Spacing_Mark", bit(UTF8PROC_CATEGORY_MC)},
    {"Me", "Enclosing_Mark", bit(UTF8PROC_CATEGORY_ME)},
    {"N", "Number", bits(UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO)},
    {"Nd", "Decimal_Number", bit(UTF8PROC_CATEGORY_ND)},
    {"Nl", "Letter_Number", bit(UTF8PROC_CATEGORY_NL)},
    {"No", "Other_Number", bit(UTF8PROC_CATEGORY_NO)},
    {"P", "Punctuation", bits(UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO)},
    {"Pc", "Connector_Punctuation", bit(UTF8PROC_CATEGORY_PC)},
    {"Pd", "Dash_Punctuation", bit(UTF8PROC_CATEGORY_PD)},
    {"Ps", "Open_Punctuation", bit(UTF8PROC_CATEGORY_PS)},
    {"Pe", "Close_Punctuation", bit(UTF8PROC_CATEGORY_PE)},
    {"Pi", "Initial_Punctuation", bit(UTF8PROC_CATEGORY_PI)},
    {"Pf", "Final_Punctuation", bit(UTF8PROC_CATEGORY_PF)},
    {"Po", "Other_Punctuation", bit(UTF8PROC_CATEGORY_PO)},
    {"S", "Symbol", bits(UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO)},
    {"Sm", "Math_Symbol", bit(UTF8PROC_CATEGORY_SM)},
    {"Sc", "Currency_Symbol", bit(UTF8PROC_CATEGORY_SC)},
    {"Sk", "Modifier_Symbol", bit(UTF8PROC_CATEGORY_SK)},
    {"So", "Other_Symbol", bit(UTF8PROC_CATEGORY_SO)},
    {"Z", "Separator", bits(UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP)},
    {"Zs", "Space_Separator", bit(UTF8PROC_CATEGORY_ZS)},
    {"Zl", "Line_Separator", bit(UTF8PROC_CATEGORY_ZL)},
    {"Zp", "Paragraph_Separator", bit(UTF8PROC_CATEGORY_ZP)},
    {"C", "Other", bits(UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO) | bit(UTF8PROC_CATEGORY_CN)},
    {"Cc", "Control", bit(UTF8PROC_CATEGORY_CC)},
    {"Cf", "Format", bit(UTF8PROC_CATEGORY_CF)},
    {"Cs", "Surrogate", bit(UTF8PROC_CATEGORY_CS)},
    {"Co", "Private_Use", bit(UTF8PROC_CATEGORY_CO)},
    {"Cn", "Unassigned", bit(UTF8PROC_CATEGORY_CN)},
};

CodePoints with_category(std::uint32_t members) {
  std::vector<CodePoints::Range> ranges;
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if ((members >> utf8proc_category(static_cast<utf8proc_int32_t>(code)) & 1) == 0) continue;
    if (!ranges.empty() && ranges.back().last + 1 == code) {
      ranges.back().last = code;
    } else {
      ranges.push_back({code, code});
    }
  }
  return CodePoints(std::move(ranges));
}

}  // namespace

std::optional<CodePoints> unicode_property(std::string_view name) {
  if (name == "Any") return CodePoints::all();
  if (name == "ASCII") return CodePoints{{0, 0x7F}};
  if (name == "Assigned") return with_category(~bit(UTF8PROC_CATEGORY_CN));
  for (const std::string_view prefix : {"gc=", "General_Category="}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  for (const Category& category : kCategories) {
    if (name == category.short_name || name == category.long_name) return with_category(category.members);
  }
  return std::nullopt;
}

}  // namespace rill::regex
