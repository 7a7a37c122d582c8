#if !defined(_WIN32)

#include "base/os.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"

namespace rill::os {
namespace {

std::string describe(int error) { return std::generic_category().message(error); }

#if defined(__linux__)

// The value after `key` in a file of "key value" lines, such as /proc/meminfo and a group's memory.stat.
std::optional<std::uint64_t> field(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string word;
  for (std::uint64_t value; file >> word;) {
    if (word == key) return file >> value ? std::optional(value) : std::nullopt;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

std::optional<double> number(std::istream& file) {
  std::string word;
  if (!(file >> word) || word.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;  // "max", "-1"
  return std::stod(word);
}

std::optional<double> number_in(const std::string& path) {
  std::ifstream file(path);
  return number(file);
}

// The folders of the control groups that hold this process, innermost first, for version 2 (`controller` empty) or 1.
// In a container the path often names the host's tree, so that only the root exists here; missing folders simply hold
// no files.
std::vector<std::string> control_groups(std::string_view controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool match = controller.empty() ? controllers == ",,"
                                          : controllers.find("," + std::string(controller) + ",") != std::string::npos;
    if (!match) continue;
    const std::string root = "/sys/fs/cgroup" + (controller.empty() ? "" : "/" + std::string(controller));
    std::vector<std::string> folders;
    for (std::string path = line.substr(second + 1); path.size() > 1; path.resize(path.rfind('/')))
      folders.push_back(root + path);
    folders.push_back(root);
    return folders;
  }
  return {};
}

// Page cache that a group could give back counts as free, as MemAvailable counts it for the machine.
std::optional<double> room_in_group(const std::string& limit_path, const std::string& usage_path,
                                    const std::string& stat_path, std::string_view reclaimable) {
  const std::optional<double> limit = number_in(limit_path);
  const std::optional<double> usage = number_in(usage_path);
  if (!limit || !usage) return std::nullopt;
  const double cache = static_cast<double>(field(stat_path, reclaimable).value_or(0));
  return std::max(0.0, *limit - std::max(0.0, *usage - cache));
}

#endif  // __linux__

}  // namespace

Result<File> File::open(const std::filesystem::path& path) {
  int descriptor;
  do {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) {
    const int error = errno;
    return make_error(error == ENOENT || error == ENOTDIR ? ErrorCode::not_found : ErrorCode::io,
                      "{}: cannot be opened: {}", path.string(), describe(error));
  }
  File file(descriptor, 0);
  struct stat status;
  if (::fstat(descriptor, &status) != 0) {
    return make_error(ErrorCode::io, "{}: its size cannot be read: {}", path.string(), describe(errno));
  }
  if (!S_ISREG(status.st_mode)) return make_error(ErrorCode::io, "{}: is not a regular file", path.string());
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

File::File(File&& other) noexcept : handle_(std::exchange(other.handle_, -1)), size_(other.size_) {}

File& File::operator=(File&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(size_, other.size_);
  return *this;
}

File::~File() {
  if (handle_ != -1) ::close(static_cast<int>(handle_));
}

Result<std::size_t> File::read_some(std::uint64_t offset, std::span<std::byte> out) const {
  ssize_t count;
  do {
    count = ::pread(static_cast<int>(handle_), out.data(), out.size(), static_cast<off_t>(offset));
  } while (count < 0 && errno == EINTR);
  if (count < 0) return make_error(ErrorCode::io, "read failed: {}", describe(errno));
  return static_cast<std::size_t>(count);
}

std::uint64_t available_memory() {
#if defined(__linux__)
  double available = 1024.0 * static_cast<double>(field("/proc/meminfo", "MemAvailable:").value_or(0));
  const auto limit_to = [&](std::optional<double> room) {
    if (room) available = std::min(available, *room);
  };
  for (const std::string& group : control_groups("")) {
    limit_to(room_in_group(group + "/memory.max", group + "/memory.current", group + "/memory.stat", "inactive_file"));
  }
  for (const std::string& group : control_groups("memory")) {
    limit_to(room_in_group(group + "/memory.limit_in_bytes", group + "/memory.usage_in_bytes", group + "/memory.stat",
                           "total_inactive_file"));
  }
  return static_cast<std::uint64_t>(available);
#else
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes) : 0;
#endif
}

void advise_huge_pages([[maybe_unused]] void* address, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(MADV_HUGEPAGE)
  (void)::madvise(address, bytes, MADV_HUGEPAGE);
#endif
}

unsigned usable_cpus() {
  unsigned count = std::max(1u, std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) count = static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  const auto limit_to = [&](std::optional<double> quota, std::optional<double> period) {
    if (quota && period && *period > 0)
      count = std::min(count, static_cast<unsigned>(std::max(1.0, std::ceil(*quota / *period))));
  };
  for (const std::string& group : control_groups("")) {
    std::ifstream file(group + "/cpu.max");
    const std::optional<double> quota = number(file);
    limit_to(quota, number(file));
  }
  for (const std::string& group : control_groups("cpu")) {
    limit_to(number_in(group + "/cpu.cfs_quota_us"), number_in(group + "/cpu.cfs_period_us"));
  }
#endif
  return count;
}

}  // namespace rill::os

#endif  // !_WIN32
