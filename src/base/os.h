// Files and memory of the operating system. os_posix.cc and os_windows.cc implement it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "rill/result.h"

namespace rill::os {

// ---- Files ----

// A regular file open for reading. Thread-safe: a read carries its own offset.
class File {
 public:
  static Result<File> open(const std::filesystem::path& path);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  std::uint64_t size() const noexcept { return size_; }  // bytes when it was opened
  // Returns how many bytes were read, 0 at the end of the file.
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  File(std::intptr_t handle, std::uint64_t size) : handle_(handle), size_(size) {}

  std::intptr_t handle_;  // a descriptor or a HANDLE; -1 when there is none, which is what both systems call it
  std::uint64_t size_;
};

// ---- Memory ----

// Bytes: what is free where the system tells (Windows), else all that is built in; 0 if unknown.
std::uint64_t free_or_all_memory();

// Asks for huge pages behind a range. Only advice: failure changes speed and nothing else.
void advise_huge_pages(void* address, std::size_t bytes) noexcept;
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

}  // namespace rill::os
