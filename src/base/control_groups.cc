#include "base/control_groups.h"

#include <fstream>
#include <string>

#include "base/format.h"

namespace rill {

std::vector<std::filesystem::path> control_groups(const std::filesystem::path& root, std::string_view controller) {
  std::vector<std::filesystem::path> groups;
  const std::string wanted = format(",{},", controller);
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "id:controllers:/path"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = format(",{},", line.substr(first + 1, second - first - 1));
    const bool version_2 = controllers == ",,";
    if (!version_2 && controllers.find(wanted) == std::string::npos) continue;
    const std::filesystem::path mount = version_2 ? root / "sys/fs/cgroup" : root / "sys/fs/cgroup" / controller;
    auto path = std::filesystem::path(line.substr(second + 1)).relative_path();
    for (; !path.empty(); path = path.parent_path()) groups.push_back(mount / path);
    groups.push_back(mount);
  }
  return groups;
}

}  // namespace rill
