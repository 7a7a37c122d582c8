// What a grammar says about itself and about a text: what of it cannot be enforced and why, and the byte at which a text
// leaves it, with what could stand there instead. By the file's name it is GBNF, a JSON Schema or a regular expression.
//
//   grammar_check FILE.gbnf|FILE.json|FILE.regex [TEXT-FILE] [--any-order] [--lenient]
#include <rill/rill.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

struct Options {
  std::vector<std::string> files;
  bool any_order = false, lenient = false;
};

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

rill::Result<rill::Grammar> compile(const std::string& path, const Options& options) {
  std::string text = read(path);
  if (path.ends_with(".gbnf")) return rill::Grammar::gbnf(text);
  if (path.ends_with(".json")) {
    const auto order = options.any_order ? rill::PropertyOrder::any : rill::PropertyOrder::declared;
    return rill::Grammar::json_schema(text, {.property_order = order, .lenient = options.lenient});
  }
  if (path.ends_with(".regex")) {
    while (text.ends_with('\n')) text.pop_back();
    return rill::Grammar::regex(text);
  }
  throw std::runtime_error(path + ": a grammar's name ends in .gbnf, .json or .regex");
}

std::string shown(unsigned char byte) {
  if (byte > ' ' && byte < 0x7F) return std::string(1, static_cast<char>(byte));
  char text[8];
  std::snprintf(text, sizeof text, "\\x%02X", byte);
  return text;
}

// The bytes that may follow `text`, neighbours as ranges.
std::string next_bytes(const rill::Grammar& grammar, std::string text) {
  text.push_back('\0');
  bool may_follow[257] = {};  // the last is none, and ends every range
  for (int byte = 0; byte < 256; ++byte) {
    text.back() = static_cast<char>(byte);
    may_follow[byte] = grammar.match(text).value().matching_bytes == text.size();
  }
  std::string list;
  for (int byte = 0; byte < 256; ++byte) {
    if (!may_follow[byte]) continue;
    const int first = byte;
    while (may_follow[byte + 1]) ++byte;
    list += ' ' + shown(static_cast<unsigned char>(first));
    if (byte > first) list += (byte > first + 1 ? ".." : " ") + shown(static_cast<unsigned char>(byte));
  }
  return list.empty() ? " nothing" : list;
}

int check(const rill::Grammar& grammar, const std::string& text) {
  const auto match = grammar.match(text).value();
  if (match.matches) {
    std::cout << "the text matches\n";
    return 0;
  }
  const std::string good = text.substr(0, match.matching_bytes);
  const auto line_begin = good.rfind('\n') + 1;  // npos + 1 is 0
  const auto line = 1 + std::count(good.begin(), good.end(), '\n');
  std::cout << "byte " << good.size() << " (line " << line << ", column " << good.size() - line_begin + 1
            << "): " << (good.size() == text.size() ? "the text ends too early" : "the text leaves the grammar") << '\n'
            << "  " << good.substr(line_begin) << " <<here>> "
            << text.substr(good.size(), text.find('\n', good.size()) - good.size()) << '\n'
            << "could follow:" << next_bytes(grammar, good) << (grammar.match(good).value().matches ? ", or the end" : "")
            << '\n';
  return 1;
}

int run(const Options& options) {
  const auto grammar = compile(options.files[0], options);
  if (!grammar) {
    std::cout << "refused: " << grammar.error().message << '\n';
    return 1;
  }
  std::cout << "compiled; could begin with:" << next_bytes(*grammar, "") << '\n';
  for (const auto& note : grammar->notes()) {
    std::cout << (note.annotation ? "annotation " : "NOT ENFORCED ") << note.pointer << ": " << note.reason << '\n';
  }
  return options.files.size() == 2 ? check(*grammar, read(options.files[1])) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--any-order") options.any_order = true;
    else if (word == "--lenient") options.lenient = true;
    else options.files.push_back(word);
  }
  if (options.files.empty() || options.files.size() > 2) {
    std::cerr << "usage: grammar_check FILE.gbnf|FILE.json|FILE.regex [TEXT-FILE] [--any-order] [--lenient]\n";
    return 2;
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
