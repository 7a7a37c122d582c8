#if defined(_WIN32)

#include "base/os.h"

#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <algorithm>
#include <random>
#include <string>

#include "base/error.h"

namespace rill::os {
namespace {

std::string describe(DWORD error) { return std::system_category().message(static_cast<int>(error)); }

std::string utf8(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return std::string(text.begin(), text.end());
}

HANDLE native(std::intptr_t handle) { return reinterpret_cast<HANDLE>(handle); }

DWORD most_at_once(std::size_t bytes) { return static_cast<DWORD>(std::min(bytes, std::size_t{1} << 30)); }

OVERLAPPED position(std::uint64_t offset) {
  OVERLAPPED position{};
  position.Offset = static_cast<DWORD>(offset);
  position.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return position;
}

Result<std::size_t> read_at(std::intptr_t handle, std::uint64_t offset, std::span<std::byte> out) {
  OVERLAPPED at = position(offset);
  DWORD count = 0;
  if (!::ReadFile(native(handle), out.data(), most_at_once(out.size()), &count, &at)) {
    const DWORD error = ::GetLastError();
    if (error != ERROR_HANDLE_EOF) return make_error(ErrorCode::io, "read failed: {}", describe(error));
  }
  return std::size_t{count};
}

}  // namespace

Result<File> File::open(const std::filesystem::path& path) {
  const HANDLE handle =
      ::CreateFileW(path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                    OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (handle == INVALID_HANDLE_VALUE) {
    const DWORD error = ::GetLastError();
    const bool missing = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
    return make_error(missing ? ErrorCode::not_found : ErrorCode::io, "{}: cannot be opened: {}", utf8(path),
                      describe(error));
  }
  File file(reinterpret_cast<std::intptr_t>(handle));
  LARGE_INTEGER size;
  FILETIME written;
  if (!::GetFileSizeEx(handle, &size) || !::GetFileTime(handle, nullptr, nullptr, &written)) {
    return make_error(ErrorCode::io, "{}: its size cannot be read: {}", utf8(path), describe(::GetLastError()));
  }
  file.size_ = static_cast<std::uint64_t>(size.QuadPart);
  file.modified_ = static_cast<std::int64_t>(std::uint64_t{written.dwHighDateTime} << 32 | written.dwLowDateTime);
  return file;
}

File::~File() {
  if (handle_ != -1) ::CloseHandle(native(handle_));
}

Result<std::size_t> File::read_some(std::uint64_t offset, std::span<std::byte> out) const {
  return read_at(handle_, offset, out);
}

Result<NewFile> NewFile::create(const std::filesystem::path& path, Options options) {
  std::error_code ignored;
  const auto type = std::filesystem::status(path, ignored).type();
  if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found) {
    return make_error(ErrorCode::io, "{}: is not a regular file", utf8(path));
  }
  std::random_device random;
  while (true) {
    std::filesystem::path temporary = path;
    temporary += format(".{:08x}.tmp", random());
    const HANDLE handle =
        ::CreateFileW(temporary.c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
    if (handle != INVALID_HANDLE_VALUE) {
      return NewFile(reinterpret_cast<std::intptr_t>(handle), path, std::move(temporary), options.on_disk);
    }
    const DWORD error = ::GetLastError();
    if (error != ERROR_FILE_EXISTS) {
      return make_error(ErrorCode::io, "{}: cannot be created: {}", utf8(temporary), describe(error));
    }
  }
}

NewFile::~NewFile() {
  (void)close();
  if (!temporary_.empty()) ::DeleteFileW(temporary_.c_str());
}

Result<void> NewFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    DWORD count = 0;
    if (!::WriteFile(native(handle_), bytes.data(), most_at_once(bytes.size()), &count, nullptr)) {
      return make_error(ErrorCode::io, "{}: write failed: {}", utf8(temporary_), describe(::GetLastError()));
    }
    bytes = bytes.subspan(count);
  }
  return {};
}

Result<void> NewFile::close() {
  if (handle_ == -1 || ::CloseHandle(native(std::exchange(handle_, -1)))) return {};
  return make_error(ErrorCode::io, "{}: write failed: {}", utf8(temporary_), describe(::GetLastError()));
}

Result<void> NewFile::commit() {
  if (on_disk_ && !::FlushFileBuffers(native(handle_))) {
    return make_error(ErrorCode::io, "{}: write failed: {}", utf8(temporary_), describe(::GetLastError()));
  }
  RILL_TRY(close());
  const DWORD flags = MOVEFILE_REPLACE_EXISTING | (on_disk_ ? MOVEFILE_WRITE_THROUGH : 0);
  if (!::MoveFileExW(temporary_.c_str(), path_.c_str(), flags)) {
    return make_error(ErrorCode::io, "{}: cannot be renamed from {}: {}", utf8(path_), utf8(temporary_),
                      describe(::GetLastError()));
  }
  temporary_.clear();
  return {};
}

Result<ScratchFile> ScratchFile::create(const std::filesystem::path& directory) {
  std::error_code no_temporary_directory;
  const std::filesystem::path folder =
      directory.empty() ? std::filesystem::temp_directory_path(no_temporary_directory) : directory;
  std::random_device random;
  while (true) {
    // Shared with nobody, and deleted by the system when the handle is closed.
    const std::filesystem::path path = folder / format("rill.{:08x}.tmp", random());
    const HANDLE handle = ::CreateFileW(path.c_str(), GENERIC_READ | GENERIC_WRITE, 0, nullptr, CREATE_NEW,
                                        FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, nullptr);
    if (handle != INVALID_HANDLE_VALUE) return ScratchFile(reinterpret_cast<std::intptr_t>(handle));
    const DWORD error = ::GetLastError();
    if (error != ERROR_FILE_EXISTS) {
      return make_error(ErrorCode::io, "{}: cannot be created: {}", utf8(path), describe(error));
    }
  }
}

ScratchFile::~ScratchFile() {
  if (handle_ != -1) ::CloseHandle(native(handle_));
}

Result<void> ScratchFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    OVERLAPPED at = position(offset);
    DWORD count = 0;
    if (!::WriteFile(native(handle_), bytes.data(), most_at_once(bytes.size()), &count, &at)) {
      return make_error(ErrorCode::io, "a temporary file cannot be written: {}", describe(::GetLastError()));
    }
    bytes = bytes.subspan(count);
    offset += count;
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
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  return ::GlobalMemoryStatusEx(&status) ? std::min<std::uint64_t>(status.ullAvailPhys, status.ullAvailPageFile) : 0;
}

void advise_huge_pages(void*, std::size_t) noexcept {}  // large pages there need a privilege that applications lack
void populate(void*, std::size_t) noexcept {}
void advise_small_pages(void*, std::size_t) noexcept {}

}  // namespace rill::os

#endif  // _WIN32
