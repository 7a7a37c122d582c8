// What a mask costs: each token of a text is asked for and accepted, with a cold cache and with a warm one.
// Usage: grammar_mask MODEL (json | GRAMMAR.gbnf TEXT)...
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>

#include "rill/grammar.h"
#include "rill/model.h"
#include "support.h"

namespace rill::benchmarks {
namespace {

constexpr const char* kJsonText =
    R"({"name": "Ada Lovelace", "born": 1815, "tags": ["mathematics", "poetical science", "engine \"No. 1\""],
 "letters": [{"to": "Babbage", "year": 1843, "pages": 12.5, "sent": true}, {"to": "Faraday", "year": 1844, "lost": null}],
 "notes": "The Analytical Engine weaves algebraic patterns, just as the Jacquard loom weaves flowers and leaves — ça va. 中文"})";

double microseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void report(const char* name, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  double sum = 0;
  for (const double time : times) sum += time;
  const auto at = [&](double part) { return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))]; };
  std::printf("  %-18s mean %8.2f  p50 %8.2f  p99 %8.2f  max %8.2f us, %zu tokens\n", name,
              sum / static_cast<double>(times.size()), at(0.5), at(0.99), times.back(), times.size());
}

std::vector<double> run(const Grammar& grammar, const Tokenizer& tokenizer, const std::vector<Token>& tokens) {
  auto matcher = GrammarMatcher::create(grammar, tokenizer).value();
  TokenSet set(tokenizer.size());
  std::vector<double> times;
  for (const Token token : tokens) {
    set.reset(tokenizer.size());
    const auto before = std::chrono::steady_clock::now();
    matcher.allowed(set).value();
    matcher.accept(token).value();
    times.push_back(microseconds(std::chrono::steady_clock::now() - before));
    if (!set.contains(token)) throw std::runtime_error("a token of the text is masked");
  }
  return times;
}

void measure(const std::string& name, const std::string& text, const Tokenizer& tokenizer,
             const std::function<Result<Grammar>()>& compile) {
  const auto tokens = tokenizer.encode(text, {.add_special = AddSpecial::never}).value();
  std::vector<double> compiles, cold, warm;
  for (int round = 0; round < 5; ++round) {
    const auto before = std::chrono::steady_clock::now();
    const Grammar grammar = compile().value();
    compiles.push_back(microseconds(std::chrono::steady_clock::now() - before));
    const auto first = run(grammar, tokenizer, tokens), second = run(grammar, tokenizer, tokens);
    cold.insert(cold.end(), first.begin(), first.end());
    warm.insert(warm.end(), second.begin(), second.end());
  }
  std::printf("%s: compiled in %.0f us\n", name.c_str(), median(compiles));
  report("mask, new grammar", cold);
  report("mask, once more", warm);
}

void run_all(int argc, char** argv) {
  const Arguments arguments(argc, argv, "grammar_mask MODEL (json | GRAMMAR.gbnf TEXT)...", {});
  const auto model = Model::load(arguments.word(0)).value();
  for (std::size_t i = 1; i < arguments.words(); ++i) {
    const std::string name = arguments.word(i);
    if (name == "json") {
      measure(name, kJsonText, model->tokenizer(), [] { return Grammar::json(); });
      continue;
    }
    const std::string source = read(name), text = read(arguments.word(++i));
    measure(name, text, model->tokenizer(), [&] { return Grammar::gbnf(source); });
  }
}

}  // namespace
}  // namespace rill::benchmarks

int main(int argc, char** argv) {
  return rill::benchmarks::guarded_main([&] { rill::benchmarks::run_all(argc, argv); });
}
