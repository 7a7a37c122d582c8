// Token ids.
#pragma once

#include <cstdint>

namespace rill {

// Index into a model's vocabulary, 0 <= id < vocabulary size. Signed, so that a caller's -1 is refused and not wrapped.
using Token = std::int32_t;

}  // namespace rill
