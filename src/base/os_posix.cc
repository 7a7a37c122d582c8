#if !defined(_WIN32)

#include "base/os.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "base/error.h"

namespace rill::os {
namespace {

std::string describe(int error) { return std::generic_category().message(error); }

std::int64_t nanoseconds(const struct stat& status) {
#if defined(__APPLE__)
  const timespec& time = status.st_mtimespec;
#else
  const timespec& time = status.st_mtim;
#endif
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // bytes; some systems refuse 2 GiB

Result<std::size_t> read_at(std::intptr_t handle, std::uint64_t offset, std::span<std::byte> out) {
  ssize_t count;
  do {
    count =
        ::pread(static_cast<int>(handle), out.data(), std::min(out.size(), kMostAtOnce), static_cast<off_t>(offset));
  } while (count < 0 && errno == EINTR);
  if (count < 0) return make_error(ErrorCode::io, "read failed: {}", describe(errno));
  return static_cast<std::size_t>(count);
}

// The new name; file systems that cannot have kept it already, or never will.
void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  (void)::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

Result<File> File::open(const std::filesystem::path& path) {
  int descriptor;
  do {
    descriptor =
        ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO would block here, before it is refused
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) {
    const int error = errno;
    return make_error(error == ENOENT || error == ENOTDIR ? ErrorCode::not_found : ErrorCode::io,
                      "{}: cannot be opened: {}", path.string(), describe(error));
  }
  File file(descriptor);
  struct stat status;
  if (::fstat(descriptor, &status) != 0) {
    return make_error(ErrorCode::io, "{}: its size cannot be read: {}", path.string(), describe(errno));
  }
  if (!S_ISREG(status.st_mode)) return make_error(ErrorCode::io, "{}: is not a regular file", path.string());
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  file.modified_ = nanoseconds(status);
  return file;
}

File::~File() {
  if (handle_ != -1) ::close(static_cast<int>(handle_));
}

Result<std::size_t> File::read_some(std::uint64_t offset, std::span<std::byte> out) const {
  return read_at(handle_, offset, out);
}

Result<NewFile> NewFile::create(const std::filesystem::path& path, Options options) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return make_error(ErrorCode::io, "{}: is not a regular file", path.string());
  }
  std::random_device random;
  while (true) {
    std::filesystem::path temporary = path;
    temporary += format(".{:08x}.tmp", random());
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                  options.only_user ? 0600 : 0666);
    if (descriptor >= 0) return NewFile(descriptor, path, std::move(temporary), options.on_disk);
    if (errno != EEXIST && errno != EINTR) {
      return make_error(ErrorCode::io, "{}: cannot be created: {}", temporary.string(), describe(errno));
    }
  }
}

NewFile::~NewFile() {
  (void)close();
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> NewFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(static_cast<int>(handle_), bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return make_error(ErrorCode::io, "{}: write failed: {}", temporary_.string(), describe(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> NewFile::close() {
  if (handle_ == -1 || ::close(static_cast<int>(std::exchange(handle_, -1))) == 0) return {};
  return make_error(ErrorCode::io, "{}: write failed: {}", temporary_.string(), describe(errno));
}

Result<void> NewFile::commit() {
  if (on_disk_ && ::fsync(static_cast<int>(handle_)) != 0) {
    return make_error(ErrorCode::io, "{}: write failed: {}", temporary_.string(), describe(errno));
  }
  RILL_TRY(close());
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return make_error(ErrorCode::io, "{}: cannot be renamed from {}: {}", path_.string(), temporary_.string(),
                      describe(errno));
  }
  temporary_.clear();
  if (on_disk_) sync_folder(path_.parent_path());
  return {};
}

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
    RILL_ASSIGN(const std::size_t count, read_at(handle_, offset, out));
    if (count == 0) return make_error(ErrorCode::io, "a temporary file ends at byte {}", offset);
    out = out.subspan(count);
    offset += count;
  }
  return {};
}

std::uint64_t free_or_all_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes) : 0;
}

void advise_huge_pages([[maybe_unused]] void* address, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(MADV_HUGEPAGE)
  (void)::madvise(address, bytes, MADV_HUGEPAGE);
#endif
}

void populate([[maybe_unused]] void* address, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
#if !defined(MADV_POPULATE_WRITE)
  constexpr int MADV_POPULATE_WRITE = 23;  // Linux 5.14; older headers lack it
#endif
  (void)::madvise(address, bytes, MADV_POPULATE_WRITE);
#endif
}

void advise_small_pages([[maybe_unused]] void* address, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(MADV_NOHUGEPAGE)
  (void)::madvise(address, bytes, MADV_NOHUGEPAGE);
#endif
}

}  // namespace rill::os

#endif  // !_WIN32
