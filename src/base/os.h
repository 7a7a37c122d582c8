// Files and memory of the operating system. os_posix.cc and os_windows.cc implement it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include "rill/result.h"

namespace rill::os {

// ---- Files ----

// A regular file open for reading. Thread-safe: a read carries its own offset.
class File {
 public:
  static Result<File> open(const std::filesystem::path& path);

  File(File&& other) noexcept
      : handle_(std::exchange(other.handle_, -1)), size_(other.size_), modified_(other.modified_) {}
  File& operator=(File&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(size_, other.size_);
    std::swap(modified_, other.modified_);
    return *this;
  }
  ~File();

  std::uint64_t size() const noexcept { return size_; }  // bytes when it was opened
  // When its content had last changed when it was opened, in units and from a start of the system's own.
  std::int64_t modified() const noexcept { return modified_; }
  // Returns how many bytes were read, 0 at the end of the file.
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  explicit File(std::intptr_t handle) : handle_(handle) {}

  std::intptr_t handle_;  // a descriptor or a HANDLE; -1 when there is none, which is what both systems call it
  std::uint64_t size_ = 0;
  std::int64_t modified_ = 0;
};

// A file that is written under a temporary name in the folder of `path`, and takes the place of `path` when it is
// complete: nobody sees a part of it, and of two writers the later one wins. One thread at a time.
class NewFile {
 public:
  struct Options {
    bool only_user = false;  // others may not read it; on Windows that is the folder's affair
    bool on_disk = false;    // commit() waits until a loss of power cannot undo it
  };
  // io: it cannot be, or something stands at `path` that is no regular file, which must not be replaced.
  static Result<NewFile> create(const std::filesystem::path& path, Options options);
  static Result<NewFile> create(const std::filesystem::path& path) { return create(path, Options()); }

  NewFile(NewFile&& other) noexcept
      : handle_(std::exchange(other.handle_, -1)),
        path_(std::move(other.path_)),
        temporary_(std::exchange(other.temporary_, {})),
        on_disk_(other.on_disk_) {}
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();  // removes what was not committed

  Result<void> append(std::span<const std::byte> bytes);
  Result<void> commit();  // the last call

 private:
  NewFile(std::intptr_t handle, std::filesystem::path path, std::filesystem::path temporary, bool on_disk)
      : handle_(handle), path_(std::move(path)), temporary_(std::move(temporary)), on_disk_(on_disk) {}
  Result<void> close();

  std::intptr_t handle_;
  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: moved from, or in its place
  bool on_disk_;
};

// A file without a name, for this process alone: nobody else can open it, and it is gone with the process, however that
// ends. One thread at a time.
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
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const;  // io: it ends before

 private:
  explicit ScratchFile(std::intptr_t handle) : handle_(handle) {}

  std::intptr_t handle_;
};

// ---- Memory ----

// Bytes: what is free where the system tells (Windows), else all that is built in; 0 if unknown.
std::uint64_t free_or_all_memory();

// Asks for huge pages behind a range. Only advice: failure changes speed and nothing else.
void advise_huge_pages(void* address, std::size_t bytes) noexcept;
// Has the system back a range, part of which may be in use, with memory now and not when it is first written. Where it
// cannot, nothing happens.
void populate(void* address, std::size_t bytes) noexcept;
// For a range that is touched here and there: takes the huge pages back.
void advise_small_pages(void* address, std::size_t bytes) noexcept;
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

}  // namespace rill::os
