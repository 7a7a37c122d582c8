// How far a model's predictions are from exact arithmetic: tests/golden/kl_*.json (what is in them: tests/golden/README.md).
#pragma once

#include <filesystem>
#include <string>

#include "rill/session.h"

namespace rill::test {

struct Distance {
  std::size_t positions = 0;
  double kl_mean = 0;
  double kl_median = 0;
  double kl_p99 = 0;
  double kl_max = 0;
  double top1 = 0;  // share of positions whose best token is the reference's
};

struct GoldenKl {
  std::string model_file;
  Distance llama_cpp;  // as recorded: f16 KV
  Distance rill;
};

// Feeds the golden text in chunks of its context and compares every listed position. Throws ErrorException.
GoldenKl measure_golden_kl(const std::filesystem::path& golden, const std::shared_ptr<const Model>& model, KvType kv_type);

}  // namespace rill::test
