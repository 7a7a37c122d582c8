// The files of the JSON-Schema-Test-Suite.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "schema/json_document.h"
#include "support/real_models.h"

namespace rill::test {

inline const std::filesystem::path kSuite = std::filesystem::path(RILL_MODEL_DIR) / "json-schema-test-suite";

inline std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\', result += c;
    } else if (byte < 0x20) {
      constexpr std::string_view kHex = "0123456789abcdef";
      result += "\\u00", result += kHex[byte / 16], result += kHex[byte % 16];
    } else {
      result += c;
    }
  }
  return result + '"';
}

inline std::string compact(schema::JsonView value) {  // the suite's own nesting is shallow
  std::string text;
  switch (value.kind()) {
    case schema::JsonKind::null: return "null";
    case schema::JsonKind::boolean: return value.truth() ? "true" : "false";
    case schema::JsonKind::number: return std::string(value.text());
    case schema::JsonKind::string: return quoted(value.text());
    case schema::JsonKind::array:
      for (std::size_t i = 0; i < value.size(); ++i) text += (i > 0 ? "," : "") + compact(value[i]);
      return "[" + text + "]";
    case schema::JsonKind::object:
      for (std::size_t i = 0; i < value.size(); ++i) {
        text += (i > 0 ? "," : "") + quoted(value[i].name()) + ":" + compact(value[i]);
      }
      return "{" + text + "}";
  }
  return text;
}

inline std::map<std::string, std::string> remotes() {
  std::map<std::string, std::string> documents;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kSuite / "remotes")) {
    if (entry.path().extension() != ".json") continue;
    documents["http://localhost:1234/" + std::filesystem::relative(entry.path(), kSuite / "remotes").generic_string()] =
        text_of(entry.path());
  }
  return documents;
}

}  // namespace rill::test
