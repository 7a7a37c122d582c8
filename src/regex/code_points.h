// Sets of characters.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace rill::regex {

// Unicode scalar values as disjoint ascending ranges; surrogates are never members.
class CodePoints {
 public:
  struct Range {
    char32_t first, last;  // inclusive
    friend bool operator==(const Range&, const Range&) = default;
  };

  CodePoints() = default;
  CodePoints(std::initializer_list<Range> ranges) : ranges_(ranges) { normalise(); }
  explicit CodePoints(std::vector<Range> ranges) : ranges_(std::move(ranges)) { normalise(); }
  static CodePoints all() { return {{0, 0x10FFFF}}; }

  void add(char32_t first, char32_t last) { ranges_.push_back({first, last}), normalise(); }
  void add(const CodePoints& other);
  CodePoints complement() const;

  bool empty() const { return ranges_.empty(); }
  std::span<const Range> ranges() const { return ranges_; }

 private:
  void normalise();

  std::vector<Range> ranges_;
};

}  // namespace rill::regex
