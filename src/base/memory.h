// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <filesystem>

namespace rill {

// Bytes that can be taken without swapping: what the machine has and what the control groups of the process leave; page
// cache that would be given back counts as free. 0 if unknown.
std::uint64_t available_memory();

// The same from Linux's /proc and /sys below `root`.
std::uint64_t available_memory(const std::filesystem::path& root);

}  // namespace rill
