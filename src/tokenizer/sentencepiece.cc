#include "tokenizer/sentencepiece.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/error.h"
#include "base/utf8.h"

namespace rill::tokenizer {
namespace {

constexpr std::uint32_t kEnd = 0xFFFFFFFF;

// Unsigned integers in the reverse order of finite or infinite floats; -0 and 0 are equal.
std::uint32_t descending_order(float score) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);
  return bits >> 31 ? bits : ~bits & 0x7FFFFFFF;
}

// The bytes to merge: with spaces for space marks, as the vocabulary's pieces are kept.
std::string normalise(std::string_view text, bool space_prefix) {
  std::string result(space_prefix ? 1 : 0, ' ');
  append_with_spaces(text, result);
  return result;
}

// Where in `text` the byte `position` of normalise(text, space_prefix) came from.
std::size_t original_offset(std::string_view text, bool space_prefix, std::size_t position) {
  std::size_t offset = 0;
  for (std::size_t count = space_prefix ? 1 : 0; count < position; ++count) {
    offset += text.substr(offset).starts_with(kSpaceMark) ? kSpaceMark.size() : 1;
  }
  return offset;
}

}  // namespace

struct SentencePiece::Merger {
  struct Symbol {
    std::uint32_t begin, size;  // size 0: merged into an earlier symbol
    std::uint32_t previous, next;
  };
  struct Candidate {
    std::uint64_t key;   // order << 32 | index of the left symbol, smallest first
    std::uint32_t size;  // of both symbols, in bytes
    bool operator<(const Candidate& other) const { return key > other.key; }
  };

  const Vocabulary& vocabulary;
  const std::vector<std::uint32_t>& order;
  std::string_view text;
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;

  bool push_pair(std::uint32_t left) {
    const Symbol& symbol = symbols[left];
    if (symbol.next == kEnd) return false;
    const std::uint32_t size = symbol.size + symbols[symbol.next].size;
    const Token token = vocabulary.find_piece(text.substr(symbol.begin, size));
    if (token == kNoToken) return false;
    heap.push_back({std::uint64_t{order[static_cast<std::size_t>(token)]} << 32 | left, size});
    return true;
  }

  void split() {
    for (std::size_t position = 0; position < text.size();) {
      const std::uint32_t length = utf8::decode(text, position).length;
      const auto count = static_cast<std::uint32_t>(symbols.size());
      symbols.push_back({static_cast<std::uint32_t>(position), length, count - 1, count + 1});
      position += length;
    }
    symbols.back().next = kEnd;
  }

  // Merges the pair of the highest score, the leftmost of equals, until no pair is a piece.
  void merge() {
    for (std::uint32_t index = 0; index + 1 < symbols.size(); ++index) push_pair(index);
    std::make_heap(heap.begin(), heap.end());
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end());
      const auto index = static_cast<std::uint32_t>(heap.back().key);
      const std::uint32_t size = heap.back().size;
      heap.pop_back();
      Symbol& left = symbols[index];
      if (left.size == 0 || left.next == kEnd || left.size + symbols[left.next].size != size) continue;
      Symbol& right = symbols[left.next];
      left.size = size;
      left.next = right.next;
      right.size = 0;
      if (left.next != kEnd) symbols[left.next].previous = index;
      if (index != 0 && push_pair(left.previous)) std::push_heap(heap.begin(), heap.end());
      if (push_pair(index)) std::push_heap(heap.begin(), heap.end());
    }
  }
};

SentencePiece::SentencePiece(const VocabularyData& data) : unknown_(data.unknown.value_or(kNoToken)) {
  order_.resize(data.scores.size());
  std::transform(data.scores.begin(), data.scores.end(), order_.begin(), descending_order);
}

Result<void> SentencePiece::encode(const Vocabulary& vocabulary, std::string_view text, std::size_t begin,
                                   std::size_t end, bool space_prefix, Unencodable unencodable,
                                   std::vector<Token>& tokens) const {
  const std::string_view fragment = text.substr(begin, end - begin);
  const std::string bytes = normalise(fragment, space_prefix);
  Merger merger{vocabulary, order_, bytes, {}, {}};
  merger.split();
  merger.merge();
  for (const Merger::Symbol& symbol : merger.symbols) {
    if (symbol.size == 0) continue;
    const std::string_view piece = merger.text.substr(symbol.begin, symbol.size);
    if (const Token token = vocabulary.find_piece(piece); token != kNoToken) {
      tokens.push_back(token);
    } else if (const auto missing = append_unknown(vocabulary, piece, unencodable, tokens)) {
      const std::size_t position = symbol.begin + *missing;
      return missing_byte_error(bytes[position], begin + original_offset(fragment, space_prefix, position));
    }
  }
  return {};
}

std::optional<std::size_t> SentencePiece::append_unknown(const Vocabulary& vocabulary, std::string_view character,
                                                         Unencodable unencodable, std::vector<Token>& tokens) const {
  const std::size_t done = vocabulary.append_byte_tokens(character, tokens);
  if (done == character.size()) return std::nullopt;
  if (unencodable == Unencodable::replace) {
    constexpr std::string_view kBytes = utf8::kReplacementBytes;
    Token replacement = vocabulary.find_piece(kBytes);
    if (replacement == kNoToken && vocabulary.append_byte_tokens(kBytes, tokens) == kBytes.size()) return std::nullopt;
    if (replacement == kNoToken) replacement = unknown_;
    if (replacement != kNoToken) {
      tokens.push_back(replacement);
      return std::nullopt;
    }
  }
  return done;
}

}  // namespace rill::tokenizer
