#include "schema/format_checks.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"
#include "schema/regex_syntax.h"
#include "schema/uri.h"

namespace rill::schema {
namespace {

using Text = std::string_view;

using ascii::is_alphanumeric;
using ascii::is_digit;
using ascii::is_letter;

bool is_hex(char c) { return ascii::hex_digit(c) >= 0; }
bool is_beyond_ascii(char c) { return static_cast<std::uint8_t>(c) >= 0x80; }

template <typename Is>
bool all_of(Text text, Is is) {
  return std::all_of(text.begin(), text.end(), is);
}

bool take(Text& rest, Text begin) {
  if (!rest.starts_with(begin)) return false;
  rest.remove_prefix(begin.size());
  return true;
}

// What `is` holds for, from the begin, at most `most`.
template <typename Is>
Text take_while(Text& rest, Is is, std::size_t most = Text::npos) {
  const auto end =
      std::find_if_not(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(std::min(most, rest.size())), is);
  const Text taken = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  rest.remove_prefix(taken.size());
  return taken;
}

// A number of exactly so many digits; nothing if there are fewer, or if it is beyond `most`.
std::optional<int> take_number(Text& rest, std::size_t digits, int most) {
  const Text taken = take_while(rest, is_digit, digits);
  int value = 0;
  for (const char c : taken) value = value * 10 + (c - '0');
  return taken.size() == digits && value <= most ? std::optional(value) : std::nullopt;
}

// What stands before the first of these characters; it stays.
Text take_until(Text& rest, Text ends) {
  return take_while(rest, [&](char c) { return ends.find(c) == Text::npos; });
}

// RFC 3339, section 5.6.
bool take_date(Text& rest) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const auto year = take_number(rest, 4, 9999);
  if (!year || !take(rest, "-")) return false;
  const auto month = take_number(rest, 2, 12);
  if (!month || *month == 0 || !take(rest, "-")) return false;
  const bool leap = *year % 4 == 0 && (*year % 100 != 0 || *year % 400 == 0);
  const auto day = take_number(rest, 2, kDays[*month - 1] + (leap && *month == 2 ? 1 : 0));
  return day && *day > 0;
}

// A 61st second ends a day of UTC, whatever the clocks say where it is told.
bool take_time(Text& rest) {
  const auto hour = take_number(rest, 2, 23);
  if (!hour || !take(rest, ":")) return false;
  const auto minute = take_number(rest, 2, 59);
  if (!minute || !take(rest, ":")) return false;
  const auto second = take_number(rest, 2, 60);
  if (!second || (take(rest, ".") && take_while(rest, is_digit).empty())) return false;
  int offset = 0;
  if (!take(rest, "Z") && !take(rest, "z")) {
    const bool behind = take(rest, "-");
    if (!behind && !take(rest, "+")) return false;
    const auto hours = take_number(rest, 2, 23);
    if (!hours || !take(rest, ":")) return false;
    const auto minutes = take_number(rest, 2, 59);
    if (!minutes) return false;
    offset = (*hours * 60 + *minutes) * (behind ? -1 : 1);
  }
  constexpr int kDay = 24 * 60;
  return *second < 60 || (*hour * 60 + *minute - offset + kDay) % kDay == kDay - 1;
}

bool take_date_time(Text& rest) { return take_date(rest) && (take(rest, "T") || take(rest, "t")) && take_time(rest); }

// Numbers with units, each the one after the last; how many, or nothing if they are others.
std::optional<int> take_amounts(Text& rest, Text units) {
  int count = 0;
  for (std::size_t next = 0; !take_while(rest, is_digit).empty(); ++count) {
    const std::size_t unit = rest.empty() ? Text::npos : units.find(rest[0]);
    if (unit == Text::npos || (count > 0 && unit != next)) return std::nullopt;
    rest.remove_prefix(1);
    next = unit + 1;
  }
  return count;
}

// RFC 3339, appendix A.
bool is_duration(Text text) {
  if (!take(text, "P")) return false;
  Text weeks = text;
  if (!take_while(weeks, is_digit).empty() && weeks == "W") return true;
  const auto days = take_amounts(text, "YMD");
  if (!days || (text.empty() && *days == 0)) return false;
  if (text.empty()) return true;
  return take(text, "T") && take_amounts(text, "HMS").value_or(0) > 0 && text.empty();
}

bool is_ipv4(Text text) {
  for (int i = 0; i < 4; ++i) {
    if (i > 0 && !take(text, ".")) return false;
    const Text octet = take_while(text, is_digit, 3);
    if (octet.empty() || (octet[0] == '0' && octet.size() > 1) || (octet.size() == 3 && octet > "255")) return false;
  }
  return text.empty();
}

// RFC 4291, section 2.2, without zone. `most`: 16-bit groups beside a "::", which stands for at least one, or for two
// in RFC 5321.
bool is_ipv6(Text text, int most = 7) {
  int groups = 0;
  bool gap = take(text, "::");
  bool more = !gap || !text.empty();
  while (more) {
    if (is_ipv4(text)) {
      groups += 2;
      break;
    }
    if (take_while(text, is_hex, 4).empty()) return false;
    ++groups;
    if (text.empty()) break;
    if (take(text, "::")) {
      if (std::exchange(gap, true)) return false;
      more = !text.empty();
    } else if (!take(text, ":")) {
      return false;
    }
  }
  return gap ? groups <= most : groups == 8;
}

// RFC 1123, section 2.1. `beyond_ascii`: with any characters beyond ASCII.
bool has_labels(Text text, bool beyond_ascii) {
  const auto inside = [&](char c) { return is_alphanumeric(c) || (beyond_ascii && is_beyond_ascii(c)); };
  while (true) {
    const Text label = take_until(text, ".");
    if (label.empty() || utf8::length(label) > 63 || !inside(label.front()) || !inside(label.back())) return false;
    if (!all_of(label, [&](char c) { return c == '-' || inside(c); })) return false;
    if (text.empty()) return true;
    text.remove_prefix(1);
  }
}

// RFC 5321, section 4.1.2, and for `beyond_ascii` RFC 6531, section 3.3.
bool is_email(Text text, bool beyond_ascii) {
  const auto beyond = [&](char c) { return beyond_ascii && is_beyond_ascii(c); };
  if (take(text, "\"")) {
    while (!take(text, "\"")) {
      const bool quoted = take(text, "\\");
      if (text.empty()) return false;
      if (!(text[0] >= ' ' && text[0] <= '~') && (quoted || !beyond(text[0]))) return false;
      text.remove_prefix(1);
    }
  } else {
    do {
      const auto is_atext = [&](char c) {
        return is_alphanumeric(c) || Text("!#$%&'*+-/=?^_`{|}~").find(c) != Text::npos || beyond(c);
      };
      if (take_while(text, is_atext).empty()) return false;
    } while (take(text, "."));
  }
  if (!take(text, "@")) return false;
  if (!take(text, "[")) return has_labels(text, beyond_ascii);
  if (!text.ends_with(']')) return false;
  text.remove_suffix(1);
  constexpr Text kTag = "ipv6:";
  const bool is_tagged =
      std::ranges::equal(text.substr(0, 5), kTag, [](char a, char b) { return (is_letter(a) ? a | 32 : a) == b; });
  return is_tagged ? is_ipv6(text.substr(5), 6) : is_ipv4(text);
}

// RFC 3987, section 2.2.
bool is_ucschar(char32_t c) {
  if (c < 0x10000) return (c >= 0xA0 && c <= 0xD7FF) || (c >= 0xF900 && c <= 0xFDCF) || (c >= 0xFDF0 && c <= 0xFFEF);
  return c < 0xF0000 && (c & 0xFFFF) <= 0xFFFD && !(c >= 0xE0000 && c < 0xE1000);
}
bool is_private(char32_t c) { return (c >= 0xE000 && c <= 0xF8FF) || (c >= 0xF0000 && (c & 0xFFFF) <= 0xFFFD); }

// Escapes %XX, and characters for which is(character) holds.
template <typename Is>
bool all_or_escaped(Text text, Is is) {
  while (!text.empty()) {
    if (take(text, "%")) {
      if (take_while(text, is_hex, 2).size() != 2) return false;
      continue;
    }
    const utf8::Character character = utf8::decode(text, 0);
    if (!is(character.code)) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

constexpr Text kDelimiters = "!$&'()*+,;=";
bool is_unreserved(char c) { return is_alphanumeric(c) || Text("-._~").find(c) != Text::npos; }

// RFC 3986, appendix A; as an IRI RFC 3987.
class UriCheck {
 public:
  explicit UriCheck(bool iri) : iri_(iri) {}

  bool is_uri(Text text) const {
    const Text scheme = take_until(text, ":/?#");
    const auto in_scheme = [](char c) { return is_alphanumeric(c) || c == '+' || c == '-' || c == '.'; };
    return !scheme.empty() && is_letter(scheme[0]) && all_of(scheme, in_scheme) && take(text, ":") && is_relative(text);
  }

  bool is_reference(Text text) const {
    Text rest = text;
    take_until(rest, ":/?#");
    return rest.starts_with(':') ? is_uri(text) : is_relative(text);  // a colon in the first segment ends a scheme
  }

 private:
  // All after the scheme.
  bool is_relative(Text text) const {
    Text query = take_until(text, "#");
    Text path = take_until(query, "?");
    if (take(path, "//") && !is_authority(take_until(path, "/"))) return false;
    return has(path, ":@/") && has(query, ":@/?", true) && (text.empty() || has(text.substr(1), ":@/?"));
  }

  bool is_authority(Text text) const {
    if (const std::size_t at = text.find('@'); at != Text::npos) {
      if (!has(text.substr(0, at), ":")) return false;
      text.remove_prefix(at + 1);
    }
    if (take(text, "[")) {
      if (!is_ip_literal(take_until(text, "]")) || !take(text, "]")) return false;
    } else if (!has(take_until(text, ":"), "")) {
      return false;
    }
    return text.empty() || (take(text, ":") && all_of(text, is_digit));
  }

  static bool is_ip_literal(Text text) {
    if (!take(text, "v") && !take(text, "V")) return is_ipv6(text);
    const auto character = [](char c) { return is_unreserved(c) || c == ':' || kDelimiters.find(c) != Text::npos; };
    return !take_while(text, is_hex).empty() && take(text, ".") && !text.empty() && all_of(text, character);
  }

  bool has(Text text, Text others, bool query = false) const {
    return all_or_escaped(text, [&](char32_t c) {
      if (c >= 0x80) return iri_ && (is_ucschar(c) || (query && is_private(c)));
      const char ascii = static_cast<char>(c);
      return is_unreserved(ascii) || kDelimiters.find(ascii) != Text::npos || others.find(ascii) != Text::npos;
    });
  }

  bool iri_;
};

// RFC 6570, section 2.
bool is_template_variable(Text text) {
  while (true) {
    const Text name = take_until(text, ".:*");
    const auto is_name = [](char32_t c) { return c < 0x80 && (is_alphanumeric(static_cast<char>(c)) || c == '_'); };
    if (name.empty() || !all_or_escaped(name, is_name)) return false;
    if (!take(text, ".")) break;
  }
  if (!take(text, ":")) return text.empty() || text == "*";
  return !text.empty() && text.size() <= 4 && text[0] != '0' && all_of(text, is_digit);
}

bool is_uri_template(Text text) {
  const auto is_literal = [](char32_t c) {
    if (c >= 0x80) return is_ucschar(c) || is_private(c);
    return c > ' ' && c < 0x7F && Text("\"'<>\\^`{|}").find(static_cast<char>(c)) == Text::npos;
  };
  while (true) {
    if (!all_or_escaped(take_until(text, "{"), is_literal)) return false;
    if (!take(text, "{")) return true;
    if (!text.empty() && Text("+#./;?&=,!@|").find(text[0]) != Text::npos) text.remove_prefix(1);
    Text variables = take_until(text, "}");
    if (!take(text, "}")) return false;
    do {
      if (!is_template_variable(take_until(variables, ","))) return false;
    } while (take(variables, ","));
  }
}

bool is_uuid(Text text) {
  for (const std::size_t digits : std::initializer_list<std::size_t>{8, 4, 4, 4, 12}) {
    if (digits != 8 && !take(text, "-")) return false;
    if (take_while(text, is_hex, digits).size() != digits) return false;
  }
  return text.empty();
}

bool is_json_pointer(Text text) { return pointer_tokens(text).has_value(); }

bool is_relative_json_pointer(Text text) {
  const Text up = take_while(text, is_digit);
  return !up.empty() && (up[0] != '0' || up.size() == 1) && (text == "#" || is_json_pointer(text));
}

}  // namespace

bool has_format(Format format, std::string_view text) {
  switch (format) {
    case Format::date: return take_date(text) && text.empty();
    case Format::time: return take_time(text) && text.empty();
    case Format::date_time: return take_date_time(text) && text.empty();
    case Format::duration: return is_duration(text);
    case Format::email: return is_email(text, false);
    case Format::idn_email: return is_email(text, true);
    case Format::hostname: return text.size() <= 253 && has_labels(text, false);
    case Format::idn_hostname: return true;
    case Format::ipv4: return is_ipv4(text);
    case Format::ipv6: return is_ipv6(text);
    case Format::uri: return UriCheck(false).is_uri(text);
    case Format::uri_reference: return UriCheck(false).is_reference(text);
    case Format::iri: return UriCheck(true).is_uri(text);
    case Format::iri_reference: return UriCheck(true).is_reference(text);
    case Format::uri_template: return is_uri_template(text);
    case Format::uuid: return is_uuid(text);
    case Format::json_pointer: return is_json_pointer(text);
    case Format::relative_json_pointer: return is_relative_json_pointer(text);
    case Format::regex: return is_regex(text);
  }
  return true;
}

}  // namespace rill::schema
