#include "rill/version.h"

namespace rill {

const char* version() noexcept { return RILL_VERSION; }

}  // namespace rill
