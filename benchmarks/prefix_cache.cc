// What does a prefix cache save, and what does its time tell about others?
//
//   prefix_cache MODEL.gguf [--threads N] [--rounds N] [--shared TOKENS] [--own TOKENS] [--probes N] [--json FILE]
//
// First: the time to the first token of a prompt that begins with what an earlier one of its domain began with, against
// that earlier one's; all logits are compared with those of a session without a cache. Then the probe of someone who
// wants to know what another domain has asked: the time of a lookup of a prompt that is held there against one that
// nobody holds, in random order. `auc` is the probability that the first takes longer than the second: 0.5 says that
// nothing can be told. The same for a prompt that the asker's own domain holds shows that the clock would see it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <stdexcept>

#include "kv/prefix_tree.h"
#include "rill/rill.h"
#include "support.h"

namespace {

using namespace rill::benchmarks;
using rill::Token;
using rill::kv::PagePool;
using rill::kv::SequenceCache;

constexpr std::size_t kProbeTokens = 256;

std::vector<float> logits_of(const rill::Session& session) { return session.logits().all().value(); }

class Benchmark {
 public:
  Benchmark(const std::string& path, int threads)
      : model_(rill::Model::load(path, {.threads = threads}).value()),
        pool_(rill::KvPool::create(model_, {.budget_bytes = std::uint64_t{1} << 30}).value()),
        cache_(rill::PrefixCache::create(pool_).value()) {}

  // Milliseconds to the first token.
  double ttft(const std::string& domain, std::span<const Token> prompt, std::size_t shared, std::size_t reused) const {
    auto session = rill::Session::create(model_, {.prefix_cache = cache_, .domain = domain}).value();
    auto answer = session.generate(prompt, {.max_tokens = 1, .cache_boundaries = {shared}}).value();
    const rill::Timings timings = answer.finish().value().timings;
    if (timings.cached_tokens != reused) throw std::runtime_error("another number of tokens was reused");
    auto plain = rill::Session::create(model_).value();
    plain.feed(prompt).value();
    if (logits_of(session) != logits_of(plain)) throw std::runtime_error("a prefix cache has changed the logits");
    return std::chrono::duration<double, std::milli>(timings.ttft.value()).count();
  }

 private:
  std::shared_ptr<const rill::Model> model_;
  std::shared_ptr<rill::KvPool> pool_;
  std::shared_ptr<rill::PrefixCache> cache_;
};

// Lookups alone, over pages so small that many prompts fit.
class Probe {
 public:
  Probe()
      : pool_(PagePool::create({{.layers = 1, .layout = {.kv_heads = 1, .head_dim = 1}}}, std::uint64_t{1} << 26)
                  .value()),
        tree_(pool_, ~std::uint64_t{0}, ~std::uint64_t{0}) {}

  void hold(std::string_view domain, std::span<const Token> prompt) {
    SequenceCache cache(pool_);
    cache.extend_to(prompt.size()).value();
    cache.commit(prompt.size());
    tree_.insert(domain, prompt, cache);
  }

  double nanoseconds(std::string_view domain, std::span<const Token> prompt) {
    SequenceCache found(pool_);
    const auto begin = std::chrono::steady_clock::now();
    tree_.find(domain, prompt.first(prompt.size() - 1), 0, found);
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  std::shared_ptr<PagePool> pool_;
  rill::kv::PrefixTree tree_;
};

// The probability that one of `a` is greater than one of `b`, ties counted half.
double auc(const std::vector<double>& a, std::vector<double> b) {
  std::sort(b.begin(), b.end());
  double above = 0;
  for (const double value : a) {
    const auto [first, last] = std::equal_range(b.begin(), b.end(), value);
    above += static_cast<double>(first - b.begin()) + 0.5 * static_cast<double>(last - first);
  }
  return above / static_cast<double>(a.size()) / static_cast<double>(b.size());
}

std::vector<Token> some_prompt(std::mt19937& random, std::size_t count) {
  std::vector<Token> prompt(count);
  for (Token& token : prompt) token = static_cast<Token>(10 + random() % 1000);
  return prompt;
}

void run(const Arguments& arguments) {
  const Benchmark benchmark(arguments.word(0), static_cast<int>(arguments.number("threads")));
  const std::size_t shared = arguments.number("shared"), own = arguments.number("own");
  std::mt19937 random(1);
  std::vector<double> first, second;
  for (std::size_t round = 0; round < arguments.number("rounds"); ++round) {
    const std::string domain = "round " + std::to_string(round);
    std::vector<Token> prompt = some_prompt(random, shared + own);
    first.push_back(benchmark.ttft(domain, prompt, shared, 0));
    for (std::size_t i = shared; i < prompt.size(); ++i) prompt[i] = prompt[i] == 10 ? 11 : 10;
    second.push_back(benchmark.ttft(domain, prompt, shared, shared));
  }
  std::printf("%zu shared and %zu own tokens: first token after %.2f ms, and then after %.2f ms\n", shared, own,
              median(first), median(second));

  enum Kind : std::size_t { held_by_another, held_by_nobody, held_by_oneself };
  Probe probe;
  const std::size_t probes = arguments.number("probes");
  std::vector<std::pair<Kind, std::vector<Token>>> prompts;
  for (std::size_t i = 0; i < 3 * probes; ++i) {
    prompts.emplace_back(static_cast<Kind>(i % 3), some_prompt(random, kProbeTokens));
    if (i % 3 == held_by_another) probe.hold("other", prompts.back().second);
    if (i % 3 == held_by_oneself) probe.hold("asker", prompts.back().second);
  }
  std::shuffle(prompts.begin(), prompts.end(), random);
  std::vector<double> times[3];
  for (const auto& [kind, prompt] : prompts) times[kind].push_back(probe.nanoseconds("asker", prompt));
  const double told = auc(times[held_by_another], times[held_by_nobody]);
  const double seen = auc(times[held_by_oneself], times[held_by_nobody]);
  std::printf(
      "a lookup of %zu tokens: %.0f ns of what another domain holds, %.0f ns of what nobody holds, %.0f ns of a hit\n",
      kProbeTokens, median(times[held_by_another]), median(times[held_by_nobody]), median(times[held_by_oneself]));
  write_json(arguments.text("json"), Json{{"benchmark", "prefix_cache"},
                                          {"first_ttft_ms", first},
                                          {"cached_ttft_ms", second},
                                          {"probe_other_ns", times[held_by_another]},
                                          {"probe_nobody_ns", times[held_by_nobody]},
                                          {"probe_hit_ns", times[held_by_oneself]}});
  std::printf(
      "first_ttft_ms=%.2f cached_ttft_ms=%.2f ttft_percent=%.2f probe_other_ns=%.0f probe_nobody_ns=%.0f "
      "probe_auc=%.3f hit_auc=%.3f\n",
      median(first), median(second), 100 * median(second) / median(first), median(times[held_by_another]),
      median(times[held_by_nobody]), told, seen);
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] {
    run(Arguments(
        argc, argv,
        "prefix_cache MODEL.gguf [--threads N] [--rounds N] [--shared TOKENS] [--own TOKENS] [--probes N] "
        "[--json FILE]",
        {{"threads", "2"}, {"rounds", "5"}, {"shared", "1000"}, {"own", "16"}, {"probes", "2000"}, {"json", ""}}));
  });
}
