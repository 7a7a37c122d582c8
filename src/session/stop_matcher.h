// Finds the first of several strings in a stream of text, holding back what may still become one.
// Aho and Corasick, "Efficient string matching", 1975: the cost of a byte does not grow with the number of strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rill/result.h"
#include "rill/tokenizer.h"

namespace rill::session {

class StopMatcher {
 public:
  static constexpr std::size_t kMaxTotalBytes = 16 << 20;  // of all strings together

  // `hidden`: control tokens of this vocabulary are no text of the stream. A string that spells some is found where
  // they are; its other parts are text. invalid_argument: an empty string. limit_exceeded: more than kMaxTotalBytes.
  static Result<StopMatcher> create(const std::vector<std::string>& stops, const Tokenizer* hidden = nullptr);

  struct Step {
    std::string text;                  // what is certain not to belong to a stop string
    std::optional<std::size_t> match;  // index of the string that ended the stream, the longest of those that end there
  };
  // After a match the stream has ended.
  Step push(std::string_view text);
  Step push_hidden(Token token);
  // Text that was held back.
  std::string flush();

 private:
  using Symbol = std::uint32_t;  // a byte, or 256 + a control token

  class Automaton {
   public:
    void add(std::span<const Symbol> stop, std::size_t index);
    void link();
    // Nothing that was fed before may be part of a match from here on.
    void restart() { state_ = 0; }
    void feed(Symbol symbol);
    // The longest string that ends here, and how many bytes of it are text.
    std::optional<std::size_t> match() const;
    std::size_t match_bytes() const { return bytes_[static_cast<std::size_t>(nodes_[state_].stop)]; }
    std::size_t open_bytes() const { return nodes_[state_].bytes; }  // of text that may become a match

   private:
    struct Node {
      std::uint32_t first_child = 0;  // 0: none
      std::uint32_t next_sibling = 0;
      std::uint32_t fallback = 0;     // the longest proper suffix that is a prefix of some string
      std::uint32_t bytes = 0;        // of text, from the root
      std::int32_t stop = -1;         // index of the longest string that ends here
      Symbol symbol = 0;
    };
    std::uint32_t child(std::uint32_t node, Symbol symbol) const;

    std::vector<Node> nodes_ = {Node{}};
    std::vector<std::size_t> bytes_;  // of the strings, text alone
    std::uint32_t state_ = 0;
  };

  bool settle(Step& step);

  Automaton texts_;   // sees text alone
  Automaton mixed_;   // sees hidden tokens, too: the strings that hold some
  std::string held_;  // the last bytes, as many as may become part of a match
};

}  // namespace rill::session
