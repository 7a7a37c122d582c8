#if !defined(_WIN32)

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/scratch_file.h"

namespace rill::os {
namespace {

std::string describe(int error) { return std::generic_category().message(error); }

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // some systems refuse 2 GiB

}  // namespace

Result<ScratchFile> ScratchFile::create(const std::filesystem::path& directory) {
  std::error_code no_temporary_directory;
  const std::filesystem::path folder =
      directory.empty() ? std::filesystem::temp_directory_path(no_temporary_directory) : directory;
  std::string name = (folder / "rill.XXXXXX").string();
  const int descriptor = ::mkstemp(name.data());  // with mode 0600
  if (descriptor < 0) return make_error(ErrorCode::io, "{}: cannot be created: {}", name, describe(errno));
  ScratchFile file(descriptor);
  if (::unlink(name.c_str()) != 0 || ::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) {
    return make_error(ErrorCode::io, "{}: cannot be made private: {}", name, describe(errno));
  }
  return file;
}

ScratchFile::~ScratchFile() {
  if (handle_ != -1) ::close(static_cast<int>(handle_));
}

Result<void> ScratchFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(static_cast<int>(handle_), bytes.data(), std::min(bytes.size(), kMostAtOnce),
                                   static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return make_error(ErrorCode::io, "a temporary file cannot be written: {}", describe(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

Result<void> ScratchFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = ::pread(static_cast<int>(handle_), out.data(), std::min(out.size(), kMostAtOnce),
                                  static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return make_error(ErrorCode::io, "a temporary file cannot be read: {}", count == 0 ? "it ends" : describe(errno));
    }
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

}  // namespace rill::os

#endif  // !_WIN32
