#include "schema/formats.h"

namespace rill::schema {
namespace {

std::string group(const std::string& choices) { return "(?:" + choices + ")"; }

// RFC 3339.
std::string date() {
  const std::string month31 = group("0[13578]|1[02]") + "-" + group("0[1-9]|[12][0-9]|3[01]");
  const std::string month30 = group("0[469]|11") + "-" + group("0[1-9]|[12][0-9]|30");
  const std::string february = "02-" + group("0[1-9]|1[0-9]|2[0-8]");
  const std::string leap_year =
      group("[0-9]{2}" + group("0[48]|[2468][048]|[13579][26]") + "|" + group("[02468][048]|[13579][26]") + "00");
  return group("[0-9]{4}-" + group(month31 + "|" + month30 + "|" + february) + "|" + leap_year + "-02-29");
}

// A leap second only at UTC: at the end of its day by other offsets it would take an expression of a thousand
// alternatives.
std::string time() {
  const std::string hour = group("[01][0-9]|2[0-3]"), fraction = "(?:\\.[0-9]+)?";
  const std::string usual = hour + ":[0-5][0-9]:[0-5][0-9]" + fraction + group("[Zz]|[+-]" + hour + ":[0-5][0-9]");
  const std::string leap_second = "23:59:60" + fraction + group("[Zz]|[+-]00:00");
  return group(usual + "|" + leap_second);
}

// RFC 3339, appendix A.
std::string duration() {
  const std::string minutes = "[0-9]+M(?:[0-9]+S)?";
  const std::string in_day = std::string("T") + group("[0-9]+H" + group(minutes) + "?|" + minutes + "|[0-9]+S");
  const std::string months = "[0-9]+M(?:[0-9]+D)?";
  const std::string days = group("[0-9]+Y" + group(months) + "?|" + months + "|[0-9]+D");
  return std::string("P") + group("[0-9]+W|" + days + group(in_day) + "?|" + in_day);
}

const char* const kOctet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";

std::string ipv4() { return std::string(kOctet) + "(?:\\." + kOctet + "){3}"; }

// RFC 4291, section 2.2, without zone. `most`: words beside a "::", which stands for at least one, or for two in RFC
// 5321.
std::string ipv6(int most = 7) {
  const std::string word = "[0-9A-Fa-f]{1,4}", last = group(word + ":" + word + "|" + ipv4());
  const auto words = [&](int fewest, int highest) {
    return group(word + ":") + "{" + std::to_string(fewest) + "," + std::to_string(highest) + "}";
  };
  std::string choices = words(6, 6) + last + "|::" + words(0, most - 2) + last;
  for (int before = 1; before + 2 <= most; ++before) {
    choices +=
        "|" + word + "(?::" + word + "){" + std::to_string(before - 1) + "}::" + words(0, most - 2 - before) + last;
  }
  choices += "|::" + group(word) + "?";  // at most one word behind it
  for (int before = 1; before <= most; ++before) {
    choices += "|" + word + "(?::" + word + "){" + std::to_string(before - 1) +
               "}::" + (before < most ? group(word) + "?" : "");
  }
  return group(choices);
}

std::string hostname() {
  const std::string label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  return label + "(?:\\." + label + ")*";
}

// RFC 5321; `more`: characters beyond ASCII (RFC 6531).
std::string email(const std::string& more) {
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~" + more + "-]+";
  const std::string quoted = "\"(?:[ !#-\\[\\]-~" + more + "]|\\\\[ -~])*\"";
  const std::string letter = "[A-Za-z0-9" + more + "]";
  const std::string label = letter + "(?:[A-Za-z0-9" + more + "-]{0,61}" + letter + ")?";
  const std::string domain = label + "(?:\\." + label + ")*|\\[(?:" + ipv4() + "|[Ii][Pp][Vv]6:" + ipv6(6) + ")\\]";
  return group(atom + "(?:\\." + atom + ")*|" + quoted) + "@" + group(domain);
}

// RFC 3987, section 2.2: ucschar and iprivate.
std::string iri_characters() {
  std::string ranges = "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF";
  for (const char plane : std::string_view("123456789ABCD"))
    ranges += std::string("\\u{") + plane + "0000}-\\u{" + plane + "FFFD}";
  return ranges + "\\u{E1000}-\\u{EFFFD}";
}
const char* const kPrivateCharacters = "\\uE000-\\uF8FF\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}";

// RFC 3986, appendix A; as an IRI RFC 3987.
std::string uri(bool iri, bool relative) {
  const std::string escape = "%[0-9A-Fa-f]{2}", unreserved = "A-Za-z0-9._~", delimiters = "!$&'()*+,;=";
  const std::string more = iri ? iri_characters() : "";
  const auto any_of = [&](const std::string& others) {
    return group("[" + unreserved + more + delimiters + others + "-]|" + escape);
  };
  const std::string character = any_of(":@"), segment = character + "*";
  const std::string literal = "\\[(?:" + ipv6() + "|[vV][0-9A-Fa-f]+\\.[" + unreserved + delimiters + ":-]+)\\]";
  const std::string authority = "(?:" + any_of(":") + "*@)?(?:" + literal + "|" + any_of("") + "*)(?::[0-9]*)?";
  const std::string rest = "(?:/" + segment + ")*", absolute = "/(?:" + character + "+" + rest + ")?";
  const std::string with_authority = "//" + authority + rest;
  const std::string query = any_of(std::string(":@/?") + (iri ? kPrivateCharacters : ""));
  const std::string end = "(?:\\?" + query + "*)?(?:#" + any_of(":@/?") + "*)?";
  const std::string rootless = character + "+" + rest, without_colon = any_of("@") + "+" + rest;
  const std::string whole =
      "[A-Za-z][A-Za-z0-9+.-]*:" + group(with_authority + "|" + absolute + "|" + rootless + "|") + end;
  if (!relative) return whole;
  return group(whole + "|" + group(with_authority + "|" + absolute + "|" + without_colon + "|") + end);
}

// RFC 6570.
std::string uri_template() {
  const std::string escape = "%[0-9A-Fa-f]{2}";
  const std::string character = group("[A-Za-z0-9_]|" + escape), name = character + "(?:\\.?" + character + ")*";
  const std::string variable = name + "(?::[1-9][0-9]{0,3}|\\*)?";
  const std::string literal = "[!#$&(-;=?-\\[\\]_a-z~" + iri_characters() + kPrivateCharacters + "]|" + escape;
  return group(literal + "|\\{[+#./;?&=,!@|]?" + variable + "(?:," + variable + ")*\\}") + "*";
}

const char* const kBeyondAscii = "\\u0080-\\u{10FFFF}";
const char* const kJsonPointer = "(?:/(?:[^~/]|~[01])*)*";

}  // namespace

