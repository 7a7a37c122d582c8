#include "grammar/forced_tokens.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"
#include "base/utf8.h"

namespace rill::grammar {
namespace {

constexpr std::size_t kMostLookedBack = 256;  // bytes

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Behind a letter or digit, a mark that is neither a letter, a digit, white space nor an apostrophe begins a piece for every
// pre-tokenizer.
bool begins_piece(char before, char after) {
  const bool mark = after > ' ' && after <= '~' && !ascii::is_alphanumeric(after) && after != '\'';
  return mark && ascii::is_alphanumeric(before);
}

// The end of the text may change what a pre-tokenizer makes of white space before it, and of an apostrophe's letters.
std::size_t settled_size(std::string_view text) {
  std::size_t size = text.size();
  while (size > 0 && is_space(text[size - 1])) --size;
  for (std::size_t i = text.size() - std::min<std::size_t>(3, text.size()); i < size; ++i) {
    if (text[i] == '\'') size = i;
  }
  return size;
}

// The tokens of `text`, as many as stay the same whatever follows. Empty if they do not spell it.
std::vector<Token> settled_tokens(const Tokenizer& tokenizer, const TokenTable& table, std::string_view text) {
  const auto encoded = tokenizer.encode(text, {.continues_text = true});
  if (!encoded) return {};
  std::vector<Token> tokens = *encoded;
  std::size_t end = 0;
  for (const Token token : tokens) {
    const std::string_view bytes = tokenizer.token_bytes(token);
    if (text.substr(end, bytes.size()) != bytes) return {};
    end += bytes.size();
  }
  if (end != text.size()) return {};
  const std::size_t most = settled_size(text);
  while (!tokens.empty() && (end > most || may_join(table, text, end))) {
    end -= tokenizer.token_bytes(tokens.back()).size();
    tokens.pop_back();
  }
  return tokens;
}

// Without a last character that is not whole.
std::string_view whole_characters(std::string_view text) {
  std::size_t last = text.size();
  while (last > 0 && text.size() - last < 3 && (text[last - 1] & 0xC0) == 0x80) --last;
  if (last > 0) --last;
  return utf8::is_valid(text.substr(last)) ? text : text.substr(0, last);
}

}  // namespace

bool may_join(const TokenTable& table, std::string_view text, std::size_t cut) {
  const TokenTrie& trie = table.trie;
  const auto covers = [&](std::size_t begin) {
    const auto first = static_cast<std::uint8_t>(text[begin]);
    TokenTrie::Siblings next = trie.roots_of(first);
    for (std::size_t position = begin; position < text.size(); ++position) {
      const std::uint32_t node = trie.find(next, static_cast<std::uint8_t>(text[position]));
      if (node == next.end) return false;
      if (position >= cut && trie.ends_token(node)) return true;
      next = trie.below(node);
    }
    return next.begin < next.end;  // one that goes on beyond the text
  };
  for (std::size_t begin = cut - std::min(cut, table.longest); begin < cut; ++begin) {
    if (covers(begin)) return true;
  }
  return false;
}

std::vector<Token> forced_tokens(const Tokenizer& tokenizer, const TokenTable& table, std::span<const Token> before,
                                 std::string_view forced) {
  forced = whole_characters(forced);
  if (forced.empty()) return {};
  std::string text(forced);
  std::vector<std::size_t> sizes;  // of the tokens that were put before, the last first
  std::size_t first = before.size();
  const auto at_begin = [&] { return first == 0 || tokenizer.is_control(before[first - 1]); };
  for (; !at_begin() && text.size() < forced.size() + kMostLookedBack; --first) {
    const std::string_view bytes = tokenizer.token_bytes(before[first - 1]);
    text.insert(0, bytes);
    sizes.push_back(bytes.size());
  }
  std::size_t anchor = text.size() - forced.size();
  std::size_t token = before.size();
  for (const std::size_t size : sizes) {
    if (begins_piece(text[anchor - 1], text[anchor]) && !may_join(table, text, anchor)) break;
    anchor -= size;
    --token;
  }
  if (anchor == 0 && !at_begin()) return {};
  const auto stand = before.subspan(token);
  const auto tokens = settled_tokens(tokenizer, table, std::string_view(text).substr(anchor));
  const auto same = std::ranges::mismatch(tokens, stand);
  if (same.in2 == stand.end()) return {same.in1, tokens.end()};
  if (same.in1 == tokens.end()) return {};  // what the tokenizer would make of `before` is not settled yet
  auto alone = settled_tokens(tokenizer, table, forced);
  alone.resize(std::min<std::size_t>(alone.size(), 1));
  return alone;
}

}  // namespace rill::grammar
