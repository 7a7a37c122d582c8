// Finds the first of several strings in a stream of text, holding back what may still become one.
// Aho and Corasick, "Efficient string matching", 1975: the cost of a byte does not grow with the number of strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rill/result.h"

namespace rill::session {

class StopMatcher {
 public:
  static constexpr std::size_t kMaxTotalBytes = 16 << 20;  // of all strings together

  // invalid_argument: an empty string. limit_exceeded: more than kMaxTotalBytes.
  static Result<StopMatcher> create(const std::vector<std::string>& stops);

  struct Step {
    std::string text;                  // what is certain not to belong to a stop string
    std::optional<std::size_t> match;  // index of the string that ended the stream, the longest of those that end there
  };
  // After a match the stream has ended.
  Step push(std::string_view text);
  // Text that was held back.
  std::string flush();

 private:
  struct Node {
    std::uint32_t first_child = 0;  // 0: none
    std::uint32_t next_sibling = 0;
    std::uint32_t fallback = 0;     // the longest proper suffix that is a prefix of some string
    std::uint32_t depth = 0;
    std::int32_t stop = -1;         // index of the longest string that ends here
    char byte = 0;
  };

  std::uint32_t child(std::uint32_t node, char byte) const;
  void add(std::string_view stop, std::int32_t index);
  void link();

  std::vector<Node> nodes_ = {Node{}};
  std::vector<std::size_t> lengths_;  // of the strings
  std::uint32_t state_ = 0;
  std::string held_;                  // the last depth(state_) bytes
};

}  // namespace rill::session
