#include "schedule/step_plan.h"

#include <algorithm>

namespace rill::schedule {

PassShape with_decode(PassShape pass, std::size_t held, std::size_t rows) {
  pass.decode_rows += rows;
  pass.head_rows += rows;
  pass.attended += attended_by(held, rows);
  return pass;
}

PassShape with_prefill(PassShape pass, const PendingPrompt& prompt, std::size_t count) {
  pass.prefill_rows += count;
  pass.attended += attended_by(prompt.held, count);
  if (count == prompt.missing) ++pass.head_rows;
  return pass;
}

std::vector<std::size_t> plan_prefill(PassShape pass, std::span<const PendingPrompt> prompts, std::size_t most,
                                      std::optional<Duration> budget, const PassCost& cost) {
  std::vector<std::size_t> counts(prompts.size());
  const bool bound = budget && pass.decode_rows > 0;
  std::size_t left = most;
  for (std::size_t i = 0; i < prompts.size() && left > 0; ++i) {
    const std::size_t wanted = std::min(prompts[i].missing, left);
    std::size_t count = wanted;
    if (bound && cost(with_prefill(pass, prompts[i], wanted)) > *budget) {
      // The most that fits, between one that does and one that does not.
      std::size_t fits = 0;
      while (count - fits > 1) {
        const std::size_t middle = fits + (count - fits) / 2;
        (cost(with_prefill(pass, prompts[i], middle)) > *budget ? count : fits) = middle;
      }
      count = fits - fits % kLeastPrefill;  // whole tiles of the kernels
      if (i == 0) count = std::max(count, std::min(kLeastPrefill, wanted));
    }
    if (count == 0) break;
    counts[i] = count;
    pass = with_prefill(pass, prompts[i], count);
    left -= count;
    if (count < wanted) break;
  }
  return counts;
}

}  // namespace rill::schedule
