#include "schema/uri.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/ascii.h"

namespace rill::schema {
namespace {

struct Uri {
  std::string_view scheme, authority, path, query;  // each with its delimiter: "http:", "//host", "/path", "?query"
};

Uri parts_of(std::string_view uri) {
  Uri parts;
  const std::size_t end = uri.find_first_of(":/?");
  if (end != std::string_view::npos && uri[end] == ':') {
    parts.scheme = uri.substr(0, end + 1);
    uri.remove_prefix(end + 1);
  }
  if (uri.starts_with("//")) {
    parts.authority = uri.substr(0, std::min(uri.find_first_of("/?", 2), uri.size()));
    uri.remove_prefix(parts.authority.size());
  }
  const std::size_t query = std::min(uri.find('?'), uri.size());
  parts.path = uri.substr(0, query);
  parts.query = uri.substr(query);
  return parts;
}

std::string without_dots(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, end);
    const bool last = end == path.size();
    if (segment == "/..") {
      result.erase(std::min(result.rfind('/'), result.size()));
      if (last) result += '/';
    } else if (segment == "/.") {
      if (last) result += '/';
    } else {
      result += segment;
    }
    path.remove_prefix(end);
  }
  return result;
}

}  // namespace

std::pair<std::string_view, std::string_view> split_fragment(std::string_view uri) {
  const std::size_t hash = std::min(uri.find('#'), uri.size());
  return {uri.substr(0, hash), uri.substr(std::min(hash + 1, uri.size()))};
}

std::string resolve_uri(std::string_view base, std::string_view reference) {
  const auto [target, fragment] = split_fragment(reference);
  const std::string suffix = reference.size() > target.size() ? '#' + std::string(fragment) : std::string();
  base = split_fragment(base).first;
  if (target.empty()) return std::string(base) + suffix;
  const Uri from = parts_of(base), to = parts_of(target);
  if (!to.scheme.empty()) return std::string(target) + suffix;
  std::string result(from.scheme);
  if (!to.authority.empty()) return result + std::string(target) + suffix;
  result += from.authority;
  if (to.path.starts_with('/')) {
    result += without_dots(to.path);
  } else if (to.path.empty()) {
    result += from.path;
  } else {
    const std::size_t slash = from.path.rfind('/');
    std::string merged(slash == std::string_view::npos ? "" : from.path.substr(0, slash + 1));
    if (merged.empty() && !from.authority.empty()) merged += '/';
    result += without_dots(merged + std::string(to.path));
  }
  return result + std::string(to.query) + suffix;
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size();
    const int high = escape ? ascii::hex_digit(text[i + 1]) : -1, low = escape ? ascii::hex_digit(text[i + 2]) : -1;
    const bool is_byte = high >= 0 && low >= 0;
    result += is_byte ? static_cast<char>(high * 16 + low) : text[i];
    if (is_byte) i += 2;
  }
  return result;
}

std::string pointer_token(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

std::optional<std::vector<std::string>> pointer_tokens(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (!pointer.empty() && pointer[0] != '/') return std::nullopt;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      tokens.emplace_back();
    } else if (pointer[i] != '~') {
      tokens.back() += pointer[i];
    } else if (++i < pointer.size() && (pointer[i] == '0' || pointer[i] == '1')) {
      tokens.back() += pointer[i] == '1' ? '/' : '~';
    } else {
      return std::nullopt;
    }
  }
  return tokens;
}

std::optional<std::size_t> array_index(std::string_view name) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return whole && (name[0] != '0' || name.size() == 1) ? std::optional(index) : std::nullopt;
}

}  // namespace rill::schema
