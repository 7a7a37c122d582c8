// The arithmetic of temperature and truncation on candidates. All keep at least the best candidate, and all report
// degenerate logits as find_peak() does. Formulas: docs/sampling.md.
#pragma once

#include "rill/candidates.h"
#include "rill/result.h"

namespace rill::sampling {

Result<void> apply_temperature(Candidates& candidates, float temperature);  // temperature > 0
Result<void> keep_top_p(Candidates& candidates, float top_p);

}  // namespace rill::sampling
