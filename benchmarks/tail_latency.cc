// What a long prompt does to those who are being answered: decodes run, a prompt arrives, and the longest time that any
// of them then waits for its next token. Once with the prompt cut to what a target leaves of each pass, and once read
// whole.
//
//   tail_latency MODEL.gguf [--decodes 8] [--prompt 1500] [--threads 2] [--rounds 3] [--json FILE]
//
// The target is three times a quiet step, as it is measured here first; a gap should stay within twice the target. Of
// the rounds those with the median worst gap are shown.
#include <filesystem>
#include <stdexcept>

#include "rill/rill.h"
#include "support.h"

namespace {

using namespace rill;
using namespace rill::benchmarks;

constexpr std::size_t kContext = 2048;
constexpr std::size_t kPromptOfDecodes = 32;
constexpr std::size_t kQuietSteps = 24;
constexpr std::size_t kStepsAfter = 16;

double milliseconds(Duration duration) { return 1e-6 * static_cast<double>(duration.count()); }

struct Step {
  double at = 0;   // ms since the prompt came, when its tokens were there
  double gap = 0;  // ms since the step before
  std::size_t prefilled = 0;
};

struct Timeline {
  std::vector<double> quiet;  // gaps before the prompt came
  std::vector<Step> steps;    // from then on, until it was answered and some more
  double ttft = 0;            // of the prompt

  double worst() const {
    double worst = 0;
    for (const Step& step : steps) worst = std::max(worst, step.gap);
    return worst;
  }
};

std::vector<Token> prompt(std::size_t count, std::size_t offset) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < count; ++i) tokens.push_back(token_at(offset + i));
  return tokens;
}

Request request(std::size_t count, std::size_t offset, std::size_t max_tokens) {
  Request request;
  request.prompt = prompt(count, offset);
  request.options.max_tokens = max_tokens;
  request.options.sampling.temperature = 0.0f;
  request.options.end_tokens = std::vector<Token>();
  return request;
}

// Every decode gets one token in each step, so that the time from step to step is the gap of all of them.
Timeline run(const std::shared_ptr<const Model>& model, std::size_t decodes, std::size_t count,
             SchedulerOptions options) {
  options.context_tokens = kContext;
  options.max_sequences = decodes + 1;
  Scheduler scheduler = Scheduler::create(model, options).value();
  std::vector<Ticket> tickets;
  const std::size_t most = kContext - kPromptOfDecodes;
  for (std::size_t i = 0; i < decodes; ++i) {
    tickets.push_back(scheduler.submit(request(kPromptOfDecodes, 37 * i, most)).value());
  }
  while (scheduler.step().value().decoded < decodes) continue;
  Timeline timeline;
  Duration last = steady_now();
  const auto step = [&] {
    const StepReport report = scheduler.step().value();
    const Duration now = steady_now(), gap = now - last;
    if (report.decoded < decodes) throw std::logic_error("a step left a decode out");
    last = now;
    return std::pair(report, milliseconds(gap));
  };
  for (std::size_t i = 0; i < kQuietSteps; ++i) timeline.quiet.push_back(step().second);
  const Duration came = steady_now();
  Ticket late = scheduler.submit(request(count, 5, kStepsAfter)).value();
  while (!late.finished()) {
    const auto [report, gap] = step();
    timeline.steps.push_back({milliseconds(last - came), gap, report.prefilled});
  }
  timeline.ttft = milliseconds(late.ledger().value().ttft.value());
  return timeline;
}

Json to_json(const Timeline& timeline) {
  Json json = {{"ttft_ms", timeline.ttft}};
  for (const Step& step : timeline.steps) json["steps"].push_back({step.at, step.gap, step.prefilled});
  return json;
}

// The round whose worst gap is the median.
const Timeline& middle(std::vector<Timeline>& rounds) {
  const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
  std::nth_element(rounds.begin(), middle, rounds.end(),
                   [](const Timeline& a, const Timeline& b) { return a.worst() < b.worst(); });
  return *middle;
}

void measure(const Arguments& arguments) {
  const std::string path = arguments.word(0);
  const auto model = Model::load(path, {.threads = static_cast<int>(arguments.number("threads"))}).value();
  const std::size_t decodes = arguments.number("decodes"), count = arguments.number("prompt");
  std::vector<Timeline> cut_rounds, whole_rounds;
  double quiet = 0;
  Duration target{};
  for (std::size_t round = 0; round < arguments.number("rounds"); ++round) {
    SchedulerOptions options;
    options.prefill_chunk = count;
    whole_rounds.push_back(run(model, decodes, count, options));
    if (round == 0) {
      quiet = median(whole_rounds[0].quiet);
      target = Duration(static_cast<Duration::rep>(3e6 * quiet));
    }
    options = {};
    options.tpot_target = target;
    cut_rounds.push_back(run(model, decodes, count, options));
  }
  const double target_ms = milliseconds(target);
  const Timeline &cut = middle(cut_rounds), &whole = middle(whole_rounds);
  const auto print = [&](const char* name, const Timeline& timeline, const std::vector<Timeline>& rounds) {
    std::printf("%-16s %3zu steps, first token of the prompt after %.0f ms; worst gaps, in targets:", name,
                timeline.steps.size(), timeline.ttft);
    for (const Timeline& one : rounds) std::printf(" %.2f", one.worst() / target_ms);
    std::printf("\n");
  };
  print("budgeted chunks", cut, cut_rounds);
  print("whole prompt", whole, whole_rounds);
  write_json(arguments.text("json"), {{"benchmark", "tail_latency"},
                                      {"model", std::filesystem::path(path).stem().string()},
                                      {"threads", arguments.number("threads")},
                                      {"decodes", decodes},
                                      {"prompt", count},
                                      {"quiet_ms", quiet},
                                      {"target_ms", target_ms},
                                      {"budgeted", to_json(cut)},
                                      {"whole", to_json(whole)}});
  std::printf(
      "quiet_ms=%.2f tpot_target_ms=%.2f worst_gap_ms=%.2f worst_gap_of_target=%.2f whole_worst_gap_ms=%.2f "
      "whole_worst_gap_of_target=%.2f\n",
      quiet, target_ms, cut.worst(), cut.worst() / target_ms, whole.worst(), whole.worst() / target_ms);
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] {
    measure(Arguments(argc, argv,
                      "tail_latency MODEL.gguf [--decodes N] [--prompt N] [--threads N] [--rounds N] [--json FILE]",
                      {{"decodes", "8"}, {"prompt", "1500"}, {"threads", "2"}, {"rounds", "3"}, {"json", ""}}));
  });
}
