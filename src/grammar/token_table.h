// A vocabulary as its texts' trie, flat and depth-first, which masks are made from. Built once for each vocabulary.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "grammar/text_kind.h"
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
    std::uint8_t length;        // of the longest text of this byte and those below, at most kAnyLength
    std::uint8_t texts;         // the kinds of which this byte and those below are text, if a character begins with it
    std::uint8_t whole_texts;   // those of which the bytes before it are text, too
    bool ends_inside;           // a token here or below ends inside a character, if one begins with this byte
  };

  // Nodes beside each other, with all below them, from `begin` to before `end`.
  struct Siblings {
    std::uint32_t begin, end;
  };
  Siblings roots_of(std::uint8_t byte) const { return {roots[byte], roots[byte + 1u]}; }
  Siblings below(std::uint32_t node) const { return {node + 1, nodes[node].end}; }
  // The one of `byte`; siblings.end if there is none.
  std::uint32_t find(Siblings siblings, std::uint8_t byte) const {
    std::uint32_t node = siblings.begin;
    while (node < siblings.end && nodes[node].byte != byte) node = nodes[node].end;
    return node < siblings.end ? node : siblings.end;
  }
  bool ends_token(std::size_t node) const { return nodes[node].first_token < nodes[node + 1].first_token; }

  std::size_t depth = 0;      // bytes of the longest
  std::vector<Node> nodes;    // each before those below it; one more at the end closes the ranges
  std::vector<Token> tokens;  // by their bytes
  std::array<std::uint32_t, 257> roots{};  // the first node whose first byte is at least this one
};

// Whether it stands for its bytes in a text: control and unused tokens do not, nor does one that nothing needs.
bool is_text(const Tokenizer& tokenizer, Token token);

// Immutable, thread-safe.
struct TokenTable {
  explicit TokenTable(const Tokenizer& tokenizer);

  std::size_t vocabulary = 0;
  std::size_t longest = 0;  // bytes of a token
  TokenTrie trie;           // every token that is text

  struct Texts {
    std::vector<std::uint64_t> tokens;  // those that are texts of the kind, as bits
    TokenTrie begun;  // the others that begin like one, from the first of their characters that is not of the kind
    struct Root {
      std::uint8_t byte;
      std::uint32_t tokens;  // that begin with it
    };
    std::vector<Root> roots;  // which most of them begin with
  };
  std::array<Texts, kTextKinds.size()> texts;  // by kind

  // Of string bodies, by characters, one that is begun counted: [n] up to that of the longest token, or to 64, behind which
  // the rest of a longer one is something else.
  struct Counted {
    std::vector<std::uint64_t> tokens;  // texts of at most n, as bits
    TokenTrie begun;                    // what goes on with something else behind n, from there on
  };
  std::vector<Counted> by_characters;
};

}  // namespace rill::grammar
