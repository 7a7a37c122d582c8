// More at a time is more in all, and slower for each: tokens per second, and the time per token (half of all, and 99 in
// 100, are within), by the number of sequences that a scheduler decodes together.
//
//   batch_curve MODEL.gguf [--batches 1,2,4,8,16,32,64] [--tokens 48] [--threads 2] [--rounds 2]
//               [--sampling creative|greedy] [--json FILE]
#include <filesystem>

#include "machine_limits.h"
#include "rill/rill.h"
#include "support.h"

namespace {

using namespace rill;
using namespace rill::benchmarks;

constexpr std::size_t kPromptTokens = 16;

struct Row {
  std::size_t batch = 0;
  std::vector<double> gaps = {};  // seconds between the tokens of each answer
  double seconds = 0;             // of steps in which all of them decode
  std::size_t tokens = 0;         // in those

  double speed() const { return static_cast<double>(tokens) / seconds; }
  double quantile(double share) const {
    std::vector<double> sorted = gaps;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
  }
};

// Answers of one length that begin together: measured are the steps in which all are under way.
void run(const std::shared_ptr<const Model>& model, std::size_t count, bool greedy, Row& row) {
  SchedulerOptions options;
  options.context_tokens = kPromptTokens + count + 1;
  options.max_sequences = row.batch;
  options.prefill_chunk = kPromptTokens * row.batch;
  Scheduler scheduler = Scheduler::create(model, options).value();
  std::vector<Ticket> tickets;
  for (std::size_t i = 0; i < row.batch; ++i) {
    Request request;
    std::vector<Token> prompt;
    for (std::size_t j = 0; j < kPromptTokens; ++j) prompt.push_back(token_at(17 * i + j));
    request.prompt = std::move(prompt);
    request.options.max_tokens = count;
    if (!greedy) request.options.sampling = presets::creative();
    if (greedy) request.options.sampling.temperature = 0.0f;
    request.options.sampling.seed = i;
    request.options.end_tokens = std::vector<Token>();
    tickets.push_back(scheduler.submit(std::move(request)).value());
  }
  while (true) {
    const double begin = seconds_now();
    const StepReport report = scheduler.step().value();
    for (Ticket& ticket : tickets) {
      while (ticket.try_next()) continue;
    }
    if (report.idle()) break;
    if (report.decoded < row.batch) continue;
    row.seconds += seconds_now() - begin;
    row.tokens += report.decoded;
  }
  for (const Ticket& ticket : tickets) {
    const std::vector<Ledger::Token> times = ticket.ledger().value().tokens;
    for (std::size_t i = 1; i < times.size(); ++i) {
      row.gaps.push_back(1e-9 * static_cast<double>((times[i].time - times[i - 1].time).count()));
    }
  }
}

void measure(const Arguments& arguments) {
  const std::string path = arguments.word(0);
  const auto model = Model::load(path, {.threads = static_cast<int>(arguments.number("threads"))}).value();
  std::vector<Row> rows;
  for (const std::size_t batch : arguments.numbers("batches")) rows.push_back({batch});
  for (std::size_t round = 0; round < arguments.number("rounds"); ++round) {
    for (Row& row : rows) run(model, arguments.number("tokens"), arguments.text("sampling") == "greedy", row);
  }
  Json json = {{"benchmark", "batch_curve"},
               {"model", std::filesystem::path(path).stem().string()},
               {"threads", arguments.number("threads")}};
  std::printf("batch  tokens/s   TPOT p50   p99 (ms)\n");
  std::string summary;
  for (const Row& row : rows) {
    const double half = 1e3 * row.quantile(0.5), most = 1e3 * row.quantile(0.99);
    std::printf("%5zu %9.0f %10.2f %10.2f\n", row.batch, row.speed(), half, most);
    json["rows"].push_back(
        {{"batch", row.batch}, {"tokens_per_second", row.speed()}, {"p50_ms", half}, {"p99_ms", most}});
    char figure[64];
    std::snprintf(figure, sizeof figure, "%sbatch_%zu=%.0f", summary.empty() ? "" : " ", row.batch, row.speed());
    summary += figure;
  }
  write_json(arguments.text("json"), json);
  std::printf("%s gain=%.2f p99_growth=%.2f\n", summary.c_str(), rows.back().speed() / rows.front().speed(),
              rows.back().quantile(0.99) / rows.front().quantile(0.99));
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] {
    measure(Arguments(argc, argv,
                      "batch_curve MODEL.gguf [--batches N,...] [--tokens N] [--threads N] [--rounds N] [--sampling "
                      "creative|greedy] [--json FILE]",
                      {{"batches", "1,2,4,8,16,32,64"},
                       {"tokens", "48"},
                       {"threads", "2"},
                       {"rounds", "2"},
                       {"sampling", "creative"},
                       {"json", ""}}));
  });
}
