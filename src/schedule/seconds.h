#pragma once

#include <chrono>

#include "rill/metrics.h"

namespace rill::schedule {

inline double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace rill::schedule
