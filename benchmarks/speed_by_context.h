// How decode and prefill are measured: rounds over every number of threads and length of context in turn.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support.h"

namespace rill::benchmarks {

struct SpeedRow {
  std::size_t threads, context;
  double bytes;                              // that a token decoded there reads
  std::vector<double> seconds = {};          // of each round, for all tokens
  std::vector<double> reading_seconds = {};  // to read `bytes` as many times as there are tokens, and nothing else
};

struct SpeedRun {
  std::string model;  // the file's name
  ModelInfo info;
  KvShape kv_shape;
  KvType kv_type = KvType::f16;
  std::size_t tokens = 0;
  std::vector<SpeedRow> rows;  // by threads, then by context
};

// `work` feeds `tokens` tokens to a session that holds a row's context; it is timed. With `bandwidth`, reading is too.
using Work = std::function<void(Session& session, std::size_t tokens)>;
SpeedRun run_speed(const Arguments& arguments, bool bandwidth, const Work& work);

// Options that run_speed understands.
std::map<std::string, std::string> speed_options(const char* contexts, const char* tokens, const char* rounds);

// The table on standard output, and what --json holds.
void print_table(const SpeedRun& run);
Json to_json(const char* benchmark, const SpeedRun& run);

}  // namespace rill::benchmarks
