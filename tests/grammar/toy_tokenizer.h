// A vocabulary of given texts, then two end tokens: </s> and <|im_end|>.
#pragma once

#include <string>
#include <vector>

#include "tokenizer/create.h"

namespace rill::grammar {

// `controls`: ids of control tokens among `texts`.
inline Tokenizer toy_tokenizer(const std::vector<std::string>& texts, const std::vector<std::size_t>& controls = {}) {
  tokenizer::VocabularyData data;
  data.algorithm = tokenizer::Algorithm::sentencepiece;
  for (const std::string& text : texts) data.tokens.push_back(text);
  data.kinds.assign(texts.size(), TokenKind::normal);
  for (const std::size_t control : controls) data.kinds[control] = TokenKind::control;
  for (const char* end : {"</s>", "<|im_end|>"}) {
    data.tokens.push_back(end);
    data.kinds.push_back(TokenKind::control);
  }
  data.scores.assign(data.kinds.size(), 0.0f);
  return tokenizer::create(data).value();
}

}  // namespace rill::grammar
