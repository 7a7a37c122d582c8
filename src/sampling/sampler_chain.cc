#include "rill/sampler_chain.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/archive.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "sampling/softmax.h"

namespace rill {
namespace {

// The head is read in groups of 16 rows, so that asking for single rows pays only where at most one in 16 is wanted.
constexpr std::size_t kSparseness = 16;

}  // namespace

template <typename Action>
void SamplerChain::for_each_stage(Action action) const {
  for (const Processor& processor : options_.processors) action(static_cast<ChainStage&>(*processor));
  if (options_.sampler) action(static_cast<ChainStage&>(*options_.sampler));
}

// Runs `action` on every stage, and keeps the first error.
template <typename Action>
void SamplerChain::update(Action action) {
  if (pending_ || !options_.sampler) return;
  const ScopedFloatMode mode;
  auto result = guarded([&]() -> Result<void> {
    Result<void> first;
    for_each_stage([&](ChainStage& stage) {
      Result<void> done = action(stage);
      if (first && !done) first = std::move(done);
    });
    return first;
  });
  if (!result) pending_ = std::move(result).error();
}

Result<SamplerChain> SamplerChain::create(SamplerChainOptions options) {
  const ScopedFloatMode mode;
  return guarded([&]() -> Result<SamplerChain> {
    for (std::size_t i = 0; i < options.processors.size(); ++i) {
      const Processor& processor = options.processors[i];
      if (!processor) return make_error(ErrorCode::invalid_argument, "processors[{}] is empty", i);
      if (Result<void> valid = processor->validate(); !valid) {
        return make_error(valid.error().code, "processors[{}], {}: {}", i, processor->describe(),
                          valid.error().message);
      }
    }
    if (!options.sampler) return Error{ErrorCode::invalid_argument, "the sampler is empty"};
    if (Result<void> valid = options.sampler->validate(); !valid) {
      return make_error(valid.error().code, "sampler, {}: {}", options.sampler->describe(), valid.error().message);
    }
    if (options.processors.size() >= std::numeric_limits<std::uint16_t>::max()) {
      return make_error(ErrorCode::limit_exceeded, "{} processors in one chain", options.processors.size());
    }
    return SamplerChain(std::move(options));
  });
}

void SamplerChain::prepare() noexcept {
  if (pending_) return;
  const ScopedFloatMode mode;
  for (Processor& processor : options_.processors) {
    try {
      processor->prepare();
    } catch (...) {  // allow() meets it again, and is heard
    }
  }
}

// Asks every processor what it allows; returns how many tokens that leaves.
Result<std::size_t> SamplerChain::ask_allowed(std::size_t vocabulary) {
  if (vocabulary == 0 || vocabulary > sampling::kMaxVocabulary) {
    return make_error(ErrorCode::limit_exceeded, "a vocabulary of {} tokens: must be 1 to {}", vocabulary,
                      sampling::kMaxVocabulary);
  }
  allowed_.reset(vocabulary);
  bool masked = false;
  for (Processor& processor : options_.processors) masked |= processor->allow(allowed_);
  return masked ? allowed_.count() : vocabulary;
}

Result<void> SamplerChain::fill_candidates(const LogitsSource& logits, std::size_t allowed, bool full_head) {
  const std::size_t vocabulary = logits.vocabulary_size();
  if (!full_head && allowed * kSparseness <= vocabulary) {
    std::vector<Token> ids;
    ids.reserve(allowed);
    allowed_.for_each([&ids](Token token) { ids.push_back(token); });
    candidates_.assign(ids, vocabulary);
    return logits.rows(ids, candidates_.values());
  }
  candidates_.assign_all(vocabulary);
  RILL_TRY(logits.all(candidates_.values()));
  for (Processor& processor : options_.processors) {
    if (processor->needs_full_logits()) RILL_TRY(processor->inspect(candidates_.values()));
  }
  return {};
}

bool SamplerChain::needs_full_head(const LogprobOptions* report) const {
  return (report != nullptr && report->raw) ||
         std::any_of(options_.processors.begin(), options_.processors.end(),
                     [](const Processor& processor) { return processor->needs_full_logits(); });
}

// Those of the first processor that has any.
Result<std::vector<Token>> SamplerChain::forced() {
  const ScopedFloatMode mode;
  return guarded([&]() -> Result<std::vector<Token>> {
    for (Processor& processor : options_.processors) {
      RILL_ASSIGN(std::vector<Token> tokens, processor->forced());
      if (!tokens.empty()) return tokens;
    }
    return std::vector<Token>();
  });
}

Result<Sample> SamplerChain::run(const LogitsSource& logits, const LogprobOptions* report,
                                 std::optional<Token> forced) {
  if (!options_.sampler) return Error{ErrorCode::invalid_argument, "the chain was moved from"};
  if (pending_) return *pending_;
  RILL_ASSIGN(const std::size_t allowed, ask_allowed(logits.vocabulary_size()));
  logits.masks_done();
  if (allowed == 0) {
    return make_error(ErrorCode::degenerate_logits, "no token is allowed at position {}", logits.position());
  }
  std::optional<Token> only;
  if (forced && allowed_.contains(*forced)) only = forced;
  if (allowed == 1) allowed_.for_each([&only](Token token) { only = token; });
  const bool raw = report != nullptr && report->raw;
  const bool full_head = needs_full_head(report);
  if (!only || full_head) RILL_TRY(fill_candidates(logits, allowed, full_head));
  if (raw) raw_ = candidates_;
  Sample sample;
  if (only) {
    sample.token = *only;
    if (report != nullptr && report->top_logprobs > 0) sample.top_final.push_back({sample.token, 0.0f});
  } else {
    RILL_TRY(choose(logits, allowed, report, sample));
  }
  if (raw) {
    RILL_ASSIGN(sampling::Logprobs distribution,
                sampling::log_probabilities(raw_, sample.token, report->top_logprobs));
    sample.logprob_raw = distribution.chosen;
    sample.top_raw = std::move(distribution.top);
  }
  return sample;
}

// From candidates that hold the logits: the processors' changes, then the sampler's choice.
Result<void> SamplerChain::choose(const LogitsSource& logits, std::size_t allowed, const LogprobOptions* report,
                                  Sample& sample) {
  if (candidates_.size() != allowed) candidates_.keep(allowed_);
  const auto draws = [&](std::size_t stream) {
    return Draws(options_.seed, options_.completion_index, logits.position(), static_cast<std::uint16_t>(stream));
  };
  for (std::size_t i = 0; i < options_.processors.size(); ++i) {
    Draws own = draws(i + 1);
    RILL_TRY(options_.processors[i]->process(candidates_, own));
  }
  Draws own = draws(0);
  RILL_ASSIGN(sample.token, options_.sampler->pick(candidates_, own));
  if (!candidates_.find(sample.token)) {
    return make_error(ErrorCode::invalid_argument, "{} chose token {}, which is not a candidate",
                      options_.sampler->describe(), sample.token);
  }
  if (report == nullptr) return {};
  RILL_ASSIGN(sampling::Logprobs distribution,
              sampling::log_probabilities(candidates_, sample.token, report->top_logprobs));
  sample.logprob_final = distribution.chosen;
  sample.top_final = std::move(distribution.top);
  return {};
}

Result<Token> SamplerChain::sample(const LogitsSource& logits) {
  RILL_ASSIGN(const Sample sample, sample_or(logits, nullptr, std::nullopt));
  return sample.token;
}

Result<Sample> SamplerChain::sample(const LogitsSource& logits, const LogprobOptions& report) {
  return sample_or(logits, &report, std::nullopt);
}

Result<Sample> SamplerChain::sample_or(const LogitsSource& logits, const LogprobOptions* report,
                                       std::optional<Token> forced) {
  const ScopedFloatMode mode;
  return guarded([&] { return run(logits, report, forced); });
}

void SamplerChain::observe(std::span<const Token> tokens) {
  accepted_ = 0;
  update([tokens](ChainStage& stage) { return stage.observe(tokens); });
}

void SamplerChain::accept(Token token) {
  ++accepted_;
  update([token](ChainStage& stage) { return stage.accept(token); });
}

Result<void> SamplerChain::status() const {
  return guarded([&]() -> Result<void> { return pending_ ? Result<void>(*pending_) : Result<void>(); });
}

Result<void> SamplerChain::rollback(std::size_t count) {
  if (count > accepted_) {
    return make_error(ErrorCode::invalid_argument, "rollback of {} tokens: {} were accepted since the last observe",
                      count, accepted_);
  }
  if (pending_) return *pending_;
  accepted_ -= count;
  update([count](ChainStage& stage) -> Result<void> {
    stage.rollback(count);
    return {};
  });
  return {};
}

void SamplerChain::reset() {
  accepted_ = 0;
  pending_.reset();
  update([](ChainStage& stage) -> Result<void> {
    stage.reset();
    return {};
  });
}

std::vector<std::string> SamplerChain::describe() const {
  std::vector<std::string> lines;
  for_each_stage([&](const ChainStage& stage) { lines.push_back(stage.describe()); });
  return lines;
}

Result<std::vector<std::byte>> SamplerChain::save() const {
  const ScopedFloatMode mode;
  return guarded([&]() -> Result<std::vector<std::byte>> {
    if (!options_.sampler) return Error{ErrorCode::invalid_argument, "the chain was moved from"};
    if (pending_) return *pending_;
    ArchiveWriter archive;
    archive(options_.seed, options_.completion_index, accepted_, options_.processors.size() + 1);
    std::optional<Error> error;
    for_each_stage([&](const ChainStage& stage) {
      const auto state = stage.save_state();
      if (!state && !error) error = make_error(state.error().code, "{}: {}", stage.describe(), state.error().message);
      if (state) archive(stage.describe(), *state);
    });
    if (error) return *std::move(error);
    return archive.take();
  });
}

Result<void> SamplerChain::restore(std::span<const std::byte> saved) {
  const ScopedFloatMode mode;
  return guarded([&]() -> Result<void> {
    if (!options_.sampler) return Error{ErrorCode::invalid_argument, "the chain was moved from"};
    SamplerChain chain = *this;
    ArchiveReader archive(saved);
    std::size_t count = 0;
    archive(chain.options_.seed, chain.options_.completion_index, chain.accepted_, count);
    std::vector<ChainStage*> stages;
    chain.for_each_stage([&](ChainStage& stage) { stages.push_back(&stage); });
    if (!archive.failed() && count != stages.size()) {
      return make_error(ErrorCode::incompatible, "a chain of {} stages was saved, this one has {}", count,
                        stages.size());
    }
    for (std::size_t i = 0; i < stages.size() && !archive.failed(); ++i) {
      std::string description;
      std::vector<std::byte> state;
      archive(description, state);
      if (!archive.failed() && description != stages[i]->describe()) {
        return make_error(ErrorCode::incompatible, "stage {} of the chain was {} when it was saved, and is {}", i,
                          description, stages[i]->describe());
      }
      if (archive.failed()) break;
      if (const auto done = stages[i]->restore_state(state); !done) {
        return make_error(done.error().code, "{}: {}", description, done.error().message);
      }
    }
    RILL_TRY(archive.finish("sampler chain"));
    chain.pending_.reset();
    *this = std::move(chain);
    return {};
  });
}

}  // namespace rill
