// The arithmetic of temperature and truncation on candidates; an option's off value changes nothing. All keep at
// least one candidate and report degenerate logits as find_peak() does. Formulas: docs/sampling.md.
#pragma once

#include "rill/candidates.h"
#include "rill/logits_processor.h"
#include "rill/result.h"
#include "rill/token.h"

namespace rill::sampling {

Result<void> apply_temperature(Candidates& candidates, float temperature);  // temperature > 0
Result<void> keep_top_k(Candidates& candidates, int k);
Result<void> keep_top_p(Candidates& candidates, float p);
Result<void> keep_min_p(Candidates& candidates, float p);
Result<void> keep_typical(Candidates& candidates, float p);
Result<void> keep_top_n_sigma(Candidates& candidates, float n);
Result<void> exclude_top_choices(Candidates& candidates, float threshold);

Result<Token> pick_best(Candidates& candidates);
Result<Token> draw(Candidates& candidates, Draws& draws);  // from the softmax

}  // namespace rill::sampling
