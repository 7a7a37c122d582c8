// What does choosing one token cost, from the logits of a whole vocabulary? Median of many steps, in microseconds.
//
//   sampling [--json FILE]
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "rill/presets.h"
#include "rill/sampling.h"
#include "support.h"

namespace {

// The shape of a language model's logits: a wide bell, a few tokens that stand out.
std::vector<float> logits_like_a_model(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> bell(0, 2.5f);
  std::vector<float> logits(size);
  for (float& value : logits) value = bell(random);
  for (int i = 0; i < 20; ++i) logits[random() % size] = 12 + bell(random);
  return logits;
}

double median_microseconds(rill::SamplerChain& chain, const std::vector<std::vector<float>>& steps) {
  std::vector<double> times;
  for (std::size_t position = 0; position < 400; ++position) {
    const rill::DenseLogits logits(steps[position % steps.size()], position);
    const auto start = std::chrono::steady_clock::now();
    const rill::Token token = chain.sample(logits).value();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    chain.accept(token);
  }
  return rill::benchmarks::median(std::move(times));
}

void run(const rill::benchmarks::Arguments& arguments) {
  const std::vector<std::pair<const char*, rill::SamplingOptions>> cases = {
      {"greedy", rill::presets::extraction()},
      {"categorical", {}},
      {"temperature, top_p", {.temperature = 0.7f, .top_p = 0.9f}},
      {"temperature, top_k", {.temperature = 0.7f, .top_k = 40}},
      {"flat, top_p", {.temperature = 5.0f, .top_p = 0.9f}},
      {"typical_p alone", {.typical_p = 0.9f}},
      {"top_n_sigma", {.top_n_sigma = 1.0f}},
      {"mirostat", {.mirostat = rill::MirostatOptions{}}},
      {"chat", rill::presets::chat()},
      {"creative", rill::presets::creative()},
      {"top_p with one token banned", {.banned = {5}, .temperature = 0.7f, .top_p = 0.9f}},
  };
  rill::benchmarks::Json rows = rill::benchmarks::Json::array();
  std::string last;
  for (const std::size_t vocabulary : {49152u, 262144u}) {
    std::vector<std::vector<float>> steps;
    for (std::uint64_t seed = 0; seed < 8; ++seed) steps.push_back(logits_like_a_model(vocabulary, seed));
    for (const auto& [name, options] : cases) {
      rill::SamplerChain chain = rill::make_chain(options, {.size = vocabulary}).value();
      const double time = median_microseconds(chain, steps);
      std::printf("vocabulary=%zu %s: %.1f us\n", vocabulary, name, time);
      rows.push_back({{"vocabulary", vocabulary}, {"chain", name}, {"microseconds", time}});
      if (std::string_view(name) == "greedy" || std::string_view(name) == "chat") {
        last += rill::format("{}_{}_us={:.1f} ", name, vocabulary, time);
      }
    }
  }
  rill::benchmarks::write_json(arguments.text("json"), {{"benchmark", "sampling"}, {"rows", rows}});
  std::printf("%s\n", last.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  using namespace rill::benchmarks;
  return guarded_main([&] { run(Arguments(argc, argv, "sampling [--json FILE]", {{"json", ""}})); });
}
