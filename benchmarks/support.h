// What the benchmarks share: the command line, medians, JSON files, and text to feed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "rill/session.h"

namespace rill::benchmarks {

using Json = nlohmann::ordered_json;

// PROGRAM [word...] [--name value...]. Throws, with the usage, what is not in `options`, which hold the defaults.
class Arguments {
 public:
  Arguments(int argc, char** argv, std::string usage, std::map<std::string, std::string> options);

  std::string word(std::size_t index) const;  // throws if there are fewer
  std::size_t words() const { return words_.size(); }
  const std::string& text(const std::string& name) const { return options_.at(name); }
  std::size_t number(const std::string& name) const;
  std::vector<std::size_t> numbers(const std::string& name) const;  // separated by commas

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  std::size_t parse(const std::string& name, const std::string& digits) const;

  std::string usage_;
  std::vector<std::string> words_;
  std::map<std::string, std::string> options_;
};

// The body of a main: prints what `run` throws, and returns the exit code.
template <typename Run>
int guarded_main(Run run) {
  try {
    run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

double median(std::vector<double> values);

struct Spread {
  double median, least, most;
};
Spread spread(const std::vector<double>& values);

// Nothing where `path` is empty, which is what --json is by default.
void write_json(const std::string& path, const Json& json);

// The same ids for every engine: any that all of them take are good.
Token token_at(std::size_t index);
std::vector<Token> tokens(std::size_t count);

// "f32", "f16" or "q8_0".
KvType kv_type(std::string_view name);

// Bytes that decoding one token reads: all matrices but an embedding that is not the head too, and the keys and values
// of `context` tokens.
double decode_bytes(const Model& model, std::size_t context, KvType type);

}  // namespace rill::benchmarks
