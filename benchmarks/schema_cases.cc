#include "schema_cases.h"

#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "support.h"

namespace rill::benchmarks {
namespace {

// The file's JSON is cut into pieces, not printed anew: that would change its numbers and drop repeated members.
std::string without_white_space(std::string_view json) {
  std::string text;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (!quoted && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) continue;
    text += c;
    if (quoted && c == '\\') text += json[++i];
    if (c == '"') quoted = !quoted;
  }
  return text;
}

// The elements or `"name":value` members of a well-formed array or object without white space.
std::vector<std::string_view> parts(std::string_view container) {
  std::vector<std::string_view> parts;
  std::size_t depth = 0, begin = 1;
  bool quoted = false;
  for (std::size_t i = 0; i < container.size(); ++i) {
    const char c = container[i];
    if (c == '"') quoted = !quoted;
    if (quoted) {
      i += c == '\\';
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (i + 1 < container.size() ? depth != 1 || c != ',' : i == begin) continue;
    parts.push_back(container.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

std::string_view member(std::string_view object, const std::string& name) {
  const std::string begin = '"' + name + "\":";
  for (const std::string_view part : parts(object)) {
    if (part.starts_with(begin)) return part.substr(begin.size());
  }
  throw std::invalid_argument("\"" + name + "\" is missing");
}

Case read_case(const std::string& line) {
  if (!Json::accept(line)) throw std::invalid_argument("not JSON");
  const std::string text = without_white_space(line);
  Case result{Json::parse(member(text, "id")).get<std::string>(), std::string(member(text, "schema")), {}};
  for (const std::string_view test : parts(member(text, "tests"))) {
    result.instances.push_back({std::string(member(test, "data")), member(test, "valid") == "true"});
  }
  return result;
}

}  // namespace

std::vector<Case> read_cases(const std::string& path, const std::string& only) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be read");
  std::vector<Case> cases;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    try {
      Case next = read_case(line);
      if (only.empty() || next.id == only) cases.push_back(std::move(next));
    } catch (const std::exception& error) {
      throw std::runtime_error(path + ", line " + std::to_string(number) + ": " + error.what());
    }
  }
  if (cases.empty()) throw std::runtime_error(path + " has no such schema");
  return cases;
}

}  // namespace rill::benchmarks
