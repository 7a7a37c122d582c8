// How much of the waiting prompts fits into a pass beside the decodes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "rill/scheduler.h"

namespace rill::schedule {

using PassCost = std::function<Duration(const PassShape&)>;

inline constexpr std::size_t kLeastPrefill = 8;  // tokens of a pass, however little time there is

// A prompt that is not wholly computed yet.
struct PendingPrompt {
  std::size_t held = 0;     // tokens before
  std::size_t missing = 0;  // tokens to come, at least 1
};

// Tokens of each prompt, in order, for a pass that has the decodes of `pass` anyway: at most `most` together, and as many
// as `cost` says to fit in `budget`. Without decodes nobody waits for the pass, and the budget does not bind.
std::vector<std::size_t> plan_prefill(PassShape pass, std::span<const PendingPrompt> prompts, std::size_t most,
                                      std::optional<Duration> budget, const PassCost& cost);

// The pass with `rows` tokens of an answer more.
PassShape with_decode(PassShape pass, std::size_t held, std::size_t rows);
// The pass with `count` tokens of a prompt more.
PassShape with_prefill(PassShape pass, const PendingPrompt& prompt, std::size_t count);

// Tokens that `count` rows behind `held` tokens look back at, themselves included.
constexpr std::uint64_t attended_by(std::uint64_t held, std::uint64_t count) {
  return count * held + count * (count + 1) / 2;
}

}  // namespace rill::schedule
