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

Result<void> Cursor::read(std::span<std::byte> out) {
  if (buffer_left_ < out.size()) {
    RILL_TRY(expect(out.size(), 1, "bytes"));
    const std::size_t head = buffer_left_;
    std::memcpy(out.data(), buffer_.data() + buffer_.size() - buffer_left_, head);
    out = out.subspan(head);
    position_ += head;
    buffer_left_ = 0;
    if (out.size() >= kBufferBytes) {
      RILL_TRY(source_.read(position_, out));
      position_ += out.size();
      return {};
    }
    buffer_.resize(static_cast<std::size_t>(std::min(kBufferBytes, remaining())));
    RILL_TRY(source_.read(position_, buffer_));
    buffer_left_ = buffer_.size();
  }
  std::memcpy(out.data(), buffer_.data() + buffer_.size() - buffer_left_, out.size());
  buffer_left_ -= out.size();
  position_ += out.size();
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
