// Does this machine give the same bits for this model, however the work is done? And the same as another machine?
//
//   verify MODEL.gguf [--kv f32|f16|q8_0] [--activations fast|accurate] [--prompt TOKENS]
//                     [--output FILE] [--against FILE]
//
// Computes the logits of a short sequence again and again: on other threads and SIMD targets, with the prompt cut, in
// batches, with some rows of the head, after truncation and forks. Prints a digest for each step, and where a way gives
// other bits. --output writes the digests down, --against compares with what another machine wrote. docs/numerics.md
// says what is promised.
//
// Exit code: 0 the same everywhere, 1 something differs, 2 nothing could be compared (arguments, model or record).
#include <rill/rill.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t kSteps = 8;  // logits after the prompt, and after each token that follows

struct Options {
  std::string model;
  rill::KvType kv_type = rill::KvType::f16;
  rill::Activations activations = rill::Activations::fast;
  std::size_t prompt = 48;  // tokens
  std::string output;
  std::string against;
};

constexpr std::pair<std::string_view, rill::KvType> kKvTypes[] = {
    {"f32", rill::KvType::f32}, {"f16", rill::KvType::f16}, {"q8_0", rill::KvType::q8_0}};
constexpr std::pair<std::string_view, rill::Activations> kActivations[] = {{"fast", rill::Activations::fast},
                                                                           {"accurate", rill::Activations::accurate}};

// All that the logits depend on: where these are equal, they have the same bits.
constexpr const char* kIdentity[] = {"numerics_version", "numerics_class", "model", "activations", "kv", "prompt"};

// What one machine computed.
struct Record {
  std::string machine;  // for people
  std::array<std::string, std::size(kIdentity)> identity;
  std::vector<std::string> steps;  // "TOKEN DIGEST": the likeliest token, and of all logits
};

// As a file: "NAME VALUE" in each line, in this order.
void write(const Record& record, std::ostream& out) {
  out << "rill_bits 1\nmachine " << record.machine << '\n';
  for (std::size_t i = 0; i < std::size(kIdentity); ++i) out << kIdentity[i] << ' ' << record.identity[i] << '\n';
  for (const std::string& step : record.steps) out << "step " << step << '\n';
}

// Whoever wrote the file, what is returned has the form of a record and can be printed.
Record read_record(const std::string& path) {
  constexpr std::size_t kLongest = 4096;  // bytes
  std::ifstream file(path, std::ios::binary);
  std::string text(kLongest + 1, '\0');
  text.resize(static_cast<std::size_t>(file.read(text.data(), kLongest + 1).gcount()));
  if (text.empty()) throw std::runtime_error(path + " cannot be read or is empty");
  if (text.size() > kLongest) throw std::runtime_error(path + " is longer than any record");

  std::istringstream lines(text);
  std::size_t number = 0;
  const auto expected = [&](const std::string& what) {
    return std::runtime_error(path + ", line " + std::to_string(number) + ": expected " + what);
  };
  const auto take = [&](const std::string& name) {
    std::string line;
    ++number;
    std::getline(lines, line);
    if (line.ends_with('\r')) line.pop_back();
    const bool printable = std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (!printable || !line.starts_with(name + ' ')) throw expected('"' + name + "\" and its value");
    return line.substr(name.size() + 1);
  };
  if (take("rill_bits") != "1") throw expected("version 1 of the format");
  Record record;
  record.machine = take("machine");
  for (std::size_t i = 0; i < std::size(kIdentity); ++i) record.identity[i] = take(kIdentity[i]);
  for (std::size_t i = 0; i < kSteps; ++i) {
    constexpr const char* kDigits = "0123456789abcdef";
    const std::string& step = record.steps.emplace_back(take("step"));
    const std::size_t space = step.find(' ');
    const bool good = space != 0 && space + 17 == step.size() && step.find_first_not_of(kDigits) == space &&
                      step.find_first_not_of(kDigits, space + 1) == std::string::npos;
    if (!good) throw expected("a token and a digest of 16 digits");
  }
  ++number;
  if (lines.peek() != std::istringstream::traits_type::eof()) throw expected("the end");
  return record;
}

enum class History { straight, truncated, child_of_fork, parent_of_fork };

// One way to the same logits: by default all at once and alone.
struct Way {
  std::string name;
  std::size_t piece = 0;  // tokens of the prompt fed at a time; 0: all
  std::size_t batch = 1;  // sequences fed together
  bool some_rows = false;
  History history = History::straight;
};

// Any ids serve, and these do not depend on the tokenizer.
std::vector<rill::Token> make_tokens(std::size_t vocabulary, std::size_t count, std::uint64_t seed) {
  std::vector<rill::Token> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    tokens.push_back(static_cast<rill::Token>((seed >> 33) % vocabulary));
  }
  return tokens;
}

// The sequence, fed in one of the ways.
class Run {
 public:
  // Sees the logits of each step and returns the token that follows.
  using Look = std::function<rill::Token(const rill::Logits& logits)>;

