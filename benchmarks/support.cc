#include "support.h"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "model/loaded_model.h"

namespace rill::benchmarks {

Arguments::Arguments(int argc, char** argv, std::string usage, std::map<std::string, std::string> options)
    : usage_(std::move(usage)), options_(std::move(options)) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      words_.push_back(word);
      continue;
    }
    const auto option = options_.find(word.substr(2));
    if (option == options_.end()) refuse("unknown option " + word);
    if (i + 1 == argc) refuse(word + " wants a value");
    option->second = argv[++i];
  }
}

void Arguments::refuse(const std::string& why) const { throw std::invalid_argument(why + "\nusage: " + usage_); }

std::string Arguments::word(std::size_t index) const {
  if (index >= words_.size()) refuse("too few arguments");
  return words_[index];
}

std::size_t Arguments::parse(const std::string& name, const std::string& digits) const {
  if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos) {
    refuse("--" + name + " " + digits + ": not a number");
  }
  return std::stoul(digits);
}

std::size_t Arguments::number(const std::string& name) const { return parse(name, text(name)); }

std::vector<std::size_t> Arguments::numbers(const std::string& name) const {
  std::vector<std::size_t> numbers;
  std::istringstream list(text(name));
  for (std::string digits; std::getline(list, digits, ',');) numbers.push_back(parse(name, digits));
  if (numbers.empty()) refuse("--" + name + " is empty");
  return numbers;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values.at((values.size() - 1) / 2) + values[values.size() / 2]) / 2;
}

Spread spread(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {median(values), *least, *most};
}

void write_json(const std::string& path, const Json& json) {
  if (path.empty()) return;
  std::ofstream file(path);
  file << json.dump(1) << '\n';
  if (!file.flush()) throw std::runtime_error(path + " could not be written");
}

Token token_at(std::size_t index) { return static_cast<Token>(100 + index % 1000); }

std::vector<Token> tokens(std::size_t count) {
  std::vector<Token> ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = token_at(i);
  return ids;
}

KvType kv_type(std::string_view name) {
  if (name == "f32") return KvType::f32;
  if (name == "f16") return KvType::f16;
  if (name == "q8_0") return KvType::q8_0;
  throw std::invalid_argument("the KV type is f32, f16 or q8_0");
}

double decode_bytes(const Model& model, std::size_t context, KvType type) {
  const model::Weights& weights = model.loaded().weights;
  const PackedMatrix& embedding = weights.embedding;
  const bool tied = embedding.data == weights.head.data;
  const std::uint64_t unread = tied ? 0 : embedding.groups() * embedding.group_bytes;
  const ModelInfo& info = model.info();
  const std::uint64_t seen = info.sliding_layers == 0 ? context : std::min<std::uint64_t>(context, info.sliding_window);
  const std::uint64_t positions = (info.layers - info.sliding_layers) * context + info.sliding_layers * seen;
  return static_cast<double>(info.weight_bytes - unread + positions * kv_bytes_per_token(1, model.kv_shape(), type));
}

}  // namespace rill::benchmarks
