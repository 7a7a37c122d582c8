#include "base/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "base/control_groups.h"
#include "base/os.h"

namespace rill {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> number_in(const fs::path& path) {
  std::uint64_t value;
  if (!(std::ifstream(path) >> value)) return std::nullopt;  // no such file, or "max"
  return value;
}

// The number after `key` in a file of "key number" lines, such as /proc/meminfo and a group's memory.stat.
std::optional<std::uint64_t> field(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    std::uint64_t value;
    if (word == key) return file >> value ? std::optional(value) : std::nullopt;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

// What one group leaves, if it limits memory. Version 1 writes "no limit" as a number near 2^63, which limits nothing.
std::optional<std::uint64_t> room(const fs::path& group) {
  auto limit = number_in(group / "memory.max"), usage = number_in(group / "memory.current");
  auto cache = field(group / "memory.stat", "inactive_file");
  if (!limit) {
    limit = number_in(group / "memory.limit_in_bytes");
    usage = number_in(group / "memory.usage_in_bytes");
    cache = field(group / "memory.stat", "total_inactive_file");
  }
  if (!limit || !usage) return std::nullopt;
  const std::uint64_t held = *usage - std::min(*usage, cache.value_or(0));
  return *limit - std::min(*limit, held);
}

}  // namespace

std::uint64_t available_memory(const fs::path& root) {
  std::uint64_t available = field(root / "proc/meminfo", "MemAvailable:").value_or(0) * 1024;
  for (const fs::path& group : control_groups(root, "memory")) {
    if (const std::optional<std::uint64_t> left = room(group)) available = std::min(available, *left);
  }
  return available;
}

std::uint64_t available_memory() {
  const std::uint64_t available = available_memory("/");
  return available != 0 ? available : os::free_or_all_memory();
}

}  // namespace rill
