// The library's version.
#pragma once

#include "rill/export.h"

namespace rill {

// Of the library that is linked, "major.minor.patch". Thread-safe.
RILL_EXPORT const char* version() noexcept;

}  // namespace rill
