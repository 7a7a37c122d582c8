// The library's first promise, on tiny models: the same bits whatever the threads, the cutting of the work, the company
// in a batch, the history of the cache, the rows of the head, the SIMD target and the host's floating-point mode.
// Settings meet in all pairs, and element type, target and batch in all triples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

#include "model/tiny_baselines.h"
#include "support/covering_array.h"
#include "support/random_weights.h"

namespace rill {
namespace {

using kernels::KernelTable;
using test::Cut;
using test::Head;
using test::History;
using test::HostFloatMode;

constexpr std::size_t kBatches[] = {1, 2, 5, 8};
constexpr std::size_t kChunks[] = {1, 7, 16, 64, 512};
constexpr int kThreads[] = {1, 2, 3};
constexpr Head kHeads[] = {Head::full, Head::few, Head::half};
constexpr History kHistories[] = {History::straight, History::rolled_back, History::refilled, History::child_of_fork,
                                  History::parent_of_fork};
constexpr std::optional<HostFloatMode> kHosts[] = {std::nullopt, HostFloatMode::flush_denormals,
                                                   HostFloatMode::round_down, HostFloatMode::round_up,
                                                   HostFloatMode::round_to_zero};
constexpr Cut kCuts[] = {Cut::prefill_chunk, Cut::pieces};

enum Factor : std::size_t {
  type,
  target,
  batch,
  chunk,
  kv_type,
  architecture,
  threads,
  activations,
  head,
  history,
  host,
  cut,
  length
};

std::vector<std::size_t> factor_sizes() {
  return {std::size(test::kAllElementTypes),
          kernels::available_tables().size(),
          std::size(kBatches),
          std::size(kChunks),
          std::size(test::kKvTypes),
          std::size(test::kArchitectures),
          std::size(kThreads),
          std::size(test::kActivations),
          std::size(kHeads),
          std::size(kHistories),
          std::size(kHosts),
          std::size(kCuts),
          std::size(test::kLengths)};
}

// Rows of indices into the arrays above.
const std::vector<std::vector<std::size_t>>& matrix() {
  static const auto rows = [] {
    const std::vector<std::size_t> sizes = factor_sizes();
    std::vector<test::FactorSet> sets = test::all_pairs(sizes.size());
    sets.insert(sets.begin(), {type, target, batch});
    return test::covering_array(sizes, sets);
  }();
  return rows;
}

TEST(BitsMatrix, HoldsEveryPairAndTheTriplesOfTypeTargetAndBatch) {
  const std::vector<std::size_t> sizes = factor_sizes();
  ASSERT_EQ(sizes.size(), std::size_t{length} + 1);
  std::size_t pairs = 0;
  for (std::size_t f = 0; f < sizes.size(); ++f) {
    for (std::size_t g = f + 1; g < sizes.size(); ++g) {
      std::set<std::pair<std::size_t, std::size_t>> seen;
      for (const auto& row : matrix()) seen.emplace(row[f], row[g]);
      ASSERT_EQ(seen.size(), sizes[f] * sizes[g]) << "factors " << f << " and " << g;
      pairs += seen.size();
    }
  }
  std::set<std::vector<std::size_t>> triples;
  for (const auto& row : matrix()) {
    triples.insert({row[type], row[target], row[batch]});
    for (std::size_t f = 0; f < sizes.size(); ++f) ASSERT_LT(row[f], sizes[f]);
  }
  ASSERT_EQ(triples.size(), sizes[type] * sizes[target] * sizes[batch]);
  std::printf("%zu ways hold %zu pairs and %zu triples\n", matrix().size(), pairs, triples.size());
}

// What was not run must not look as if it had been. scripts/test repeats these lines.
TEST(BitsMatrix, TellsWhichTargetsAreNotRun) {
  constexpr const char* kTargets[] = {"scalar",      "sse4", "avx2",         "avx_vnni", "avx512",
                                      "avx512_vnni", "neon", "neon_dotprod", "neon_i8mm"};
  std::set<std::string> run, lacking(kernels::unavailable_tables().begin(), kernels::unavailable_tables().end());
  for (const KernelTable* table : kernels::available_tables()) run.insert(table->name);
  for (const char* name : kTargets) {
    if (run.erase(name) != 0) continue;
    const char* why = lacking.erase(name) != 0 ? "which this machine lacks" : "which this build does not hold";
    std::printf("not run: bits on %s, %s\n", name, why);
  }
  EXPECT_TRUE(run.empty() && lacking.empty()) << "a target is missing in kTargets";
}

struct Answer {
  std::vector<Token> tokens;
  test::Rows logits;
  bool operator==(const Answer&) const = default;
};

// A greedy answer of 64 tokens, with others beside it whose prompts are shorter and longer.
Answer greedy_answer(const std::shared_ptr<const Model>& model, std::size_t batch) {
  const std::size_t mine = batch / 2;
  std::vector<Session> sessions;
  std::vector<std::vector<Token>> next;
  for (std::size_t i = 0; i < batch; ++i) {
    sessions.push_back(Session::create(model).value());
    const std::size_t length = i == mine ? 20 : 5 + 7 * i;
    next.push_back(test::random_tokens(model->info().vocabulary_size, length, static_cast<unsigned>(length)));
  }
  Answer answer;
  while (answer.tokens.size() < 64) {
    std::vector<FeedItem> items;
    for (std::size_t i = 0; i < batch; ++i) items.push_back({&sessions[i], next[i]});
    feed_batch(items).value();
    for (std::size_t i = 0; i < batch; ++i) {
      std::vector<float> logits = sessions[i].logits().all().value();
      next[i] = {static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin())};
      if (i == mine) answer.logits.push_back(std::move(logits));
    }
    answer.tokens.push_back(next[mine].front());
  }
  return answer;
}

TEST(GreedyAnswer, N05DoesNotDependOnCompanyOrThreads) {
  for (const char* architecture : test::kArchitectures) {
    const test::Load load = test::loader({.architecture = architecture, .type = ElementType::q4_1});
    std::optional<Answer> alone;
    for (const int threads : {1, 2, 4}) {
      const auto model = load({.threads = threads, .target = kernels::available_tables().front()->name});
      for (const std::size_t batch : {1u, 2u, 5u, 8u}) {
        const Answer answer = greedy_answer(model, batch);
        if (!alone) alone = answer;
        EXPECT_EQ(answer.tokens, alone->tokens) << architecture << ", " << threads << " threads, batch of " << batch;
        EXPECT_TRUE(answer == *alone) << architecture << ", " << threads << " threads, batch of " << batch;
      }
    }
  }
}

class BitsOfTypeTest : public testing::TestWithParam<ElementType> {};
INSTANTIATE_TEST_SUITE_P(TinyModels, BitsOfTypeTest, testing::ValuesIn(test::kAllElementTypes),
                         [](const auto& param) { return std::string(rill::info(param.param).name); });

TEST_P(BitsOfTypeTest, AreThoseOfTheBaselineInEveryWay) {
  std::size_t ways = 0;
  for (const auto& row : matrix()) {
    if (test::kAllElementTypes[row[type]] != GetParam()) continue;
    const KernelTable* table = kernels::available_tables()[row[target]];
    const test::Way way{.target = table->name,
                        .activations = test::kActivations[row[activations]],
                        .kv_type = test::kKvTypes[row[kv_type]],
                        .threads = kThreads[row[threads]],
                        .chunk = kChunks[row[chunk]],
                        .cut = kCuts[row[cut]],
                        .batch = kBatches[row[batch]],
                        .head = kHeads[row[head]],
                        .history = kHistories[row[history]],
                        .host = kHosts[row[host]]};
    const test::Identity identity{table->numerics_class, test::kArchitectures[row[architecture]], GetParam(),
                                  way.kv_type, way.activations};
    SCOPED_TRACE(to_string(identity));
    const test::Sequence sequence = test::sequence(test::kLengths[row[length]]);
    EXPECT_GE(test::expect_same_bits(loader(identity), way, sequence, baseline(identity)), 5 * sequence.tokens.size());
    ++ways;
  }
  EXPECT_GE(ways, factor_sizes()[target] * std::size(kBatches));
}

}  // namespace
}  // namespace rill
