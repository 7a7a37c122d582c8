// How far the predictions are from exact arithmetic, beside what llama.cpp scores on the same texts.
//
//   accuracy [accurate]      both real models, both contexts; the last line is key=value pairs at context 512
#include <cstdio>
#include <iostream>
#include <string>

#include "support/golden_kl.h"

int main(int argc, char** argv) {
  using namespace rill;
  const bool accurate = argc > 1 && std::string(argv[1]) == "accurate";
  std::string summary;
  std::printf("%-14s %-10s %10s %10s %10s %10s %8s\n", "text", "engine", "KL mean", "median", "p99", "max", "top-1");
  const auto print = [](const char* text, const char* engine, const test::Distance& d) {
    std::printf("%-14s %-10s %10.3g %10.3g %10.3g %10.3g %7.2f%%\n", text, engine, d.kl_mean, d.kl_median, d.kl_p99, d.kl_max, 100 * d.top1);
  };
  try {
    for (const auto& [name, file] : {std::pair("smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"), std::pair("gemma3", "gemma-3-270m-q4_k_m.gguf")}) {
      ModelOptions options;
      if (accurate) options.activations = Activations::accurate;
      const auto model = Model::load(std::filesystem::path(RILL_MODEL_DIR) / file, std::move(options)).value();
      for (const char* context : {"512", "2048"}) {
        const std::string text = std::string(name) + "_" + context;
        const auto golden = std::filesystem::path(RILL_TEST_DATA_DIR) / "golden" / ("kl_" + text + ".json");
        const test::GoldenKl measured = test::measure_golden_kl(golden, model, KvType::f16);
        print(text.c_str(), "llama.cpp", measured.llama_cpp);
        print(text.c_str(), "rill", measured.rill);
        if (std::string(context) != "512") continue;
        char pairs[96];
        std::snprintf(pairs, sizeof pairs, "%s%s_kl_mean=%.4g %s_top1=%.4f", summary.empty() ? "" : " ", name, measured.rill.kl_mean, name,
                      measured.rill.top1);
        summary += pairs;
      }
    }
  } catch (const ErrorException& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  std::printf("%s\n", summary.c_str());
}
