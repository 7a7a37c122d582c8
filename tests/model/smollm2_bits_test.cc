// The same bits on a real model: a fixed list of ways, in which the settings meet in all pairs but for a few.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <tuple>

#include "kernels/kernel_table.h"
#include "model/bits_run.h"
#include "support/real_models.h"

namespace rill {
namespace {

using kernels::KernelTable;
using test::Cut;
using test::Head;
using test::History;
using test::HostFloatMode;
using test::Way;

constexpr auto fast = Activations::fast, accurate = Activations::accurate;
constexpr std::size_t kWhole = 512;
constexpr int kScalar = -1;
constexpr bool kShort = false, kLong = true;  // the long sequence reaches into a second span of attention

struct Entry {
  int target;  // the so many-th best SIMD target, counted round; the scalar one is slow, hence on the list twice only
  bool is_long;
  Way way;
};

std::vector<Entry> entries() {
  using enum KvType;
  using enum Cut;
  using enum Head;
  using enum History;
  // clang-format off
  // target, length, {"", activations, KV, threads, chunk, cut, batch, head, history, host's floating-point mode}
  return {
      {0, kLong, {"", accurate, q8_0, 1, 1, pieces, 1, half, rolled_back}},
      {0, kShort, {"", fast, f32, 2, kWhole, prefill_chunk, 2, few, refilled}},
      {0, kShort, {"", fast, f16, 3, 7, pieces, 5, full, parent_of_fork}},
      {0, kLong, {"", accurate, f32, 1, 64, prefill_chunk, 8, full, straight}},
      {1, kShort, {"", accurate, f16, 2, kWhole, prefill_chunk, 1, half, parent_of_fork, HostFloatMode::round_up}},
      {1, kLong, {"", accurate, q8_0, 3, 7, pieces, 2, few, straight}},
      {1, kLong, {"", fast, f32, 1, 64, pieces, 5, half, child_of_fork}},
      {1, kShort, {"", fast, f16, 1, 16, pieces, 8, few, refilled}},
      {2, kLong, {"", fast, f32, 3, 7, prefill_chunk, 1, half, child_of_fork}},
      {2, kShort, {"", accurate, f16, 1, 64, pieces, 2, full, rolled_back}},
      {2, kShort, {"", fast, q8_0, 2, 1, prefill_chunk, 5, few, parent_of_fork}},
      {2, kLong, {"", accurate, q8_0, 3, kWhole, pieces, 8, full, refilled}},
      {0, kLong, {"", accurate, q8_0, 2, 16, pieces, 1, full, child_of_fork}},
      {1, kLong, {"", accurate, f32, 3, 1, pieces, 2, full, rolled_back}},
      {2, kShort, {"", accurate, f32, 3, 16, prefill_chunk, 5, half, straight}},
      {1, kShort, {"", accurate, q8_0, 3, 64, pieces, 1, few, child_of_fork}},
      {1, kShort, {"", fast, f32, 1, 16, pieces, 2, half, child_of_fork}},
      {0, kLong, {"", accurate, f32, 1, kWhole, pieces, 5, full, refilled}},
      {0, kLong, {"", fast, f16, 2, 1, pieces, 8, half, straight, HostFloatMode::flush_denormals}},
      {0, kShort, {"", fast, f32, 1, 7, prefill_chunk, 8, full, rolled_back}},
      {1, kShort, {"", accurate, q8_0, 2, 7, prefill_chunk, 1, full, parent_of_fork}},
      {1, kShort, {"", fast, f16, 2, 64, prefill_chunk, 1, half, refilled}},
      {kScalar, kShort, {"", fast, f16, 3, 16, pieces, 1, full, straight}},
      {kScalar, kShort, {"", accurate, f16, 2, kWhole, prefill_chunk, 1, few, child_of_fork}},
  };
  // clang-format on
}

std::vector<const KernelTable*> simd_tables() {
  std::vector<const KernelTable*> tables;
  for (const KernelTable* table : kernels::available_tables()) {
    const bool comparable =
        table->numerics_class == kernels::NumericsClass::fma && std::string_view(table->name) != "scalar";
    if (comparable) tables.push_back(table);
  }
  return tables;
}

TEST(BitsOnSmolLM2Test, AreTheSameInTwentyFourWays) {
  RILL_REQUIRE_MODEL(path, "SmolLM2-135M-Instruct.Q4_1.gguf");
  const auto tables = simd_tables();
  const test::Load load = [&path = path](ModelOptions options) {
    return Model::load(path, std::move(options)).value();
  };
  const std::vector<Token> tokens = test::random_tokens(49152, 280, 21);

  std::map<std::tuple<bool, KvType, Activations>, test::Rows> baselines;
  std::size_t compared = 0, ways = 0;
  for (auto [target, is_long, way] : entries()) {
    const std::size_t length = is_long ? 280 : 30;
    const test::Sequence sequence{
        {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(length)}, length - 4, length - 8};
    test::Rows& baseline = baselines[{is_long, way.kv_type, way.activations}];
    if (baseline.empty())
      baseline =
          test::logits_of(load, {.activations = way.activations, .kv_type = way.kv_type, .threads = 2}, sequence);
    way.target =
        target == kScalar || tables.empty() ? "scalar" : tables[static_cast<std::size_t>(target) % tables.size()]->name;
    const std::size_t logits = test::expect_same_bits(load, way, sequence, baseline);
    EXPECT_GE(logits, 8 * 5u) << way;
    compared += logits;
    ++ways;
  }
  EXPECT_EQ(ways, 24u);
  std::printf("%zu ways, %zu logits compared on %zu SIMD targets and the scalar one\n", ways, compared, tables.size());
}

}  // namespace
}  // namespace rill
