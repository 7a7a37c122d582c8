// Time per decoded token, logits included, against the number of threads and the length of the context.
//
//   decode MODEL.gguf [--threads 1,2] [--contexts 16,512,...] [--tokens 32] [--rounds 5] [--kv-type f16] [--json FILE]
//
// Between the rounds, memory is read as often and as much as the tokens read of weights, keys and values: the bound.
// The slope of time against context stands beside the one that the KV bytes of a token give at that bandwidth.
#include "speed_by_context.h"

namespace {

using namespace rill;
using namespace rill::benchmarks;

struct Slope {
  double measured, bound;  // seconds a token for each token of context
};

// Least squares over the contexts of the last number of threads; past a sliding window the other layers alone grow.
Slope slope_of(const SpeedRun& run) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const SpeedRow& row : run.rows) {
    if (row.threads != run.rows.back().threads || row.context < run.info.sliding_window) continue;
    const auto context = static_cast<double>(row.context);
    const double time = median(row.seconds) / static_cast<double>(run.tokens);
    n += 1, x += context, y += time, xx += context * context, xy += context * time;
  }
  const std::uint64_t growing = run.kv_shape.layers - run.kv_shape.sliding_layers;
  const SpeedRow& last = run.rows.back();
  const double bandwidth = last.bytes * static_cast<double>(run.tokens) / median(last.reading_seconds);
  return {(n * xy - x * y) / (n * xx - x * x),
          static_cast<double>(kv_bytes_per_token(growing, run.kv_shape, run.kv_type)) / bandwidth};
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] {
    const Arguments arguments(argc, argv,
                              "decode MODEL.gguf [--threads N,...] [--contexts N,...] [--tokens N] [--rounds N] "
                              "[--kv-type f32|f16|q8_0] [--json FILE]",
                              speed_options("16,512,1024,2048,3072,4096", "32", "5"));
    std::vector<float> logits;
    const SpeedRun run = run_speed(arguments, true, [&](Session& session, std::size_t count) {
      logits.resize(session.model().info().vocabulary_size);
      for (std::size_t i = 0; i < count; ++i) {
        session.feed(token_at(i)).value();
        session.logits().all(std::span<float>(logits)).value();
      }
    });
    print_table(run);
    const Slope slope = slope_of(run);
    Json json = to_json("decode", run);
    json["slope_seconds"] = slope.measured;
    json["slope_bound_seconds"] = slope.bound;
    write_json(arguments.text("json"), json);
    const SpeedRow& first = run.rows[run.rows.size() - arguments.numbers("contexts").size()];
    std::printf("threads=%zu tokens_s=%.1f of_bound=%.3f slope_ns=%.1f slope_bound_ns=%.1f slope_ratio=%.2f\n",
                first.threads, static_cast<double>(run.tokens) / median(first.seconds),
                median(first.reading_seconds) / median(first.seconds), 1e9 * slope.measured, 1e9 * slope.bound,
                slope.measured / slope.bound);
  });
}
