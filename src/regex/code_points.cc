#include "regex/code_points.h"

#include <algorithm>

namespace rill::regex {

void CodePoints::normalise() {
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<Range> merged;
  const auto append = [&merged](char32_t first, char32_t last) {
    if (first > last) return;
    if (!merged.empty() && first <= merged.back().last + 1) {
      merged.back().last = std::max(merged.back().last, last);
    } else {
      merged.push_back({first, last});
    }
  };
  for (const Range& range : ranges_) {
    append(range.first, std::min<char32_t>(range.last, 0xD7FF));
    append(std::max<char32_t>(range.first, 0xE000), range.last);
  }
  ranges_ = std::move(merged);
}

void CodePoints::add(const CodePoints& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  normalise();
}

CodePoints CodePoints::complement() const {
  CodePoints result;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) result.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= 0x10FFFF) result.ranges_.push_back({next, 0x10FFFF});
  result.normalise();
  return result;
}

}  // namespace rill::regex
