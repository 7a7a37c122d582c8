#include "grammar/token_table.h"

#include <algorithm>
#include <utility>

namespace rill::grammar {
namespace {

using Text = std::pair<std::string_view, Token>;

// `texts`: ascending.
TokenTrie make_trie(std::span<const Text> texts) {
  TokenTrie trie;
  for (const Text& text : texts) trie.tokens.push_back(text.second);
  std::vector<std::uint32_t> path;  // the nodes of the token before
  std::string_view before;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string_view bytes = texts[i].first;
    trie.depth = std::max(trie.depth, bytes.size());
    const auto common = static_cast<std::size_t>(std::ranges::mismatch(before, bytes).in1 - before.begin());
    while (path.size() > common) {
      trie.nodes[path.back()].end = static_cast<std::uint32_t>(trie.nodes.size());
      path.pop_back();
    }
    for (std::size_t depth = common; depth < bytes.size(); ++depth) {
      path.push_back(static_cast<std::uint32_t>(trie.nodes.size()));
      trie.nodes.push_back({0, static_cast<std::uint32_t>(i), static_cast<std::uint16_t>(depth),
                            static_cast<std::uint8_t>(bytes[depth]), 0, 0, 0, false});
    }
    before = bytes;
  }
  for (const std::uint32_t node : path) trie.nodes[node].end = static_cast<std::uint32_t>(trie.nodes.size());
  const auto last = static_cast<std::uint32_t>(trie.nodes.size());
  trie.nodes.push_back({last, static_cast<std::uint32_t>(texts.size()), 0, 0, 0, 0, 0, false});
  for (std::uint32_t byte = 0, root = 0; byte <= 256; ++byte) {
    while (root < last && trie.nodes[root].byte < byte) root = trie.nodes[root].end;
    trie.roots[byte] = root;
  }
  std::vector<std::uint32_t> longest(last);
  for (std::size_t i = last; i-- > 0;) {
    std::uint32_t below = 0;
    for (std::size_t child = i + 1; child < trie.nodes[i].end; child = trie.nodes[child].end) {
      below = std::max(below, longest[child]);
    }
    longest[i] = below + 1;
    trie.nodes[i].length = static_cast<std::uint8_t>(std::min<std::uint32_t>(longest[i], kAnyLength));
  }
  return trie;
}

// What is said of texts. By node and state of a kind's automaton before its byte: whether it and those below are text, and
// whether all their tokens end where a character ends.
void find_texts(TokenTrie& trie, TextKind kind) {
  using States = std::uint16_t;  // as bits
  const bool is_ascii = kind == TextKind::letters || kind == TextKind::words;
  const std::uint8_t states = is_ascii ? kBoundary + 1 : kTextStates;
  const std::size_t count = trie.nodes.size() - 1;
  std::vector<States> text(count), whole(count);
  std::vector<std::uint8_t> before(count);  // the state on the way from the root, or 0
  for (std::size_t i = 0; i < count; ++i) {
    if (trie.nodes[i].depth == 0) before[i] = kBoundary;
    const std::uint8_t after = next_of_text(kind, before[i], trie.nodes[i].byte);
    for (std::size_t child = i + 1; child < trie.nodes[i].end; child = trie.nodes[child].end) before[child] = after;
  }
  for (std::size_t i = count; i-- > 0;) {
    TokenTrie::Node& node = trie.nodes[i];
    States text_below = 0xFFFF, whole_below = 0xFFFF;
    for (std::size_t child = i + 1; child < node.end; child = trie.nodes[child].end) {
      text_below &= text[child];
      whole_below &= whole[child];
    }
    if (trie.ends_token(i)) whole_below &= 1u << kBoundary;
    for (std::uint8_t state = kBoundary; state < states; ++state) {
      const std::uint8_t after = next_of_text(kind, state, node.byte);
      if (after == 0) continue;
      text[i] |= static_cast<States>((text_below >> after & 1) << state);
      whole[i] |= static_cast<States>((whole_below >> after & 1) << state);
    }
    if ((text[i] >> kBoundary & 1) != 0) node.texts |= bit(kind);
    if ((text[i] >> before[i] & 1) != 0) node.whole_texts |= bit(kind);
    if (kind == TextKind::string_body) node.ends_inside = (whole[i] >> kBoundary & 1) == 0;
  }
}

constexpr std::size_t kMostRoots = 6;
constexpr std::size_t kMostCharacters = 64;  // counted; each number takes a bit for every token

// What `bytes` begin with of the kind, up to so many characters. One that they end inside of counts.
struct Beginning {
  std::size_t size = 0, characters = 0;
};

Beginning beginning_of(TextKind kind, std::string_view bytes, std::size_t most_characters) {
  std::uint8_t state = kBoundary;
  Beginning whole;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    state = next_of_text(kind, state, static_cast<std::uint8_t>(bytes[i]));
    if (state == 0 || whole.characters == most_characters) return whole;
    if (state == kBoundary) whole = {i + 1, whole.characters + 1};
  }
  return {bytes.size(), whole.characters + (state == kBoundary ? 0u : 1u)};
}