std::optional<FormatPattern> pattern_of(Format format) {
  switch (format) {
    case Format::date: return FormatPattern{date(), {}};
    case Format::time: return FormatPattern{time(), {}};
    case Format::date_time: return FormatPattern{date() + "[Tt]" + time(), {}};
    case Format::duration: return FormatPattern{duration(), {}};
    case Format::email: return FormatPattern{email(""), {}};
    case Format::idn_email: return FormatPattern{email(kBeyondAscii), {}};
    case Format::hostname: return FormatPattern{hostname(), 253};
    case Format::ipv4: return FormatPattern{ipv4(), {}};
    case Format::ipv6: return FormatPattern{ipv6(), {}};
    case Format::uri: return FormatPattern{uri(false, false), {}};
    case Format::uri_reference: return FormatPattern{uri(false, true), {}};
    case Format::iri: return FormatPattern{uri(true, false), {}};
    case Format::iri_reference: return FormatPattern{uri(true, true), {}};
    case Format::uri_template: return FormatPattern{uri_template(), {}};
    case Format::uuid: return FormatPattern{"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", {}};
    case Format::json_pointer: return FormatPattern{kJsonPointer, {}};
    case Format::relative_json_pointer:
      return FormatPattern{std::string("(?:0|[1-9][0-9]*)(?:#|") + kJsonPointer + ")", {}};
    case Format::idn_hostname:
    case Format::regex: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace rill::schema
