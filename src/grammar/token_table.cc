#include "grammar/token_table.h"

#include <algorithm>

namespace rill::grammar {
namespace {

// `order`: tokens by their bytes.
TokenTrie make_trie(const Tokenizer& tokenizer, std::span<const Token> order) {
  TokenTrie trie;
  trie.tokens.assign(order.begin(), order.end());
  std::vector<std::uint32_t> path;  // the nodes of the token before
  std::string_view before;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string_view bytes = tokenizer.token_bytes(order[i]);
    const auto common = static_cast<std::size_t>(std::ranges::mismatch(before, bytes).in1 - before.begin());
    while (path.size() > common) {
      trie.nodes[path.back()].end = static_cast<std::uint32_t>(trie.nodes.size());
      path.pop_back();
    }
    for (std::size_t depth = common; depth < bytes.size(); ++depth) {
      path.push_back(static_cast<std::uint32_t>(trie.nodes.size()));
      trie.nodes.push_back({0, static_cast<std::uint32_t>(i), static_cast<std::uint16_t>(depth),
                            static_cast<std::uint8_t>(bytes[depth]), 0});
    }
    before = bytes;
  }
  for (const std::uint32_t node : path) trie.nodes[node].end = static_cast<std::uint32_t>(trie.nodes.size());
  const auto last = static_cast<std::uint32_t>(trie.nodes.size());
  trie.nodes.push_back({last, static_cast<std::uint32_t>(order.size()), 0, 0, 0});
  for (std::uint32_t byte = 0, root = 0; byte <= 256; ++byte) {
    while (root < last && trie.nodes[root].byte < byte) root = trie.nodes[root].end;
    trie.roots[byte] = root;
  }
  for (std::size_t i = last; i-- > 0;) {
    TokenTrie::Node& node = trie.nodes[i];
    unsigned below = kLetter | kWordOrSpace;
    for (std::size_t child = i + 1; child < node.end; child = trie.nodes[child].end) {
      below &= trie.nodes[child].below & kinds_of(trie.nodes[child].byte);
    }
    node.below = static_cast<std::uint8_t>(below);
  }
  return trie;
}

// UTF-8 (Unicode 15, table 3-7): 2, 3, 4: so many continuations less one are wanted; 5 to 8: the second byte after E0, ED,
// F0, F4.
std::uint8_t next_plain(std::uint8_t state, std::uint8_t byte) {
  const auto within = [byte](unsigned first, unsigned last) { return byte >= first && byte <= last; };
  switch (state) {
    case 1:
      if (byte < 0x80) return byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7F ? 0 : 1;
      if (within(0xC2, 0xDF)) return 2;
      if (byte == 0xE0) return 5;
      if (byte == 0xED) return 6;
      if (within(0xE1, 0xEF)) return 3;
      if (byte == 0xF0) return 7;
      if (byte == 0xF4) return 8;
      return within(0xF1, 0xF3) ? 4 : 0;
    case 2: return within(0x80, 0xBF) ? 1 : 0;
    case 3: return within(0x80, 0xBF) ? 2 : 0;
    case 4: return within(0x80, 0xBF) ? 3 : 0;
    case 5: return within(0xA0, 0xBF) ? 2 : 0;
    case 6: return within(0x80, 0x9F) ? 2 : 0;
    case 7: return within(0x90, 0xBF) ? 3 : 0;
    case 8: return within(0x80, 0x8F) ? 3 : 0;
    default: return 0;
  }
}

std::uint8_t next_letter(std::uint8_t, std::uint8_t byte) { return (kinds_of(byte) & kLetter) != 0 ? 1 : 0; }

constexpr std::size_t kLongest = 24;  // a longer token is rare, and would make the proof for all of them longer

bool is_made_of(std::string_view bytes, const TokenSlice& slice) {
  std::uint8_t state = 1;
  for (const char byte : bytes) {
    state = slice.next(state, static_cast<std::uint8_t>(byte));
    if (state == 0) return false;
  }
  return state == 1 && bytes.size() <= kLongest;
}

}  // namespace

std::uint8_t kinds_of(std::uint8_t byte) {
  if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_') return kLetter | kWordOrSpace;
  return (byte >= '0' && byte <= '9') || byte == ' ' ? kWordOrSpace : 0;
}

TokenTable::TokenTable(const Tokenizer& tokenizer) : vocabulary(tokenizer.size()) {
  std::vector<Token> order;
  for (std::size_t i = 0; i < vocabulary; ++i) {
    const auto token = static_cast<Token>(i);
    const std::string_view bytes = tokenizer.token_bytes(token);
    if (tokenizer.is_control(token) || tokenizer.kind(token) == TokenKind::unused) continue;
    if (bytes.empty() || bytes.size() > 0xFFFF) continue;  // no text, or one that nothing needs
    order.push_back(token);
    longest = std::max(longest, bytes.size());
  }
  std::sort(order.begin(), order.end(), [&](Token a, Token b) {
    const int compared = tokenizer.token_bytes(a).compare(tokenizer.token_bytes(b));
    return compared != 0 ? compared < 0 : a < b;
  });
  all = make_trie(tokenizer, order);
  slices[0].next = next_plain;
  slices[1].next = next_letter;
  for (TokenSlice& slice : slices) {
    slice.tokens.resize((vocabulary + TokenSet::kWordBits - 1) / TokenSet::kWordBits);
    std::vector<Token> others;
    for (const Token token : order) {
      const std::string_view bytes = tokenizer.token_bytes(token);
      if (!is_made_of(bytes, slice)) {
        others.push_back(token);
        continue;
      }
      const auto bit = static_cast<std::size_t>(token);
      slice.tokens[bit / TokenSet::kWordBits] |= std::uint64_t{1} << bit % TokenSet::kWordBits;
      slice.longest = std::max(slice.longest, bytes.size());
    }
    slice.rest = make_trie(tokenizer, others);
  }
}

}  // namespace rill::grammar
