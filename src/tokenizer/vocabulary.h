// A model's tokens in flat arrays: their bytes, kinds, and the tables that find them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/flat_strings.h"
#include "rill/result.h"
#include "rill/token.h"
#include "rill/tokenizer.h"
#include "tokenizer/index_table.h"

namespace rill::tokenizer {

inline constexpr Token kNoToken = -1;

enum class Algorithm : std::uint8_t {
  byte_level_bpe,  // `tokenizer.ggml.model` = "gpt2"
  sentencepiece,   // "llama"
};

// What a model file says about its tokenizer, independent of the file format.
struct VocabularyData {
  Algorithm algorithm = Algorithm::byte_level_bpe;
  std::string pre_tokenizer;     // byte-level BPE: gpt-2, smollm, llama-bpe or qwen2
  FlatStrings tokens;            // as in the file: in GPT-2's byte alphabet, or with U+2581 for a space
  std::vector<TokenKind> kinds;  // one a token, or empty: all normal
  std::vector<float> scores;     // SentencePiece: one a token; the pair of the highest score merges first
  FlatStrings merges;            // byte-level BPE: "left right", the first merges first
  std::optional<Token> bos, eos, eot, eom, unknown;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;  // SentencePiece
  bool ignore_merges = false;     // byte-level BPE: a piece that is a token is that token, whatever merges lead to
};

// Immutable, thread-safe.
class Vocabulary {
 public:
  // Checks `data` and turns each token's text into the bytes it stands for.
  static Result<Vocabulary> build(const VocabularyData& data);

  std::size_t size() const noexcept { return kinds_.size(); }
  bool contains(Token token) const noexcept { return token >= 0 && static_cast<std::size_t>(token) < size(); }

  // Undefined unless contains(token).
  std::string_view bytes(Token token) const noexcept { return strings_[static_cast<std::size_t>(token)]; }
  TokenKind kind(Token token) const noexcept { return kinds_[static_cast<std::size_t>(token)]; }

  // The token that encoding may make of `bytes`, or kNoToken. Control, unknown and unused tokens are never found here,
  // so that no merge can form one; nor is a SentencePiece vocabulary's user-defined token, which is matched before
  // merging.
  // A right guess saves the search.
  Token find_piece(std::string_view bytes, Token guess = kNoToken) const noexcept;

  // The token of one byte, or kNoToken.
  Token byte_token(std::uint8_t byte) const noexcept { return byte_tokens_[byte]; }

  // Appends the token of each byte and returns bytes.size(), or, appending nothing, the index of the first byte without
  // a token.
  std::size_t append_byte_tokens(std::string_view bytes, std::vector<Token>& tokens) const;

  // Tokens that have the bytes of a token with a lower id: decoded, never encoded.
  std::size_t duplicates() const noexcept { return duplicates_; }

  std::size_t memory_bytes() const noexcept {
    return strings_.memory_bytes() + kinds_.capacity() * sizeof(TokenKind) + pieces_.memory_bytes();
  }

 private:
  void index_pieces(bool is_bpe);

  FlatStrings strings_;
  std::vector<TokenKind> kinds_;
  IndexTable pieces_;
  std::array<Token, 256> byte_tokens_;
  std::size_t longest_piece_ = 0;
  std::size_t duplicates_ = 0;
};

// The error of the byte at `offset` of a text, which no token can express.
Error missing_byte_error(char byte, std::size_t offset);

// Appends `text` with a space for each U+2581, as which SentencePiece writes spaces.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";
void append_with_spaces(std::string_view text, std::string& bytes);

// Appends the bytes that `text` spells in GPT-2's byte alphabet; false, and nothing appended, if it has other
// characters.
bool append_from_byte_alphabet(std::string_view text, std::string& bytes);

}  // namespace rill::tokenizer
