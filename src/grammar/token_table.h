// A vocabulary as its texts' trie, flat and depth-first, which masks are made from. Built once for each vocabulary.
#pragma once

#include <array>
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

// Kinds of bytes, as bits, that often lead from a state to itself.
enum ByteKind : std::uint8_t { kLetter = 1, kWordOrSpace = 2 };
std::uint8_t kinds_of(std::uint8_t byte);

struct TokenTrie {
  struct Node {
    std::uint32_t end;          // the node after those below it
    std::uint32_t first_token;  // of `tokens`: those that end here or below, up to first_token of `end`
    std::uint16_t depth;        // bytes before this one
    std::uint8_t byte;
    std::uint8_t below;         // the ByteKinds that all bytes below are of
  };
  std::vector<Node> nodes;    // each before those below it; one more at the end closes the ranges
  std::vector<Token> tokens;  // by their bytes
  std::array<std::uint32_t, 257> roots{};  // the first node whose first byte is at least this one
};

// Tokens made of one kind of characters. Where a proof shows that any such text may follow, they are allowed at once, and
// only the others are walked.
struct TokenSlice {
  // The automaton of the kind, from state 1, where a character begins: the next state, or 0.
  std::uint8_t (*next)(std::uint8_t state, std::uint8_t byte) = nullptr;
  std::vector<std::uint64_t> tokens;  // as bits
  std::size_t longest = 0;            // bytes of one of them
  TokenTrie rest;
};

// Immutable, thread-safe.
struct TokenTable {
  explicit TokenTable(const Tokenizer& tokenizer);

  std::size_t vocabulary = 0;
  std::size_t longest = 0;  // bytes of a token
  TokenTrie all;            // every token that is text: control and unused tokens are not
  // What stands in a JSON string as it is (whole characters, no quote, backslash or control); letters and underscores.
  std::array<TokenSlice, 2> slices;
};

}  // namespace rill::grammar
