#include "base/checked_slices.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace rill {

SliceWriter::SliceWriter(Sink sink, StopToken stop) : sink_(std::move(sink)), stop_(std::move(stop)) {
  slice_.reserve(kSliceBytes + sizeof(std::uint64_t));
}

Result<void> SliceWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto some = bytes.first(std::min(bytes.size(), kSliceBytes - slice_.size()));
    slice_.insert(slice_.end(), some.begin(), some.end());
    bytes = bytes.subspan(some.size());
    if (slice_.size() == kSliceBytes) RILL_TRY(finish());
  }
  return {};
}

Result<void> SliceWriter::finish() {
  if (slice_.empty()) return {};
  if (stop_.stop_requested()) return make_error(ErrorCode::cancelled, "saving was stopped");
  const std::uint64_t sum = checksum(slice_);
  const auto bytes = std::as_bytes(std::span(&sum, 1));
  slice_.insert(slice_.end(), bytes.begin(), bytes.end());
  RILL_TRY(sink_(slice_));
  slice_.clear();
  return {};
}

SliceReader::SliceReader(const ByteSource& source, StopToken stop) : source_(source), stop_(std::move(stop)) {}

Result<void> SliceReader::read(std::span<std::byte> out) {
  while (!out.empty()) {
    if (left_.empty()) RILL_TRY(next_slice());
    const std::size_t count = std::min(out.size(), left_.size());
    std::memcpy(out.data(), left_.data(), count);
    out = out.subspan(count);
    left_ = left_.subspan(count);
  }
  return {};
}

Result<void> SliceReader::next_slice() {
  if (stop_.stop_requested()) return make_error(ErrorCode::cancelled, "{}: restoring was stopped", source_.name());
  constexpr std::size_t kSum = sizeof(std::uint64_t);
  const std::uint64_t left = source_.size() - offset_;
  if (left <= kSum) return make_error(ErrorCode::malformed, "{}: cut short", source_.name());
  slice_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, kSliceBytes + kSum)));
  RILL_TRY(source_.read(offset_, slice_));
  left_ = std::span(slice_).first(slice_.size() - kSum);
  std::uint64_t sum;
  std::memcpy(&sum, left_.data() + left_.size(), kSum);
  if (checksum(left_) != sum) {
    return make_error(ErrorCode::malformed, "{}: MiB {} is damaged, or cut short", source_.name(), index_);
  }
  offset_ += slice_.size();
  ++index_;
  return {};
}

}  // namespace rill
