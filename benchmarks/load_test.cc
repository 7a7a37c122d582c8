// What a scheduler does under more than it can hold: seeded arrivals, some requests cancelled, some that can never fit,
// over a pool that is a fifth of what they ask for at a time. Nothing may be lost or leaked, and every answer has the
// bits that it has alone.
//
//   load_test MODEL.gguf [--requests 1000] [--longest 1500] [--compared 100] [--sequences 16] [--threads 2] [--seed 1]
//             [--arrivals-per-100-steps 100] [--admission overcommit|guaranteed]
#include <stdexcept>

#include "machine_limits.h"
#include "rill/rill.h"
#include "support.h"
#include "support/request_load.h"

namespace {

using namespace rill;
using namespace rill::benchmarks;

int run(const Arguments& arguments) {
  const auto model = Model::load(arguments.word(0), {.threads = static_cast<int>(arguments.number("threads"))}).value();
  test::RequestLoad load;
  load.requests = arguments.number("requests");
  load.longest = arguments.number("longest");
  load.compared = arguments.number("compared");
  load.seed = arguments.number("seed");
  load.arrivals_per_step = static_cast<double>(arguments.number("arrivals-per-100-steps")) / 100;
  SchedulerOptions options;
  options.max_sequences = arguments.number("sequences");
  options.max_queue = load.requests;
  const std::string& admission = arguments.text("admission");
  if (admission != "overcommit" && admission != "guaranteed") throw std::invalid_argument("no admission " + admission);
  options.admission = admission == "overcommit" ? Admission::overcommit : Admission::guaranteed;

  const double begin = seconds_now();
  const test::LoadReport report = test::run_load(model, load, options);
  std::printf("%.1f MiB of pool for requests that would take %.1f at a time; %.1f s in all\n",
              static_cast<double>(report.pool_bytes) / (1 << 20), static_cast<double>(report.demand_bytes) / (1 << 20),
              seconds_now() - begin);
  std::printf("%s\n", test::summary(report).c_str());
  return report.lost + report.leaked_pages + report.bit_differences + report.wrongly_refused == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  int result = 1;
  const int thrown = guarded_main([&] {
    result =
        run(Arguments(argc, argv,
                      "load_test MODEL.gguf [--requests N] [--longest N] [--compared N] [--sequences N] [--threads N] "
                      "[--seed N] [--arrivals-per-100-steps N] [--admission overcommit|guaranteed]",
                      {{"requests", "1000"},
                       {"longest", "1500"},
                       {"compared", "100"},
                       {"sequences", "16"},
                       {"threads", "2"},
                       {"seed", "1"},
                       {"arrivals-per-100-steps", "100"},
                       {"admission", "overcommit"}}));
  });
  return thrown != 0 ? thrown : result;
}
