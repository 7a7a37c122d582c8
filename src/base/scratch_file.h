// A file without a name: nobody else can open it, and it is gone with the process, however that ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include "rill/result.h"

namespace rill::os {

// Readable and writable by this process alone. One thread at a time. Move-only.
class ScratchFile {
 public:
  // Its blocks are in `directory`, or where the system keeps temporary files if that is empty. io: that cannot be.
  static Result<ScratchFile> create(const std::filesystem::path& directory);

  ScratchFile(ScratchFile&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
  ScratchFile& operator=(ScratchFile&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~ScratchFile();

  Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes);
  // io if it ends before.
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  explicit ScratchFile(std::intptr_t handle) : handle_(handle) {}

  std::intptr_t handle_;  // a descriptor or a HANDLE; -1 when there is none
};

}  // namespace rill::os
