#if defined(_WIN32)

#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <algorithm>
#include <random>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/scratch_file.h"

namespace rill::os {
namespace {

std::string describe(DWORD error) { return std::system_category().message(static_cast<int>(error)); }

HANDLE native(std::intptr_t handle) { return reinterpret_cast<HANDLE>(handle); }

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

OVERLAPPED position(std::uint64_t offset) {
  OVERLAPPED position{};
  position.Offset = static_cast<DWORD>(offset);
  position.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return position;
}

}  // namespace

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
      return make_error(ErrorCode::io, "a temporary file cannot be created: {}", describe(error));
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
    if (!::WriteFile(native(handle_), bytes.data(), static_cast<DWORD>(std::min(bytes.size(), kMostAtOnce)), &count, &at)) {
      return make_error(ErrorCode::io, "a temporary file cannot be written: {}", describe(::GetLastError()));
    }
    bytes = bytes.subspan(count);
    offset += count;
  }
  return {};
}

Result<void> ScratchFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    OVERLAPPED at = position(offset);
    DWORD count = 0;
    if (!::ReadFile(native(handle_), out.data(), static_cast<DWORD>(std::min(out.size(), kMostAtOnce)), &count, &at)) {
      return make_error(ErrorCode::io, "a temporary file cannot be read: {}", describe(::GetLastError()));
    }
    out = out.subspan(count);
    offset += count;
  }
  return {};
}

}  // namespace rill::os

#endif  // _WIN32
