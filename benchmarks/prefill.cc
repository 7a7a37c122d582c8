// Tokens per second of reading a prompt, up to the logits of its last token, against the number of threads and the
// length of the context that stands before it.
//
//   prefill MODEL.gguf [--threads 1,2] [--contexts 0,1024,...] [--tokens 512] [--rounds 3] [--kv-type f16] [--json
//   FILE]
#include "speed_by_context.h"

int main(int argc, char** argv) {
  using namespace rill::benchmarks;
  return guarded_main([&] {
    const Arguments arguments(argc, argv,
                              "prefill MODEL.gguf [--threads N,...] [--contexts N,...] [--tokens N] [--rounds N] "
                              "[--kv-type f32|f16|q8_0] [--json FILE]",
                              speed_options("0,1024,2048,4096", "512", "3"));
    const SpeedRun run = run_speed(arguments, false, [](rill::Session& session, std::size_t count) {
      session.feed(tokens(count)).value();
      (void)session.logits().all().value();
    });
    print_table(run);
    write_json(arguments.text("json"), to_json("prefill", run));
    const std::size_t contexts = arguments.numbers("contexts").size();
    const SpeedRow& first = run.rows[run.rows.size() - contexts];
    const SpeedRow& last = run.rows.back();
    const auto count = static_cast<double>(run.tokens);
    std::printf("threads=%zu tokens_s=%.1f context=%zu deep_tokens_s=%.1f\n", first.threads,
                count / median(first.seconds), last.context, count / median(last.seconds));
  });
}
