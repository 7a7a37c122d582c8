// A vocabulary as its texts' trie, flat and depth-first, which masks are made from. Built once for each vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rill/token.h"
#include "rill/token_set.h"
#include "rill/tokenizer.h"

namespace rill::grammar {

struct TokenTrie {
  struct Node {
    std::uint32_t end;          // the node after those below it
    std::uint32_t first_token;  // of `tokens`: those that end here or below, up to first_token of `end`
    std::uint16_t depth;        // bytes before this one
    std::uint8_t byte;
  };
  std::vector<Node> nodes;    // each before those below it; one more at the end closes the ranges
  std::vector<Token> tokens;  // by their bytes

  // The tokens that end at a node.
  std::span<const Token> at(std::size_t node) const {
    return std::span(tokens).subspan(nodes[node].first_token, nodes[node + 1].first_token - nodes[node].first_token);
  }
};

// Immutable, thread-safe.
struct TokenTable {
  explicit TokenTable(const Tokenizer& tokenizer);

  std::size_t vocabulary = 0;
  std::size_t longest = 0;  // bytes of a token
  TokenTrie all;            // every token that is text: control and unused tokens are not
  // Apart from that: tokens of whole characters that stand in a JSON string as they are (no quote, backslash, control).
  // A state that any such text leads nowhere worse takes them at once, and `rest` is left.
  std::vector<std::uint64_t> plain;
  std::size_t longest_plain = 0;
  TokenTrie rest;
};

// Whether a byte can go on in such a text. 0: no; else the next state, 1 being between characters.
std::uint8_t next_plain(std::uint8_t state, std::uint8_t byte);
inline constexpr std::uint8_t kPlainStates = 9;

}  // namespace rill::grammar
