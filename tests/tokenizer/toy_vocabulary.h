// Vocabularies small enough to reason about.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/create.h"

namespace rill::tokenizer {

struct ToyToken {
  std::string text;
  TokenKind kind = TokenKind::normal;
  float score = 0;
};

inline void add_tokens(VocabularyData& data, const std::vector<ToyToken>& tokens) {
  for (const ToyToken& token : tokens) {
    data.tokens.push_back(token.text);
    data.kinds.push_back(token.kind);
    data.scores.push_back(token.score);
  }
}

inline VocabularyData toy_bpe(const std::vector<ToyToken>& tokens, const std::vector<std::string>& merges = {}) {
  VocabularyData data;
  data.algorithm = Algorithm::byte_level_bpe;
  data.pre_tokenizer = "gpt-2";
  add_tokens(data, tokens);
  for (const std::string& merge : merges) data.merges.push_back(merge);
  return data;
}

// The 256 bytes in the order of GPT-2's alphabet, as in a real file.
inline std::vector<ToyToken> byte_alphabet() {
  std::vector<ToyToken> tokens;
  for (int code = 0x21; code < 0x144; ++code) {
    if ((code > 0x7E && code < 0xA1) || code == 0xAD) continue;
    tokens.push_back({code < 0x80
                          ? std::string(1, static_cast<char>(code))
                          : std::string{static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))}});
  }
  return tokens;
}

inline VocabularyData toy_sentencepiece(const std::vector<ToyToken>& tokens, bool add_space_prefix = false) {
  VocabularyData data;
  data.algorithm = Algorithm::sentencepiece;
  data.add_space_prefix = add_space_prefix;
  add_tokens(data, tokens);
  return data;
}

inline std::vector<ToyToken> byte_tokens() {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::vector<ToyToken> tokens;
  for (unsigned byte = 0; byte < 256; ++byte) {
    tokens.push_back({std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + '>', TokenKind::byte});
  }
  return tokens;
}

// The tokens' own texts, to compare with.
inline std::vector<std::string> pieces_of(const Tokenizer& tokenizer, const std::vector<Token>& tokens) {
  std::vector<std::string> pieces;
  for (const Token token : tokens) pieces.emplace_back(tokenizer.token_bytes(token));
  return pieces;
}

inline std::vector<std::string> encode_pieces(const Tokenizer& tokenizer, std::string_view text,
                                              const EncodeOptions& options = {}) {
  return pieces_of(tokenizer, tokenizer.encode(text, options).value());
}

using Pieces = std::vector<std::string>;

}  // namespace rill::tokenizer
