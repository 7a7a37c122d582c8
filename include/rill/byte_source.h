// Where the bytes of a model come from: a file, memory, or the caller's own read function.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rill/export.h"
#include "rill/result.h"

namespace rill {

// Random access to a fixed number of bytes. Thread-safe: any thread may read at any time. Derive from it to read from
// anywhere else; what read_some returns is checked, so a source that misbehaves is an error and nothing worse.
class RILL_EXPORT ByteSource {
 public:
  virtual ~ByteSource();

  // Bytes that can be read, fixed for the source's life.
  virtual std::uint64_t size() const noexcept = 0;
  // What error messages call the source: a path in UTF-8, or the name that the caller gave.
  virtual std::string_view name() const noexcept = 0;
  // A number that is another one after each change of the content, such as a file's modification time; nothing if there is
  // none. What is kept beside a model (ModelOptions::packed_cache) stays valid for as long as it is the same.
  virtual std::optional<std::int64_t> version() const noexcept { return std::nullopt; }

  // Fills `out` with the bytes at `offset` and on: all of them, or an error, and then the content of `out` is
  // unspecified. file_truncated: the range passes size(), or the source ended early (a file that shrank while it was in
  // use).
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const;

 protected:
  // Writes 1 to out.size() bytes from `offset` and returns how many; 0 means that the source has ended. The range lies
  // within size(), and `out` is not empty.
  virtual Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

using ByteSourcePtr = std::shared_ptr<const ByteSource>;

// Reads the file through the operating system (not mapped: a file that changes or shrinks is an error, not a signal).
RILL_EXPORT Result<ByteSourcePtr> open_file(const std::filesystem::path& path);

// The path that UTF-8 text names, on Windows as well, where std::filesystem::path(std::string) means the legacy code
// page.
RILL_EXPORT std::filesystem::path path_from_utf8(std::string_view utf8);

template <std::convertible_to<std::string_view> Text>
Result<ByteSourcePtr> open_file(const Text& utf8_path) {
  return open_file(path_from_utf8(utf8_path));
}

// Reads memory of the caller's, which must outlive the source and everything that was loaded lazily from it.
RILL_EXPORT Result<ByteSourcePtr> borrow_buffer(std::span<const std::byte> bytes, std::string name = "buffer");
RILL_EXPORT Result<ByteSourcePtr> own_buffer(std::vector<std::byte> bytes, std::string name = "buffer");

// Does what ByteSource::read_some does. May be called from several threads at once; what it throws becomes an error.
using ReadCallback = std::function<Result<std::size_t>(std::uint64_t offset, std::span<std::byte> out)>;
RILL_EXPORT Result<ByteSourcePtr> from_callback(std::uint64_t size, ReadCallback callback,
                                                std::string name = "callback");

}  // namespace rill