  Run(std::shared_ptr<const rill::Model> model, const Options& options, Way way)
      : model_(std::move(model)),
        kv_type_(options.kv_type),
        way_(std::move(way)),
        prompt_(tokens(options.prompt, 1)),
        mine_(start()) {
    for (std::size_t i = 1; i < way_.batch; ++i) others_.push_back(start());
  }

  void go(const Look& look) {
    feed_prompt();
    change_history();
    for (std::size_t step = 0; step < kSteps; ++step) {
      const rill::Token token = look(mine_.logits());
      if (step + 1 < kSteps) feed({&token, 1});
    }
  }

 private:
  std::vector<rill::Token> tokens(std::size_t count, std::uint64_t seed) const {
    return make_tokens(model_->info().vocabulary_size, count, seed);
  }
  rill::Session start() const { return rill::Session::create(model_, {.kv_type = kv_type_}).value(); }

  void feed_prompt() {
    while (mine_.length() < prompt_.size()) {
      const auto rest = std::span<const rill::Token>(prompt_).subspan(mine_.length());
      feed(rest.first(way_.piece == 0 ? rest.size() : std::min(way_.piece, rest.size())));
    }
  }

  // Each of the others brings a prompt of its own length first, and then a token at a time.
  void feed(std::span<const rill::Token> part) {
    std::vector<std::vector<rill::Token>> parts;
    for (const rill::Session& other : others_) {
      const std::size_t i = parts.size();
      parts.push_back(tokens(other.length() == 0 ? 2 + 5 * i : 1, 100 + i));
    }
    std::vector<rill::FeedItem> items = {{&mine_, part}};
    for (std::size_t i = 0; i < others_.size(); ++i) items.push_back({&others_[i], parts[i]});
    std::swap(items.front(), items[items.size() / 2]);
    rill::feed_batch(items).value();
  }

  // The same tokens in the end, but on pages that were given back, or that another session holds as well.
  void change_history() {
    const std::vector<rill::Token> foreign = tokens(5, 99);
    if (way_.history == History::truncated) {
      mine_.feed(foreign).value();
      mine_.truncate(prompt_.size() / 2, {.refill = true}).value();
      feed_prompt();
    } else if (way_.history != History::straight) {
      forked_ = mine_.fork().value();
      if (way_.history == History::child_of_fork) std::swap(mine_, *forked_);
      forked_->feed(foreign).value();
    }
  }

  std::shared_ptr<const rill::Model> model_;
  rill::KvType kv_type_;
  Way way_;
  std::vector<rill::Token> prompt_;
  rill::Session mine_;
  std::vector<rill::Session> others_;
  std::optional<rill::Session> forked_;
};

class Verifier {
 public:
  explicit Verifier(const Options& options) : options_(options) {}

  // The plain way, with which all others are compared.
  void begin() {
    const auto model = load(1, "").value();
    const rill::ModelInfo& info = model->info();
    if (options_.prompt > info.context_length || info.context_length - options_.prompt < kSteps) {
      throw std::runtime_error("the prompt does not fit the model's context of " + std::to_string(info.context_length));
    }
    record_.machine = std::string("rill ") + rill::version() + ", target " + info.target;
    record_.identity = {std::to_string(info.numerics_version),
                        info.numerics_class,
                        model->digest(),
                        std::string(kActivations[static_cast<std::size_t>(options_.activations)].first),
                        std::string(kKvTypes[static_cast<std::size_t>(options_.kv_type)].first),
                        std::to_string(options_.prompt)};
    Run(model, options_, {}).go([&](const rill::Logits& logits) {
      const std::vector<float>& all = plain_.emplace_back(logits.all().value());
      const auto likeliest = std::max_element(all.begin(), all.end()) - all.begin();
      record_.steps.push_back(std::to_string(likeliest) + ' ' + digest(all));
      tokens_.push_back(static_cast<rill::Token>(likeliest));
      return tokens_.back();
    });
    std::cout << options_.model << ": " << info.architecture << ", " << info.file_type << '\n';
    write(record_, std::cout);
  }

  void on_other_threads() {
    for (const int threads : {2, 3}) compare(load(threads, "").value(), {.name = std::to_string(threads) + " threads"});
  }

  void on_other_targets() {
    for (const char* target :
         {"avx512_vnni", "avx512", "avx_vnni", "avx2", "sse4", "neon_i8mm", "neon_dotprod", "neon", "scalar"}) {
      const auto model = load(0, target);
      if (!model) {
        report("not run", model.error().message);
      } else if ((*model)->info().numerics_class != record_.identity[1]) {
        report("not run", std::string("target ") + target + " has other bits, those of the class " +
                              (*model)->info().numerics_class);
      } else {
        compare(*model, {.name = std::string("target ") + target});
      }
    }
  }

  void in_other_ways() {
    const auto model = load(0, "").value();
    for (const std::size_t piece : {1, 7, 16}) {
      compare(model, {.name = "prompt in pieces of " + std::to_string(piece), .piece = piece});
    }
    for (const std::size_t batch : {2, 5, 8}) {
      compare(model, {.name = "batch of " + std::to_string(batch), .batch = batch});
    }
    compare(model, {.name = "some rows of the head", .some_rows = true});
    compare(model, {.name = "truncated and fed again", .history = History::truncated});
    compare(model, {.name = "child of a fork", .history = History::child_of_fork});
    compare(model, {.name = "parent of a fork", .history = History::parent_of_fork});
    compare(model, {.name = "all of these together",
                    .piece = 7,
                    .batch = 5,
                    .some_rows = true,
                    .history = History::parent_of_fork});
  }

