// From logits to a token: any number of processors, then exactly one sampler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/candidates.h"
#include "rill/export.h"
#include "rill/logits.h"
#include "rill/logits_processor.h"
#include "rill/processors.h"
#include "rill/result.h"
#include "rill/token.h"
#include "rill/token_set.h"

namespace rill {

namespace session {
class GenerationState;
}

struct SamplerChainOptions {
  std::vector<Processor> processors = {};  // in the order in which they are applied
  Sampler sampler = greedy();
  std::uint64_t seed = 0;               // the same seed gives the same tokens; for variety pass another each time
  std::uint32_t completion_index = 0;   // tells apart several completions of one seed
};

struct TokenLogprob {
  Token token = 0;
  float logprob = 0.0f;  // natural logarithm
};

struct LogprobOptions {
  std::size_t top_logprobs = 0;  // how many of the most likely tokens to list in each of the two ways
  bool raw = true;               // also before any mask or processor; computes the whole head
};

// Log-probabilities come in two kinds. Raw: the softmax of the model's logits, before any mask or processor. Final: of
// the distribution that the sampler drew from, after masks, processors, temperature and truncation; what cannot be
// chosen is not listed. Greedy takes the best of its distribution and does not narrow it.
struct Sample {
  Token token = 0;
  float logprob_final = 0.0f;
  std::optional<float> logprob_raw = std::nullopt;     // if LogprobOptions::raw
  std::vector<TokenLogprob> top_final;  // most likely first, ties: lower id first
  std::vector<TokenLogprob> top_raw;
};

// Copying clones every stage with its state. One thread at a time.
class RILL_EXPORT SamplerChain {
 public:
  // Error invalid_argument names the option that is out of range, and its value.
  static Result<SamplerChain> create(SamplerChainOptions options = {});

  // Chooses the token at logits.position(). Changes no state: asked again, it answers the same.
  // Errors: degenerate_logits if every token is masked or -inf or one is NaN (of several +inf the lowest id is chosen);
  // what the source, a processor or a pending observe / accept reports.
  Result<Token> sample(const LogitsSource& logits);
  Result<Sample> sample(const LogitsSource& logits, const LogprobOptions& report);

  // What of the next sample() needs no logits: LogitsProcessor::prepare of every processor. Changes no answer. Generations
  // and schedulers call it on a thread of the pool while the pass runs; a loop of one's own may do the same.
  void prepare() noexcept;

  // History that penalties may count, not generated text. An error of a stage in this and in accept() is kept and
  // returned by status() and every sample() until reset().
  void observe(std::span<const Token> tokens);
  // The token that was generated, whether this chain chose it or not. Only this advances the state.
  void accept(Token token);
  Result<void> status() const;
  // Undoes the last `count` accept calls. Error invalid_argument, and nothing changes, if there were fewer since the
  // last observe().
  Result<void> rollback(std::size_t count);
  // As created: nothing observed, nothing accepted.
  void reset();
  SamplerChain clone() const { return *this; }
  // From the next sample() on: clones of one chain with different indices draw differently.
  std::uint32_t completion_index() const { return options_.completion_index; }
  void set_completion_index(std::uint32_t index) { options_.completion_index = index; }

  // The state of every stage, the seed and the completion index, as bytes; and back, into a chain that was created with
  // the same stages in the same order. All or nothing. Errors of save: status(); unsupported names the stage that does
  // not override save_state. Errors of restore: incompatible names the stage that is another; malformed.
  Result<std::vector<std::byte>> save() const;
  Result<void> restore(std::span<const std::byte> saved);

  // What the masks allowed in the last sample(): every token where there are none, and no vocabulary at all before the
  // first.
  const TokenSet& allowed() const { return allowed_; }

  // One line for each stage in the order of application, the sampler last.
  std::vector<std::string> describe() const;

 private:
  friend class session::GenerationState;

  explicit SamplerChain(SamplerChainOptions options) : options_(std::move(options)) {}

  // `forced`: that token, if the masks allow it.
  Result<Sample> sample_or(const LogitsSource& logits, const LogprobOptions* report, std::optional<Token> forced);
  Result<Sample> run(const LogitsSource& logits, const LogprobOptions* report, std::optional<Token> forced);
  Result<void> choose(const LogitsSource& logits, std::size_t allowed, const LogprobOptions* report, Sample& sample);
  bool needs_full_head(const LogprobOptions* report) const;
  Result<std::vector<Token>> forced();
  Result<std::size_t> ask_allowed(std::size_t vocabulary);
  Result<void> fill_candidates(const LogitsSource& logits, std::size_t allowed, bool full_head);
  template <typename Action>
  void for_each_stage(Action action) const;
  template <typename Action>
  void update(Action action);

  SamplerChainOptions options_;
  std::size_t accepted_ = 0;  // since the last observe
  std::optional<Error> pending_;
  // Working memory of sample().
  TokenSet allowed_;
  Candidates candidates_;
  Candidates raw_;  // the whole vocabulary as the head gave it, if raw log-probabilities are asked for
};

}  // namespace rill
