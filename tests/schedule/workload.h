// Requests of all kinds, and what each of them gives alone.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "support/scripted.h"

namespace rill::test {

inline const std::shared_ptr<const Model>& tiny_llama() {
  static const auto model = load_tiny(tiny_options("llama"));
  return model;
}
inline const std::shared_ptr<const Model>& tiny_gemma() {
  static const auto model = load_tiny(tiny_options("gemma3"));
  return model;
}

using Digests = std::vector<std::uint64_t>;

// Notes a digest of all logits of each sample.
class Recorder final : public LogitsProcessor {
 public:
  explicit Recorder(std::shared_ptr<Digests> digests) : digests_(std::move(digests)) {}
  bool needs_full_logits() const override { return true; }
  Result<void> inspect(std::span<const float> logits) override {
    digests_->push_back(XXH3_64bits(logits.data(), logits.size_bytes()));
    return {};
  }
  std::string describe() const override { return "recorder"; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Recorder>(*this); }

 private:
  std::shared_ptr<Digests> digests_;
};

// Allows every tenth token, so that single rows of the head are computed.
class Sparse final : public LogitsProcessor {
 public:
  bool allow(TokenSet& allowed) override {
    for (Token token = 0; token < static_cast<Token>(allowed.vocabulary_size()); ++token) {
      if (token % 40 != 7) allowed.remove(token);
    }
    return true;
  }
  std::string describe() const override { return "sparse"; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Sparse>(*this); }
};

struct Job {
  std::vector<Token> prompt;
  std::size_t max_tokens = 1;
  std::uint64_t seed = 0;
  bool greedy = false;
  bool sparse = false;    // then no digests
  bool lookup = false;
  bool penalty = false;
  int priority = 0;

  GenerateOptions options(const std::shared_ptr<Digests>& digests, std::uint32_t completion = 0) const {
    SamplerChainOptions chain{.seed = seed, .completion_index = completion};
    if (penalty) chain.processors.push_back(repetition_penalty({.penalty = 1.3f}));
    if (sparse) {
      chain.processors.push_back(Sparse());
    } else {
      chain.processors.push_back(Recorder(digests));
    }
    chain.sampler = greedy ? rill::greedy() : categorical();
    GenerateOptions options{.max_tokens = max_tokens, .chain = SamplerChain::create(std::move(chain)).value()};
    options.end_tokens = std::vector<Token>{};
    options.speculation.prompt_lookup = lookup;
    return options;
  }
};

inline Job random_job(std::mt19937& random, std::size_t longest_prompt, std::size_t most_tokens) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Job job{.prompt = some_tokens(1 + below(longest_prompt), static_cast<unsigned>(below(5)))};
  job.max_tokens = 1 + below(most_tokens);
  job.seed = random();
  job.greedy = below(2) == 0;
  job.sparse = below(5) == 0;
  job.lookup = below(4) == 0;
  job.penalty = below(3) == 0;
  job.priority = static_cast<int>(below(3));
  return job;
}

struct Outcome {
  std::vector<Token> tokens;
  std::string text;
  Digests digests;

  bool operator==(const Outcome&) const = default;
};

inline Outcome alone(const std::shared_ptr<const Model>& model, const Job& job, std::uint32_t completion = 0,
                     SessionOptions session_options = {}) {
  const auto digests = std::make_shared<Digests>();
  Session session = Session::create(model, std::move(session_options)).value();
  const auto result = session.generate(job.prompt, job.options(digests, completion)).value().finish().value();
  return {result.tokens, result.text, *digests};
}

}  // namespace rill::test
