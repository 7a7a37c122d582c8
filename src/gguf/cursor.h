// Sequential, buffered reading of the head of a file, within a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "rill/byte_source.h"

namespace rill::gguf {

// Reads forward from offset 0. A count or length from the file must pass expect() before anything of that size is
// allocated. One thread at a time. After an error the cursor must not be used any more.
class Cursor {
 public:
  // Reading past `limit` bytes is limit_exceeded, past the end of the source file_truncated.
  Cursor(const ByteSource& source, std::uint64_t limit)
      : source_(source), source_bytes_(source.size()), limit_(limit) {}

  std::uint64_t position() const { return buffer_begin_ + used_; }
  // Of all bytes before position().
  Digest digest() const;

  // Checks that `count` items of at least `item_bytes` each can still follow. `what` names them in the error.
  Result<void> expect(std::uint64_t count, std::uint64_t item_bytes, std::string_view what) const;

  template <typename T>
  Result<T> read() {
    T value;
    if (sizeof(T) <= buffered()) {
      std::memcpy(&value, buffer_.data() + used_, sizeof(T));
      used_ += sizeof(T);
    } else if (Result<void> done = read(std::as_writable_bytes(std::span(&value, 1))); !done) {
      return std::move(done).error();
    }
    return value;
  }
  Result<void> read(std::span<std::byte> out);
  Result<void> skip(std::uint64_t bytes);

  // A string: its length in 8 bytes, then its bytes, appended to `out`.
  Result<void> append_string(std::string& out, std::uint64_t max_bytes, std::string_view what);

 private:
  std::uint64_t remaining() const;
  std::size_t buffered() const { return buffer_.size() - used_; }
  Result<void> refill();

  const ByteSource& source_;
  const std::uint64_t source_bytes_;
  const std::uint64_t limit_;
  std::vector<std::byte> buffer_;  // the source's bytes from buffer_begin_ on
  std::uint64_t buffer_begin_ = 0;
  std::size_t used_ = 0;  // of the buffer
  Hasher hasher_;         // of what came before the buffer
};

}  // namespace rill::gguf
