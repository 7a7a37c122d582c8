// The two plug points of a sampler chain: processors, which mask and change logits, and the sampler, which chooses.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/candidates.h"
#include "rill/export.h"
#include "rill/result.h"
#include "rill/token.h"
#include "rill/token_set.h"

namespace rill {

// Random numbers that are a function of (seed, completion index, position, stream, how many were drawn) alone:
// Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011). The sampler draws from stream 0,
// the processor at place i of the chain from stream i + 1, so that none shifts the numbers of another. One thread at a
// time.
class RILL_EXPORT Draws {
 public:
  Draws(std::uint64_t seed, std::uint32_t completion_index, std::size_t position, std::uint16_t stream)
      : seed_(seed), position_(position), completion_index_(completion_index), stream_(stream) {}

  std::uint64_t next();  // 64 uniform bits

 private:
  std::uint64_t seed_;
  std::uint64_t position_;
  std::uint32_t completion_index_;
  std::uint16_t stream_;
  std::uint16_t drawn_ = 0;
};

// What processors and samplers have in common: a state that follows the tokens. One thread at a time.
class RILL_EXPORT ChainStage {
 public:
  virtual ~ChainStage();

  // Refuses options that are out of range. Asked once, when the chain is created.
  virtual Result<void> validate() const { return {}; }
  // One line for SamplerChain::describe(), e.g. "top_k(k=40)".
  virtual std::string describe() const = 0;

  // Tokens that stand before what is generated: the prompt, or a later turn.
  virtual Result<void> observe(std::span<const Token> tokens);
  // A generated token, chosen by this chain or not. Only this advances the state.
  virtual Result<void> accept(Token token);
  // Undoes the last `count` accept calls; the chain never asks for more than there were since the last observe.
  virtual void rollback(std::size_t count);
  // Back to the state after construction: nothing observed, nothing accepted.
  virtual void reset() {}

  // What has been observed and accepted, as bytes of the stage's own, for a saved session; and back, into a stage that was
  // made with the same options. Must be overridden by a stage that is to be saved: one without a state saves nothing,
  // {}. By default unsupported, so that no state is lost unseen. restore_state may leave anything behind on error.
  virtual Result<std::vector<std::byte>> save_state() const;
  virtual Result<void> restore_state(std::span<const std::byte> saved);

 protected:
  ChainStage() = default;
  ChainStage(const ChainStage&) = default;
  ChainStage& operator=(const ChainStage&) = default;
};

// Implement this to put a rule of your own into a chain; it is treated as a built-in is.
class RILL_EXPORT LogitsProcessor : public ChainStage {
 public:
  ~LogitsProcessor() override;

  // Removes what must not be chosen from `allowed` and returns true, or returns false and leaves it alone. All
  // processors are asked before logits are computed and before any process(), wherever they stand in the chain.
  virtual bool allow(TokenSet& allowed);
  // Does ahead what allow() would have to, where that takes time; allow() then says the same as without. Called by any
  // thread while the tokens before are computed, and never during another call of the chain; what it throws is not heard.
  virtual void prepare() {}
  // The tokens that come next whatever the logits say, for GenerateOptions::forced_tokens; each is taken if all processors
  // allow it. Asked again when they are accepted: it need not list all that follow.
  virtual Result<std::vector<Token>> forced();
  // Changes or removes candidates. Called in the order of the chain, but not where a single token is allowed.
  virtual Result<void> process(Candidates& candidates, Draws& draws);
  // True if inspect() is to be called, which makes the chain compute the whole head however few tokens are allowed.
  virtual bool needs_full_logits() const { return false; }
  // The logits of the whole vocabulary before any mask and process().
  virtual Result<void> inspect(std::span<const float> logits);

  virtual std::unique_ptr<LogitsProcessor> clone() const = 0;
};

// Chooses one of the candidates.
class RILL_EXPORT TokenSampler : public ChainStage {
 public:
  ~TokenSampler() override;

  // Leaves in `candidates` the distribution that it drew from.
  virtual Result<Token> pick(Candidates& candidates, Draws& draws) = 0;
  virtual std::unique_ptr<TokenSampler> clone() const = 0;
};

// A value that owns a Stage; a copy is a clone with the same state. Empty after a move, and refused by a chain then.
// One thread at a time.
template <typename Stage>
class StageHandle {
 public:
  StageHandle(std::unique_ptr<Stage> stage) : stage_(std::move(stage)) {}
  template <std::derived_from<Stage> Concrete>
  StageHandle(Concrete stage) : stage_(std::make_unique<Concrete>(std::move(stage))) {}

  StageHandle(const StageHandle& other) : stage_(other.stage_ ? other.stage_->clone() : nullptr) {}
  StageHandle(StageHandle&&) noexcept = default;
  StageHandle& operator=(const StageHandle& other) {
    if (this != &other) stage_ = other.stage_ ? other.stage_->clone() : nullptr;
    return *this;
  }
  StageHandle& operator=(StageHandle&&) noexcept = default;

  explicit operator bool() const noexcept { return stage_ != nullptr; }
  Stage* operator->() const noexcept { return stage_.get(); }
  Stage& operator*() const noexcept { return *stage_; }

 private:
  std::unique_ptr<Stage> stage_;
};

using Processor = StageHandle<LogitsProcessor>;
using Sampler = StageHandle<TokenSampler>;

}  // namespace rill