void add(Token token, std::vector<std::uint64_t>& tokens) {
  const auto number = static_cast<std::size_t>(token);
  tokens[number / TokenSet::kWordBits] |= std::uint64_t{1} << number % TokenSet::kWordBits;
}

std::vector<TokenTable::Counted> count_characters(std::span<const Text> texts, std::size_t words) {
  std::vector<TokenTable::Counted> counted(1, {std::vector<std::uint64_t>(words), {}});
  std::vector<std::vector<Text>> begun(1);
  for (const auto& [bytes, token] : texts) {
    const Beginning text = beginning_of(TextKind::string_body, bytes, kMostCharacters);
    if (text.characters >= counted.size()) {
      counted.resize(text.characters + 1, {std::vector<std::uint64_t>(words), {}});
      begun.resize(text.characters + 1);
    }
    if (text.size == bytes.size()) {
      add(token, counted[text.characters].tokens);
    } else {
      begun[text.characters].emplace_back(bytes.substr(text.size), token);
    }
  }
  for (std::size_t n = 0; n < counted.size(); ++n) {
    std::sort(begun[n].begin(), begun[n].end());
    counted[n].begun = make_trie(begun[n]);
    for (std::size_t i = 0; n > 0 && i < words; ++i) counted[n].tokens[i] |= counted[n - 1].tokens[i];
  }
  return counted;
}

}  // namespace

bool is_text(const Tokenizer& tokenizer, Token token) {
  const std::size_t size = tokenizer.token_bytes(token).size();
  return !tokenizer.is_control(token) && tokenizer.kind(token) != TokenKind::unused && size > 0 && size <= 0xFFFF;
}

TokenTable::TokenTable(const Tokenizer& tokenizer) : vocabulary(tokenizer.size()) {
  std::vector<Text> order;
  for (std::size_t i = 0; i < vocabulary; ++i) {
    const auto token = static_cast<Token>(i);
    if (!is_text(tokenizer, token)) continue;
    order.emplace_back(tokenizer.token_bytes(token), token);
    longest = std::max(longest, order.back().first.size());
  }
  std::sort(order.begin(), order.end());
  trie = make_trie(order);
  const std::size_t words = (vocabulary + TokenSet::kWordBits - 1) / TokenSet::kWordBits;
  by_characters = count_characters(order, words);
  for (const TextKind kind : kTextKinds) {
    find_texts(trie, kind);
    Texts& of_kind = texts[index(kind)];
    of_kind.tokens.resize(words);
    std::array<std::uint32_t, 256> begin_with{};
    std::vector<Text> begun;
    for (const auto& [bytes, token] : order) {
      const auto first = static_cast<std::uint8_t>(bytes[0]);
      if (const std::size_t size = beginning_of(kind, bytes, bytes.size()).size; size < bytes.size()) {
        if (begins_text(kind, first)) begun.emplace_back(bytes.substr(size), token);
        continue;
      }
      add(token, of_kind.tokens);
      ++begin_with[first];
    }
    std::sort(begun.begin(), begun.end());
    of_kind.begun = make_trie(begun);
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (begin_with[byte] > 0) of_kind.roots.push_back({static_cast<std::uint8_t>(byte), begin_with[byte]});
    }
    std::stable_sort(of_kind.roots.begin(), of_kind.roots.end(), [](auto a, auto b) { return a.tokens > b.tokens; });
    of_kind.roots.resize(std::min(of_kind.roots.size(), kMostRoots));
  }
}

}  // namespace rill::grammar
