#include "base/cpu.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "base/control_groups.h"

namespace rill::cpu {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "0-7,16": the list format of /sys.
bool in_list(const std::string& list, unsigned cpu) {
  std::istringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) {
    std::istringstream range(item);
    unsigned first = 0, last = 0;
    char dash = 0;
    if (!(range >> first)) continue;
    if (!(range >> dash >> last)) last = first;
    if (first <= cpu && cpu <= last) return true;
  }
  return false;
}

fs::path cpu_folder(const fs::path& root, unsigned cpu) {
  return root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu));
}

// Intel's hybrid processors list their performance cores; Arm systems give each CPU a capacity. Maximum frequencies
// decide nothing: they differ between equal cores of a desktop processor.
std::vector<unsigned> performance_cpus(std::span<const unsigned> allowed, const fs::path& root) {
  const std::string hybrid = first_line(root / "sys/devices/cpu_core/cpus");
  std::vector<unsigned> capacity;
  for (const unsigned cpu : allowed) {
    unsigned value = 0;
    std::ifstream(cpu_folder(root, cpu) / "cpu_capacity") >> value;
    capacity.push_back(value);
  }
  const unsigned best = *std::max_element(capacity.begin(), capacity.end());
  std::vector<unsigned> chosen;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    const bool fast = hybrid.empty() ? 2 * capacity[i] >= best : in_list(hybrid, allowed[i]);
    if (fast) chosen.push_back(allowed[i]);
  }
  return chosen.empty() ? std::vector<unsigned>(allowed.begin(), allowed.end()) : chosen;
}

std::size_t physical_cores(const std::vector<unsigned>& cpus, const fs::path& root) {
  std::set<std::string> cores;
  for (const unsigned cpu : cpus) {
    const std::string siblings = first_line(cpu_folder(root, cpu) / "topology/thread_siblings_list");
    cores.insert(siblings.empty() ? std::to_string(cpu) : siblings);
  }
  return cores.size();
}

// CPUs' worth of time that one control group grants, if it limits it: "quota period" in version 2, two files in
// version 1.
std::optional<double> quota(const fs::path& group) {
  std::istringstream text(first_line(group / "cpu.max") + " " + first_line(group / "cpu.cfs_quota_us") + " " +
                          first_line(group / "cpu.cfs_period_us"));
  double time = 0, period = 0;
  if (!(text >> time >> period) || time <= 0 || period <= 0) return std::nullopt;  // "max" or -1: no limit
  return time / period;
}

std::optional<double> least_quota(const fs::path& root) {
  std::optional<double> least;
  for (const fs::path& group : control_groups(root, "cpu")) {
    if (const std::optional<double> found = quota(group)) least = std::min(least.value_or(*found), *found);
  }
  return least;
}

}  // namespace

unsigned usable_cores(std::span<const unsigned> allowed, const fs::path& root) {
  auto cores = static_cast<double>(physical_cores(performance_cpus(allowed, root), root));
  if (const std::optional<double> limit = least_quota(root)) cores = std::min(cores, std::ceil(*limit));
  return static_cast<unsigned>(std::max(1.0, cores));
}

unsigned usable_cores() { return usable_cores(allowed_cpus(), "/"); }

}  // namespace rill::cpu
