// Linux control groups: where the limits of a container or service stand.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace rill {

// Folders of the groups that hold this process and of all above them, for version 2 and for version 1's `controller`
// ("cpu", "memory"), from /proc and /sys below `root`. In a container the path may be the host's, so that only the
// topmost folder exists here: what is missing in a folder does not limit.
std::vector<std::filesystem::path> control_groups(const std::filesystem::path& root, std::string_view controller);

}  // namespace rill
