#include "gguf/cursor.h"

#include <algorithm>

#include "base/error.h"

namespace rill::gguf {
namespace {

constexpr std::uint64_t kBufferBytes = 256 << 10;

}  // namespace

Digest Cursor::digest() const {
  Hasher hasher = hasher_;
  hasher.add(std::span(buffer_).first(used_));
  return hasher.digest();
}

std::uint64_t Cursor::remaining() const { return std::min(source_bytes_, limit_) - position(); }

Result<void> Cursor::expect(std::uint64_t count, std::uint64_t item_bytes, std::string_view what) const {
  if (count <= remaining() / item_bytes) return {};
  if (count <= (source_bytes_ - position()) / item_bytes) {
    return make_error(ErrorCode::limit_exceeded, "{}: offset {}: {} {} pass the limit of {} bytes of metadata",
                      source_.name(), position(), count, what, limit_);
  }
  return make_error(ErrorCode::file_truncated, "{}: offset {}: it announces {} {}, but the file has only {} bytes",
                    source_.name(), position(), count, what, source_bytes_);
}

// Takes the next bytes of the source into the buffer, which is used up.
Result<void> Cursor::refill() {
  hasher_.add(buffer_);
  buffer_begin_ += buffer_.size();
  used_ = 0;
  buffer_.resize(static_cast<std::size_t>(std::min(kBufferBytes, remaining())));
  return source_.read(buffer_begin_, buffer_);
}

Result<void> Cursor::read(std::span<std::byte> out) {
  RILL_TRY(expect(out.size(), 1, "bytes"));
  while (!out.empty()) {
    if (buffered() == 0) RILL_TRY(refill());
    const std::size_t count = std::min(out.size(), buffered());
    std::memcpy(out.data(), buffer_.data() + used_, count);
    used_ += count;
    out = out.subspan(count);
  }
  return {};
}

Result<void> Cursor::skip(std::uint64_t bytes) {
  RILL_TRY(expect(bytes, 1, "bytes"));
  while (bytes > 0) {
    if (buffered() == 0) RILL_TRY(refill());
    const std::uint64_t count = std::min<std::uint64_t>(bytes, buffered());
    used_ += static_cast<std::size_t>(count);
    bytes -= count;
  }
  return {};
}

Result<void> Cursor::append_string(std::string& out, std::uint64_t max_bytes, std::string_view what) {
  RILL_ASSIGN(const std::uint64_t length, read<std::uint64_t>());
  if (length <= std::min<std::uint64_t>(buffered(), max_bytes)) {
    out.append(reinterpret_cast<const char*>(buffer_.data()) + used_, static_cast<std::size_t>(length));
    used_ += static_cast<std::size_t>(length);
    return {};
  }
  RILL_TRY(expect(length, 1, what));
  if (length > max_bytes) {
    return make_error(ErrorCode::limit_exceeded, "{}: offset {}: {} {} pass the limit of {}", source_.name(),
                      position(), length, what, max_bytes);
  }
  const std::size_t start = out.size();
  out.resize(start + static_cast<std::size_t>(length));
  return read(std::as_writable_bytes(std::span(out).subspan(start)));
}

}  // namespace rill::gguf
