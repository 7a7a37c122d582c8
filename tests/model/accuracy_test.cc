// The error of 8-bit activations, against that of another engine on the same file.
#include <gtest/gtest.h>

#include "support/golden_kl.h"
#include "support/real_models.h"

namespace rill {
namespace {

class AccuracyTest : public testing::TestWithParam<std::pair<const char*, const char*>> {};

INSTANTIATE_TEST_SUITE_P(RealModels, AccuracyTest,
                         testing::Values(std::pair("smollm2_512", "SmolLM2-135M-Instruct.Q4_1.gguf"),
                                         std::pair("smollm2_2048", "SmolLM2-135M-Instruct.Q4_1.gguf"),
                                         std::pair("gemma3_512", "gemma-3-270m-q4_k_m.gguf"),
                                         std::pair("gemma3_2048", "gemma-3-270m-q4_k_m.gguf")),
                         [](const auto& param) { return std::string(param.param.first); });

TEST_P(AccuracyTest, IsNotBehindThePeer) {
  RILL_REQUIRE_MODEL(path, GetParam().second);
  const auto model = Model::load(path).value();
  const auto golden = std::filesystem::path(RILL_TEST_DATA_DIR) / "golden" / (std::string("kl_") + GetParam().first + ".json");
  const test::GoldenKl measured = test::measure_golden_kl(golden, model, KvType::f16);
  EXPECT_EQ(measured.rill.positions, 512u);
  EXPECT_LE(measured.rill.kl_mean, 1.05 * measured.llama_cpp.kl_mean);
  EXPECT_GE(measured.rill.top1, measured.llama_cpp.top1 - 0.01);
}

TEST_P(AccuracyTest, NearlyVanishesWith16BitActivations) {
  RILL_REQUIRE_MODEL(path, GetParam().second);
  const auto model = Model::load(path, {.activations = Activations::accurate}).value();
  const auto golden = std::filesystem::path(RILL_TEST_DATA_DIR) / "golden" / (std::string("kl_") + GetParam().first + ".json");
  const test::GoldenKl measured = test::measure_golden_kl(golden, model, KvType::f16);
  EXPECT_LE(measured.rill.kl_mean, 3e-6);
  EXPECT_GE(measured.rill.top1, 0.998);
}

}  // namespace
}  // namespace rill
