// Where the time of one answer went.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rill/export.h"
#include "rill/metrics.h"

namespace rill {

// On the scheduler's clock. An answer is always in exactly one of the phases, so that they add up to `total`. What
// other answers of the same passes take is part of the phase, since this one waits for them; what it took itself is in
// GenerationResult::timings.
struct Ledger {
  // Phases.
  Duration tokenize{};      // rendering and encoding, within submit()
  Duration queued{};        // until it was admitted
  Duration prefill{};       // from there until the whole prompt was computed
  Duration first_sample{};  // from there until the first token was chosen
  Duration decode{};        // from there to the end
  Duration preempted{};     // without pages, and until all that was lost was computed or read again
  Duration total{};         // from submit() until now, or the end

  // tokenize + queued + prefill + first_sample, and what of `preempted` came before. Absent without a token.
  std::optional<Duration> ttft;
  // Mean, and longest, time between two successive tokens; absent for fewer than two.
  std::optional<Duration> tpot;
  std::optional<Duration> worst_gap;

  std::size_t prompt_tokens = 0;
  std::size_t reused_tokens = 0;      // of the prompt, that somebody had computed before
  std::size_t prefilled_tokens = 0;   // of the prompt, computed for this answer
  std::size_t recomputed_tokens = 0;  // once more, after preemptions
  std::size_t preemptions = 0;
  std::size_t swaps = 0;              // of those, with keys and values kept elsewhere
  std::size_t forced_tokens = 0;      // of the answer, that its grammar left no choice about

  struct Token {
    Duration time{};               // when it was chosen, from submit()
    std::uint32_t batch = 0;       // sequences in its pass
    std::uint64_t bytes_read = 0;  // by its pass: weights, and this answer's keys and values; 0 if forced
  };
  std::vector<Token> tokens;
  // Within first_sample and decode, for this answer:
  Duration masking{};   // grammars and other masks, but for what was done of them during passes
  Duration head{};      // passes over the LM head that it took part in
  Duration sampling{};  // choosing tokens, other processors included

  // A line or two: what most of the time went to (queue, prefill, memory bandwidth, batch, grammar, sampling,
  // preemption), and the figures that say so.
  RILL_EXPORT std::string explain() const;
};

}  // namespace rill
