#include "tokenizer/bpe.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/utf8.h"

namespace rill::tokenizer {
namespace {

std::uint64_t hash_of(Token left, Token right) noexcept {
  const std::uint64_t key = std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  const std::uint64_t mixed = (key ^ key >> 29) * 0x9E3779B97F4A7C15;
  return mixed ^ mixed >> 32;
}

}  // namespace

Result<Bpe> Bpe::build(const Vocabulary& vocabulary, const VocabularyData& data) {
  RILL_ASSIGN(const PreTokenizer pre_tokenizer, PreTokenizer::named(data.pre_tokenizer));
  Bpe result(pre_tokenizer, data.ignore_merges);
  result.merges_.reserve(data.merges.size());
  result.ranks_ = IndexTable(data.merges.size());
  std::string bytes;
  Token next = kNoToken;  // files list merges in the order of the tokens that they make
  for (std::size_t index = 0; index < data.merges.size(); ++index) {
    const std::string_view text = data.merges[index];
    const std::size_t space = text.find(' ', 1);
    bytes.clear();
    if (space == text.npos || !append_from_byte_alphabet(text.substr(0, space), bytes)) {
      return make_error(ErrorCode::malformed, "merge {} is '{}', not two pieces and a space", index, text);
    }
    const std::size_t left_size = bytes.size();
    if (!append_from_byte_alphabet(text.substr(space + 1), bytes) || bytes.size() == left_size) {
      return make_error(ErrorCode::malformed, "merge {} is '{}', not two pieces and a space", index, text);
    }
    const std::string_view both = bytes;
    const Merge merge = {vocabulary.find_piece(both.substr(0, left_size)),
                         vocabulary.find_piece(both.substr(left_size)), vocabulary.find_piece(both, next)};
    next = merge.merged + 1;
    if (merge.left == kNoToken || merge.right == kNoToken || merge.merged == kNoToken) {
      return make_error(ErrorCode::malformed, "merge {}, '{}', names a piece that is not in the vocabulary", index,
                        text);
    }
    result.merges_.push_back(merge);
    const auto same = [&](std::uint32_t rank) {
      return result.merges_[rank].left == merge.left && result.merges_[rank].right == merge.right;
    };
    result.ranks_.insert(hash_of(merge.left, merge.right), static_cast<std::uint32_t>(index), same);
  }
  return result;
}

Result<void> Bpe::encode(const Vocabulary& vocabulary, std::string_view text, std::size_t begin, std::size_t end,
                         Unencodable unencodable, std::vector<Token>& tokens) const {
  Scratch scratch;
  const std::string_view fragment = text.substr(0, end);
  for (std::size_t piece = begin, piece_end; piece < end; piece = piece_end) {
    piece_end = pre_tokenizer_.piece_end(fragment, piece);
    if (ignore_merges_) {
      if (const Token whole = vocabulary.find_piece(text.substr(piece, piece_end - piece)); whole != kNoToken) {
        tokens.push_back(whole);
        continue;
      }
    }
    RILL_TRY(split(vocabulary, text, piece, piece_end, unencodable, scratch));
    merge(scratch);
    for (const Symbol& symbol : scratch.symbols) {
      if (symbol.token != kNoToken) tokens.push_back(symbol.token);
    }
  }
  return {};
}

// The token of each byte; a character with a byte that has none is refused or replaced as a whole.
Result<void> Bpe::split(const Vocabulary& vocabulary, std::string_view text, std::size_t begin, std::size_t end,
                        Unencodable unencodable, Scratch& scratch) const {
  auto& [bytes, symbols, heap] = scratch;
  bytes.clear();
  for (std::size_t position = begin, length; position < end; position += length) {
    length = utf8::decode(text.substr(0, end), position).length;
    const std::size_t done = vocabulary.append_byte_tokens(text.substr(position, length), bytes);
    if (done == length) continue;
    const bool replaced =
        unencodable == Unencodable::replace &&
        vocabulary.append_byte_tokens(utf8::kReplacementBytes, bytes) == utf8::kReplacementBytes.size();
    if (!replaced) return missing_byte_error(text[position + done], position + done);
  }
  symbols.clear();
  for (std::uint32_t index = 0; index < bytes.size(); ++index) symbols.push_back({bytes[index], index - 1, index + 1});
  symbols.back().next = kEnd;
  return {};
}

void Bpe::push_pair(Scratch& scratch, std::uint32_t left) const {
  const Symbol& symbol = scratch.symbols[left];
  if (symbol.next == kEnd) return;
  const Token right = scratch.symbols[symbol.next].token;
  const std::uint32_t rank = ranks_.find(hash_of(symbol.token, right), [&](std::uint32_t candidate) {
    return merges_[candidate].left == symbol.token && merges_[candidate].right == right;
  });
  if (rank != IndexTable::kNone) scratch.heap.push_back(std::uint64_t{rank} << 32 | left);
}

// Merges the pair of the lowest rank, the leftmost of equals, until no pair has one.
void Bpe::merge(Scratch& scratch) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  std::vector<std::uint64_t>& heap = scratch.heap;
  heap.clear();
  for (std::uint32_t index = 0; index + 1 < symbols.size(); ++index) push_pair(scratch, index);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto push = [&](std::uint32_t left) {
    const std::size_t before = heap.size();
    push_pair(scratch, left);
    if (heap.size() != before) std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto index = static_cast<std::uint32_t>(heap.back());
    const Merge& rule = merges_[heap.back() >> 32];
    heap.pop_back();
    Symbol& left = symbols[index];
    // A pair that has changed since it was pushed was pushed again as what it is now.
    if (left.token != rule.left || left.next == kEnd || symbols[left.next].token != rule.right) continue;
    Symbol& right = symbols[left.next];
    left.token = rule.merged;
    left.next = right.next;
    right.token = kNoToken;
    if (left.next != kEnd) symbols[left.next].previous = index;
    if (index != 0) push(left.previous);
    push(index);
  }
}

}  // namespace rill::tokenizer
