#include "gguf/cursor.h"

#include <algorithm>

#include "base/error.h"

namespace rill::gguf {
namespace {

constexpr std::uint64_t kBufferBytes = 256 << 10;

}  // namespace

std::uint64_t Cursor::remaining() const { return std::min(source_.size(), limit_) - position_; }

Result<void> Cursor::expect(std::uint64_t count, std::uint64_t item_bytes, std::string_view what) const {
  if (count <= remaining() / item_bytes) return {};
  if (count <= (source_.size() - position_) / item_bytes) {
    return make_error(ErrorCode::limit_exceeded, "{}: offset {}: {} {} pass the limit of {} bytes of metadata",
                      source_.name(), position_, count, what, limit_);
  }
  return make_error(ErrorCode::file_truncated, "{}: offset {}: it announces {} {}, but the file has only {} bytes",
                    source_.name(), position_, count, what, source_.size());
}

// Moves what the buffer still holds to the front of `out`, and drops that from `out`.
void Cursor::take_buffered(std::span<std::byte>& out) {
  const std::size_t count = std::min(out.size(), buffer_left_);
  std::copy_n(buffer_.end() - static_cast<std::ptrdiff_t>(buffer_left_), count, out.begin());
  out = out.subspan(count);
  buffer_left_ -= count;
  position_ += count;
}

Result<void> Cursor::read(std::span<std::byte> out) {
  RILL_TRY(expect(out.size(), 1, "bytes"));
  take_buffered(out);
  if (out.empty()) return {};
  if (out.size() >= kBufferBytes) {
    RILL_TRY(source_.read(position_, out));
    position_ += out.size();
    return {};
  }
  buffer_.resize(static_cast<std::size_t>(std::min(kBufferBytes, remaining())));
  RILL_TRY(source_.read(position_, buffer_));
  buffer_left_ = buffer_.size();
  take_buffered(out);
  return {};
}

Result<void> Cursor::skip(std::uint64_t bytes) {
  RILL_TRY(expect(bytes, 1, "bytes"));
  position_ += bytes;
  buffer_left_ -= static_cast<std::size_t>(std::min<std::uint64_t>(bytes, buffer_left_));
  return {};
}

Result<void> Cursor::append_string(std::string& out, std::uint64_t max_bytes, std::string_view what) {
  RILL_ASSIGN(const std::uint64_t length, read<std::uint64_t>());
  RILL_TRY(expect(length, 1, what));
  if (length > max_bytes) {
    return make_error(ErrorCode::limit_exceeded, "{}: offset {}: {} {} pass the limit of {}", source_.name(), position_,
                      length, what, max_bytes);
  }
  const std::size_t start = out.size();
  out.resize(start + static_cast<std::size_t>(length));
  return read(std::as_writable_bytes(std::span(out).subspan(start)));
}

}  // namespace rill::gguf
