#include "speed_by_context.h"

#include <filesystem>
#include <stdexcept>

#include "machine_limits.h"

namespace rill::benchmarks {
namespace {

// What one number of threads needs: its own copy of the model, and a session at each length of context.
struct Bench {
  std::shared_ptr<const Model> model;
  std::vector<Session> sessions;
};

Bench set_up(const std::string& path, std::size_t threads, const std::vector<std::size_t>& contexts,
             const SpeedRun& run) {
  Bench bench;
  bench.model = Model::load(path, {.threads = static_cast<int>(threads)}).value();
  Session session =
      Session::create(bench.model, {.context_tokens = contexts.back() + run.tokens, .kv_type = run.kv_type}).value();
  for (const std::size_t context : contexts) {
    if (context > session.length()) session.feed(tokens(context - session.length())).value();
    bench.sessions.push_back(session.fork().value());
  }
  return bench;
}

}  // namespace

std::map<std::string, std::string> speed_options(const char* contexts, const char* tokens, const char* rounds) {
  return {{"threads", "1,2"}, {"contexts", contexts}, {"tokens", tokens},
          {"rounds", rounds}, {"kv-type", "f16"},     {"json", ""}};
}

SpeedRun run_speed(const Arguments& arguments, bool bandwidth, const Work& work) {
  const std::string path = arguments.word(0);
  const std::vector<std::size_t> threads = arguments.numbers("threads"), contexts = arguments.numbers("contexts");
  if (!std::is_sorted(contexts.begin(), contexts.end())) throw std::invalid_argument("--contexts must ascend");
  SpeedRun run;
  run.model = std::filesystem::path(path).stem().string();
  run.kv_type = kv_type(arguments.text("kv-type"));
  run.tokens = arguments.number("tokens");
  std::vector<Bench> benches;
  for (const std::size_t count : threads) {
    benches.push_back(set_up(path, count, contexts, run));
    for (const std::size_t context : contexts) {
      run.rows.push_back({count, context, decode_bytes(*benches.back().model, context + run.tokens / 2, run.kv_type)});
    }
  }
  run.info = benches.front().model->info();
  run.kv_shape = benches.front().model->kv_shape();
  const ReadProbe probe(bandwidth ? static_cast<std::size_t>(run.rows.back().bytes) : 0);
  for (std::size_t round = 0; round < arguments.number("rounds"); ++round) {
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      SpeedRow& row = run.rows[i];
      Session session = benches[i / contexts.size()].sessions[i % contexts.size()].fork().value();
      const double begin = seconds_now();
      work(session, run.tokens);
      row.seconds.push_back(seconds_now() - begin);
      if (bandwidth)
        row.reading_seconds.push_back(
            probe.seconds(static_cast<std::size_t>(row.bytes), static_cast<int>(row.threads), run.tokens));
    }
  }
  return run;
}

void print_table(const SpeedRun& run) {
  std::printf("threads context   tokens/s (least to most)   ms/token\n");
  for (const SpeedRow& row : run.rows) {
    const Spread time = spread(row.seconds);
    const auto count = static_cast<double>(run.tokens);
    std::printf("%7zu %7zu %10.1f (%.1f to %.1f) %10.3f", row.threads, row.context, count / time.median,
                count / time.most, count / time.least, 1e3 * time.median / count);
    if (!row.reading_seconds.empty()) {
      std::printf("   %.2f of the bandwidth", median(row.reading_seconds) / time.median);
    }
    std::printf("\n");
  }
}

Json to_json(const char* benchmark, const SpeedRun& run) {
  Json rows = Json::array();
  for (const SpeedRow& row : run.rows) {
    Json one = {{"threads", row.threads}, {"context", row.context}, {"seconds", row.seconds}};
    if (!row.reading_seconds.empty()) {
      one["bytes"] = row.bytes;
      one["reading_seconds"] = row.reading_seconds;
    }
    rows.push_back(std::move(one));
  }
  return {{"benchmark", benchmark}, {"model", run.model}, {"tokens", run.tokens}, {"rows", std::move(rows)}};
}

}  // namespace rill::benchmarks
