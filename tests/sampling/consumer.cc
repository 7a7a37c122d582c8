// A program of a consumer's, built twice: plainly, and with -O3 -march=native -ffast-math (whose start-up code also turns on
// flush-to-zero). What it prints must not depend on that (N11). All public headers, and nothing else of rill.
#include <rill/rill.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

// Multiples of 1/1024 in [-8, 8): exact whatever the flags.
std::vector<float> logits_of(std::uint64_t seed, std::size_t size) {
  std::vector<float> logits(size);
  for (float& value : logits) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(static_cast<int>(seed >> 50) - 8192) * (1.0f / 1024);
  }
  return logits;
}

class OddTokens final : public rill::LogitsProcessor {
 public:
  std::string describe() const override { return "odd_tokens"; }
  rill::Result<void> process(rill::Candidates& candidates, rill::Draws&) override {
    candidates.keep_if([&](std::size_t i) { return candidates.id(i) % 2 == 1; });
    return {};
  }
  std::unique_ptr<rill::LogitsProcessor> clone() const override { return std::make_unique<OddTokens>(*this); }
};

void print(const rill::Result<rill::Sample>& sample) {
  if (!sample) {
    std::printf("%s: %s\n", rill::to_string(sample.error().code), sample.error().message.c_str());
    return;
  }
  std::printf("%d %08x", sample->token, std::bit_cast<std::uint32_t>(sample->logprob_final));
  for (const auto& top : sample->top_final) std::printf(" %d:%08x", top.token, std::bit_cast<std::uint32_t>(top.logprob));
  std::printf("\n");
}

void run(const char* name, const rill::SamplingOptions& options, std::vector<rill::Processor> first = {}) {
  std::printf("%s\n", name);
  auto chain = rill::make_chain(options, {.size = 3000, .end_tokens = {2}}, std::move(first)).value();
  const std::vector<rill::Token> prompt = {1, 2, 3, 1, 2};
  chain.observe(prompt);
  for (std::size_t position = 5; position < 45; ++position) {
    const auto sample = chain.sample(rill::DenseLogits(logits_of(position, 3000), position), {.top_logprobs = 2});
    print(sample);
    if (sample) chain.accept(sample->token);
  }
}

float bits(std::uint32_t pattern) { return std::bit_cast<float>(pattern); }

void degenerate() {
  const float inf = bits(0x7f800000), nan = bits(0x7fc00000), lowest = bits(0xff800000);
  for (const rill::Sampler& sampler : {rill::greedy(), rill::categorical(), rill::top_p({.top_p = 0.9f}),
                                       rill::min_p({.min_p = 0.1f}), rill::top_k({.top_k = 1}), rill::mirostat({})}) {
    auto chain = rill::SamplerChain::create({.sampler = sampler}).value();
    for (const std::vector<float>& logits : {std::vector<float>(3, lowest), std::vector<float>(3, nan), {nan, 1, 2}, {inf, 0, 0},
                                             {0, lowest, bits(1)}, {bits(0x80000000), 0, lowest}}) {
      print(chain.sample(rill::DenseLogits(logits, 0), {.top_logprobs = 3, .raw = false}));
    }
  }
}

}  // namespace

int main() {
  degenerate();
  run("default", {.seed = 1});
  run("chat", rill::presets::chat());
  run("creative", rill::presets::creative());
  run("odd", {.repetition = {.penalty = 1.3f}, .temperature = 0.7f, .top_k = 50, .typical_p = 0.9f}, {OddTokens()});
  run("sigma", {.frequency = {.penalty = 0.3f}, .presence = {.penalty = 0.1f}, .top_n_sigma = 1.3f, .temperature = 1.7f});
  run("xtc", {.dry = {.multiplier = 0.7f}, .min_p = 0.01f, .xtc = {.probability = 0.5f, .threshold = 0.01f}});
  run("mirostat", {.mirostat = rill::MirostatOptions{.temperature = 0.9f, .tau = 3}});
  for (const float bad : {bits(0x7fc00000), bits(0x7f800000), bits(0x80000001)}) {
    const auto chain = rill::make_chain({.temperature = bad}, {.size = 3});
    std::printf("%s\n", chain ? "accepted" : chain.error().message.c_str());
  }
  return 0;
}
