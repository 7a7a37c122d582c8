#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <cmath>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/utf8.h"

namespace rill::tokenizer {
namespace {

constexpr std::size_t kMaxTokens = std::size_t{1} << 24;

std::uint64_t hash_of(std::string_view bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

// GPT-2's alphabet gives every byte a printable character: itself where Latin-1 prints it, else the next from U+0100
// on. Index: character; -1: not in the alphabet.
constexpr auto kByteAlphabet = [] {
  std::array<std::int16_t, 0x144> byte_of{};
  byte_of.fill(-1);
  std::size_t next = 0x100;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    byte_of[printable ? byte : next++] = static_cast<std::int16_t>(byte);
  }
  return byte_of;
}();

// The byte of a token written <0xHH>, or -1.
int parse_byte_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const int high = ascii::hex_digit(text[3]), low = ascii::hex_digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

Result<void> check(const VocabularyData& data) {
  const std::size_t count = data.tokens.size();
  if (count == 0) return make_error(ErrorCode::malformed, "the vocabulary is empty");
  if (count > kMaxTokens) {
    return make_error(ErrorCode::limit_exceeded, "the vocabulary has {} tokens; the limit is {}", count, kMaxTokens);
  }
  if (!data.kinds.empty() && data.kinds.size() != count) {
    return make_error(ErrorCode::malformed, "{} token types for {} tokens", data.kinds.size(), count);
  }
  if (data.algorithm == Algorithm::sentencepiece) {
    if (data.scores.size() != count) {
      return make_error(ErrorCode::malformed, "{} token scores for {} tokens", data.scores.size(), count);
    }
    const auto nan =
        std::find_if(data.scores.begin(), data.scores.end(), [](float score) { return std::isnan(score); });
    if (nan != data.scores.end()) {
      return make_error(ErrorCode::malformed, "the score of token {} is not a number", nan - data.scores.begin());
    }
  }
  const std::pair<const char*, std::optional<Token>> named[] = {
      {"bos", data.bos}, {"eos", data.eos}, {"eot", data.eot}, {"eom", data.eom}, {"unknown", data.unknown}};
  for (const auto& [name, token] : named) {
    if (token && (*token < 0 || static_cast<std::size_t>(*token) >= count)) {
      return make_error(ErrorCode::malformed, "the {} token {} is outside the vocabulary of {}", name, *token, count);
    }
  }
  return {};
}

}  // namespace

void append_with_spaces(std::string_view text, std::string& bytes) {
  for (std::size_t mark; (mark = text.find(kSpaceMark)) != text.npos; text.remove_prefix(mark + kSpaceMark.size())) {
    bytes += text.substr(0, mark);
    bytes += ' ';
  }
  bytes += text;
}

bool append_from_byte_alphabet(std::string_view text, std::string& bytes) {
  const std::size_t before = bytes.size();
  for (std::size_t position = 0; position < text.size();) {
    if (text[position] > ' ' && text[position] <= '~') {  // most bytes of most pieces stand for themselves
      bytes += text[position++];
      continue;
    }
    const utf8::Character character = utf8::decode(text, position);
    if (character.code >= kByteAlphabet.size() || kByteAlphabet[character.code] < 0) {
      bytes.resize(before);
      return false;
    }
    bytes += static_cast<char>(kByteAlphabet[character.code]);
    position += character.length;
  }
  return true;
}

Result<Vocabulary> Vocabulary::build(const VocabularyData& data) {
  RILL_TRY(check(data));
  const bool is_bpe = data.algorithm == Algorithm::byte_level_bpe;
  const std::size_t count = data.tokens.size();
  Vocabulary result;
  result.kinds_ = data.kinds;
  result.kinds_.resize(count, TokenKind::normal);
  result.byte_tokens_.fill(kNoToken);
  result.strings_.bytes.reserve(data.tokens.bytes.size());
  result.strings_.offsets.reserve(count + 1);

  for (std::size_t index = 0; index < count; ++index) {
    const std::string_view text = data.tokens[index];
    const TokenKind kind = result.kinds_[index];
    std::string& bytes = result.strings_.bytes;
    if (kind == TokenKind::byte) {
      const int byte = parse_byte_token(text);
      if (byte < 0)
        return make_error(ErrorCode::malformed, "byte token {} is called '{}', not <0x00> to <0xFF>", index, text);
      bytes += static_cast<char>(byte);
      Token& slot = result.byte_tokens_[static_cast<std::size_t>(byte)];
      if (slot == kNoToken) slot = static_cast<Token>(index);
    } else if (kind == TokenKind::control || kind == TokenKind::unknown) {
      bytes += text;
    } else if (!is_bpe) {
      append_with_spaces(text, bytes);
    } else if (kind == TokenKind::user_defined || !append_from_byte_alphabet(text, bytes)) {
      bytes += text;
    }
    result.strings_.end_string();
  }
  result.index_pieces(is_bpe);
  return result;
}

void Vocabulary::index_pieces(bool is_bpe) {
  constexpr std::size_t kAhead = 16;
  std::vector<std::uint64_t> hashes(size() + kAhead);
  for (std::size_t index = 0; index < size(); ++index) hashes[index] = hash_of(strings_[index]);
  pieces_ = IndexTable(size());
  for (std::size_t index = 0; index < size(); ++index) {
    pieces_.prefetch(hashes[index + kAhead]);
    const std::string_view piece = strings_[index];
    const bool mergeable = kinds_[index] == TokenKind::normal || (is_bpe && kinds_[index] == TokenKind::user_defined);
    if (!mergeable || piece.empty()) continue;
    longest_piece_ = std::max(longest_piece_, piece.size());
    const auto same = [&](std::uint32_t other) { return strings_[other] == piece; };
    if (!pieces_.insert(hashes[index], static_cast<std::uint32_t>(index), same)) ++duplicates_;
  }
  for (std::size_t byte = 0; is_bpe && byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    if (const Token token = find_piece({&text, 1}); token != kNoToken) byte_tokens_[byte] = token;
  }
}

Token Vocabulary::find_piece(std::string_view bytes, Token guess) const noexcept {
  if (contains(guess) && duplicates_ == 0 && kind(guess) == TokenKind::normal && this->bytes(guess) == bytes)
    return guess;
  if (bytes.size() > longest_piece_) return kNoToken;
  const auto same = [&](std::uint32_t other) { return strings_[other] == bytes; };
  return static_cast<Token>(pieces_.find(hash_of(bytes), same));  // IndexTable::kNone is -1
}

std::size_t Vocabulary::append_byte_tokens(std::string_view bytes, std::vector<Token>& tokens) const {
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    const Token token = byte_token(static_cast<std::uint8_t>(bytes[index]));
    if (token == kNoToken) {
      tokens.resize(tokens.size() - index);
      return index;
    }
    tokens.push_back(token);
  }
  return bytes.size();
}

Error missing_byte_error(char byte, std::size_t offset) {
  return make_error(ErrorCode::invalid_argument,
                    "byte 0x{:02X} at offset {} of the text has no token in this vocabulary",
                    static_cast<std::uint8_t>(byte), offset);
}

}  // namespace rill::tokenizer
