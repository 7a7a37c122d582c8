// How far the predictions are from exact arithmetic, beside what llama.cpp scores on the same texts.
//
//   accuracy [accurate] [--json FILE]      both real models, both contexts; the last line is for context 512
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "base/format.h"
#include "support.h"
#include "support/golden_kl.h"

namespace {

using namespace rill;
using namespace rill::benchmarks;

void report(Json& rows, const std::string& text, const char* engine, const test::Distance& d) {
  std::printf("%-14s %-10s %10.3g %10.3g %10.3g %10.3g %7.2f%%\n", text.c_str(), engine, d.kl_mean, d.kl_median,
              d.kl_p99, d.kl_max, 100 * d.top1);
  rows.push_back({{"text", text}, {"engine", engine}, {"kl_mean", d.kl_mean}, {"kl_median", d.kl_median},
                  {"kl_p99", d.kl_p99}, {"kl_max", d.kl_max}, {"top1", d.top1}});
}

void run(const Arguments& arguments) {
  const bool accurate = arguments.words() > 0;
  if (accurate && arguments.word(0) != "accurate") throw std::invalid_argument("unknown word " + arguments.word(0));
  std::string summary;
  Json rows = Json::array();
  std::printf("%-14s %-10s %10s %10s %10s %10s %8s\n", "text", "engine", "KL mean", "median", "p99", "max", "top-1");
  for (const auto& [name, file] : {std::pair("smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
                                   std::pair("gemma3", "gemma-3-270m-q4_k_m.gguf")}) {
    ModelOptions options;
    if (accurate) options.activations = Activations::accurate;
    const auto model = Model::load(std::filesystem::path(RILL_MODEL_DIR) / file, std::move(options)).value();
    for (const char* context : {"512", "2048"}) {
      const std::string text = std::string(name) + "_" + context;
      const auto golden = std::filesystem::path(RILL_TEST_DATA_DIR) / "golden" / ("kl_" + text + ".json");
      const test::GoldenKl measured = test::measure_golden_kl(golden, model, KvType::f16);
      report(rows, text, "llama.cpp", measured.llama_cpp);
      report(rows, text, "rill", measured.rill);
      if (std::string(context) != "512") continue;
      summary += rill::format("{}{}_kl_mean={:.4g} {}_top1={:.4f}", summary.empty() ? "" : " ", name,
                              measured.rill.kl_mean, name, measured.rill.top1);
    }
  }
  write_json(arguments.text("json"), {{"benchmark", "accuracy"}, {"accurate", accurate}, {"rows", rows}});
  std::printf("%s\n", summary.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] { run(Arguments(argc, argv, "accuracy [accurate] [--json FILE]", {{"json", ""}})); });
}
