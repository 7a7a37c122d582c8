// What does guessing ahead gain? The same answers with and without prompt lookup, in rounds: one that summarises and
// quotes its prompt, and a story that has nothing to quote. Checks every logit of both ways, and measures what sets the
// limit: the cost of a pass over several tokens.
//
//   speculation MODEL.gguf [--threads N] [--rounds N] [--json FILE]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine_limits.h"
#include "model/head.h"
#include "rill/rill.h"
#include "session/session_state.h"
#include "support.h"

namespace {

using namespace rill::benchmarks;

constexpr std::size_t kMaxTokens = 256;  // of an answer
constexpr std::size_t kPassTokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 16};
constexpr std::size_t kDepth = 512;  // of the context that a pass is measured in

struct Task {
  const char* name;
  const char* prompt;
  float temperature;
};
constexpr Task kTasks[] = {
    {"quote",
     "Summarise the following text in two sentences, then quote its first paragraph word for word.\n\n"
     "The harbour of Lindmouth was built in 1842 by the engineer Thomas Arkwright, who had already drained the marshes "
     "to the north "
     "of the town. Its two stone piers reach four hundred metres into the bay and shelter a basin that never freezes, "
     "even in the "
     "coldest winters.\n\n"
     "For eighty years the harbour lived on herring. At its height, in 1901, more than three hundred boats landed "
     "their catch there, "
     "and the salting houses along the quay employed two thousand women. When the herring left the coast in the "
     "nineteen twenties, "
     "the town lost half of its people within ten years.\n\n"
     "Today the basin is home to a fleet of research vessels. The Institute of Marine Biology moved into the old "
     "salting houses in "
     "1987, and its students rent the fishermen's cottages. Every August the town remembers its past with a feast of "
     "smoked fish, "
     "music and a race of old sailing boats around the lighthouse.",
     0.0f},
    {"story", "Write a short story about a fox that learns to swim.", 0.8f},
};

class Benchmark {
 public:
  Benchmark(const std::string& path, int threads) : model_(rill::Model::load(path, {.threads = threads}).value()) {}

  // Shows each step to `look`.
  template <typename Look>
  rill::GenerationResult answer(const Task& task, bool lookup, Look look) const {
    auto session = rill::Session::create(model_, {.context_tokens = 1024}).value();
    auto conversation = rill::Conversation::create(std::move(session)).value();
    auto generation = conversation
                          .say(task.prompt, {.max_tokens = kMaxTokens,
                                             .sampling = {.temperature = task.temperature},
                                             .speculation = {.prompt_lookup = lookup}})
                          .value();
    while (generation.next()) look(conversation.session());
    return generation.result().value();
  }

  // Tokens per second after the first.
  double speed(const Task& task, bool lookup) const {
    const auto result = answer(task, lookup, [](const rill::Session&) {});
    return 1.0 / std::chrono::duration<double>(result.timings.tpot().value()).count();
  }

  // Whether tokens, and the logits after each, are the same.
  bool same_bits(const Task& task) const {
    std::vector<std::vector<float>> plain;
    const auto expected =
        answer(task, false, [&](const rill::Session& session) { plain.push_back(session.logits().all().value()); });
    std::size_t step = 0, same = 0;
    const auto got = answer(task, true, [&](const rill::Session& session) {
      if (step < plain.size() && session.logits().all().value() == plain[step]) ++same;
      ++step;
    });
    return got.tokens == expected.tokens && got.text == expected.text && same == plain.size() && step == plain.size();
  }

  // Seconds for passes over kPassTokens tokens, with their logits.
  std::vector<double> passes(std::size_t rounds) const {
    auto session = rill::Session::create(model_, {.context_tokens = kDepth + 16}).value();
    const std::vector<rill::Token> tokens = rill::benchmarks::tokens(kDepth);
    session.feed(tokens).value();
    const std::size_t vocabulary = model_->info().vocabulary_size;
    std::vector<float> logits(16 * vocabulary);
    std::vector<std::vector<double>> seconds(std::size(kPassTokens));
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < std::size(kPassTokens); ++i) {
        const std::size_t count = kPassTokens[i];
        const double begin = seconds_now();
        session.feed(std::span(tokens).first(count), {.keep = {rill::Keep::Mode::all}}).value();
        rill::model::head_logits(model_->loaded(), session.state()->kept_hidden(0), count,
                                 std::span(logits).first(count * vocabulary))
            .value();
        seconds[i].push_back(seconds_now() - begin);
        session.truncate(kDepth).value();
      }
    }
    std::vector<double> medians;
    for (const auto& one : seconds) medians.push_back(median(one));
    return medians;
  }

 private:
  std::shared_ptr<const rill::Model> model_;
};

void run(const Arguments& arguments) {
  const std::size_t threads = arguments.number("threads"), rounds = arguments.number("rounds");
  const Benchmark benchmark(arguments.word(0), static_cast<int>(threads));
  std::string line = "threads=" + std::to_string(threads);
  const auto add = [&](const std::string& key, double value) {
    char text[32];
    std::snprintf(text, sizeof text, "=%.3g", value);
    line += " " + key + text;
  };
  Json json = {{"benchmark", "speculation"},
               {"model", std::filesystem::path(arguments.word(0)).stem().string()},
               {"threads", threads}};
  const std::vector<double> passes = benchmark.passes(3 * rounds);
  for (std::size_t i = 0; i < passes.size(); ++i) {
    std::printf("a pass of %2zu: %.2f ms, %.2f times one token's\n", kPassTokens[i], 1e3 * passes[i],
                passes[i] / passes[0]);
    json["pass_ms"][std::to_string(kPassTokens[i])] = 1e3 * passes[i];
  }
  bool same = true;
  for (const Task& task : kTasks) {
    same = benchmark.same_bits(task) && same;
    std::vector<double> plain, drafted, ratios;
    for (std::size_t round = 0; round < rounds; ++round) {
      plain.push_back(benchmark.speed(task, false));
      drafted.push_back(benchmark.speed(task, true));
      ratios.push_back(drafted.back() / plain.back());
    }
    const rill::Timings timings = benchmark.answer(task, true, [](const rill::Session&) {}).timings;
    const double acceptance = static_cast<double>(timings.accepted_tokens) /
                              static_cast<double>(std::max<std::size_t>(1, timings.drafted_tokens));
    const Spread ratio = spread(ratios);
    std::printf(
        "%s: %zu tokens, plain %.1f tokens/s, lookup %.1f: ratio %.2f (%.2f to %.2f); %zu passes, %zu guessed, %.0f %% "
        "right\n",
        task.name, timings.token_times.size(), median(plain), median(drafted), ratio.median, ratio.least, ratio.most,
        timings.decode_passes, timings.drafted_tokens, 100 * acceptance);
    add(task.name + std::string("_ratio"), ratio.median);
    add(task.name + std::string("_acceptance"), acceptance);
    json["tasks"][task.name] = {{"tokens", timings.token_times.size()}, {"plain_tokens_s", plain},
                                {"lookup_tokens_s", drafted},           {"passes", timings.decode_passes},
                                {"drafted", timings.drafted_tokens},    {"accepted", timings.accepted_tokens}};
  }
  json["same_bits"] = same;
  write_json(arguments.text("json"), json);
  std::printf("%s same_bits=%d\n", line.c_str(), same ? 1 : 0);
  if (!same) throw std::runtime_error("the answers differ");
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] {
    run(Arguments(argc, argv, "speculation MODEL.gguf [--threads N] [--rounds N] [--json FILE]",
                  {{"threads", "2"}, {"rounds", "7"}, {"json", ""}}));
  });
}
