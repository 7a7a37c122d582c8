#include "chat/text.h"

#include <algorithm>

namespace rill::chat {
namespace {

void add_range(std::vector<ByteRange>& ranges, std::size_t begin, std::size_t end) {
  if (begin == end) return;
  if (!ranges.empty() && ranges.back().end == begin) {
    ranges.back().end = end;
  } else {
    ranges.push_back({begin, end});
  }
}

// The first range that ends after `begin`.
std::vector<ByteRange>::const_iterator first_after(const std::vector<ByteRange>& ranges, std::size_t begin) noexcept {
  return std::partition_point(ranges.begin(), ranges.end(), [begin](const ByteRange& r) { return r.end <= begin; });
}

}  // namespace

void Text::append(std::string_view piece, bool is_untrusted) {
  if (is_untrusted) add_range(untrusted, bytes.size(), bytes.size() + piece.size());
  bytes.append(piece);
}

bool Text::tainted(std::size_t begin, std::size_t end) const noexcept {
  const auto range = first_after(untrusted, begin);
  return range != untrusted.end() && range->begin < end;
}

void Text::append(const Text& other, std::size_t begin, std::size_t end) {
  const std::size_t shift = bytes.size();
  for (auto range = first_after(other.untrusted, begin); range != other.untrusted.end() && range->begin < end;
       ++range) {
    add_range(untrusted, shift + std::max(range->begin, begin) - begin, shift + std::min(range->end, end) - begin);
  }
  bytes.append(other.bytes, begin, end - begin);
}

void Budget::exceeded(const char* name, std::size_t limit) {
  fail(ErrorCode::limit_exceeded, "the template exceeds the limit {} = {}", name, limit);
}

}  // namespace rill::chat