  void against(const Record& other) {
    const std::string name = options_.against + " (" + other.machine + ")";
    for (std::size_t i = 0; i < std::size(kIdentity); ++i) {
      if (other.identity[i] == record_.identity[i]) continue;
      return verdict(name + ": " + kIdentity[i] + " is " + other.identity[i] + " there", false);
    }
    const auto step = static_cast<std::size_t>(
        std::mismatch(record_.steps.begin(), record_.steps.end(), other.steps.begin()).first - record_.steps.begin());
    verdict(step < kSteps ? name + ": step " + std::to_string(step + 1) + " is " + other.steps[step] + " there" : name,
            step == kSteps);
  }

  int end() const {
    std::cout << compared_ << " comparisons, " << different_ << " different\n";
    return different_ == 0 ? 0 : 1;
  }

  const Record& record() const { return record_; }

 private:
  rill::Result<std::shared_ptr<const rill::Model>> load(int threads, const std::string& target) const {
    return rill::Model::load(options_.model,
                             {.threads = threads, .activations = options_.activations, .target = target});
  }

  // FNV-1a over the floats' bits.
  static std::string digest(std::span<const float> values) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const float value : values) hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3;
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
    return text;
  }

  void compare(std::shared_ptr<const rill::Model> model, Way way) {
    std::vector<rill::Token> ids;
    for (std::size_t id = 0; id < model->info().vocabulary_size; id += way.some_rows ? 1 + id % 97 : 1) {
      ids.push_back(static_cast<rill::Token>(id));
    }
    std::size_t step = 0;
    std::optional<std::size_t> differs;
    Run(std::move(model), options_, way).go([&](const rill::Logits& logits) {
      std::vector<float> expected, actual(ids.size());
      for (const rill::Token id : ids) expected.push_back(plain_[step][static_cast<std::size_t>(id)]);
      (way.some_rows ? logits.rows(ids, actual) : logits.all(actual)).value();
      if (std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(float)) != 0 && !differs) differs = step;
      return tokens_[step++];
    });
    verdict(differs ? way.name + ": step " + std::to_string(*differs + 1) : way.name, !differs);
  }

  void verdict(const std::string& text, bool same) {
    ++compared_;
    different_ += same ? 0 : 1;
    report(same ? "same" : "DIFFERENT", text);
  }
  static void report(const char* verdict, const std::string& text) {
    std::cout << std::left << std::setw(11) << verdict << text << std::endl;
  }

  const Options& options_;
  Record record_;
  std::vector<std::vector<float>> plain_;  // logits of each step
  std::vector<rill::Token> tokens_;        // the likeliest of each
  int compared_ = 0;
  int different_ = 0;
};

template <typename Value, std::size_t size>
bool pick(const std::pair<std::string_view, Value> (&choices)[size], std::string_view name, Value& out) {
  const auto found =
      std::find_if(std::begin(choices), std::end(choices), [&](const auto& choice) { return choice.first == name; });
  if (found != std::end(choices)) out = found->second;
  return found != std::end(choices);
}

bool parse(std::span<char*> arguments, Options& options) {
  if (arguments.empty()) return false;
  options.model = arguments.front();
  for (std::size_t i = 1; i + 1 < arguments.size(); i += 2) {
    const std::string_view name = arguments[i], value = arguments[i + 1];
    bool good = true;
    if (name == "--kv") {
      good = pick(kKvTypes, value, options.kv_type);
    } else if (name == "--activations") {
      good = pick(kActivations, value, options.activations);
    } else if (name == "--prompt") {
      const char* end = value.data() + value.size();
      const auto read = std::from_chars(value.data(), end, options.prompt);
      good = read.ec == std::errc() && read.ptr == end && options.prompt >= 2;
    } else if (name == "--output") {
      options.output = value;
    } else if (name == "--against") {
      options.against = value;
    } else {
      good = false;
    }
    if (!good) return false;
  }
  return arguments.size() % 2 == 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (argc < 2 || !parse({argv + 1, static_cast<std::size_t>(argc) - 1}, options)) {
    std::cerr << "usage: verify MODEL.gguf [--kv f32|f16|q8_0] [--activations fast|accurate] [--prompt TOKENS]\n"
                 "              [--output FILE] [--against FILE]\n";
    return 2;
  }
  try {
    std::optional<Record> other;
    if (!options.against.empty()) other = read_record(options.against);
    Verifier verifier(options);
    verifier.begin();
    if (!options.output.empty()) {
      std::ofstream file(options.output, std::ios::binary);
      write(verifier.record(), file);
      if (!file.flush()) throw std::runtime_error(options.output + " could not be written");
    }
    if (other) verifier.against(*other);
    verifier.in_other_ways();
    verifier.on_other_threads();
    verifier.on_other_targets();
    return verifier.end();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
