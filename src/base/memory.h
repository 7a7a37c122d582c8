// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <filesystem>

#include "rill/kv_plan.h"

namespace rill {

// available_memory() from Linux's /proc and /sys below `root`.
std::uint64_t available_memory(const std::filesystem::path& root);

}  // namespace rill
