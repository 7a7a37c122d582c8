// Small but complete vocabularies: every byte can be encoded, and merges have something to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/gguf_writer.h"

namespace rill::test {

enum class TinyTokenizer { bpe, spm };

// What `tokenizer.ggml.*` holds. Numbers of token_type: 1 normal, 2 unknown, 3 control, 6 byte.
struct TinyVocabulary {
  TinyTokenizer kind = TinyTokenizer::bpe;
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;
  std::vector<float> scores;        // spm
  std::vector<std::string> merges;  // bpe
};

// bpe: <|endoftext|>, <|im_start|>, <|im_end|>, 256 bytes, merged tokens. spm: <pad>, <eos>, <bos>, <unk>,
// <|im_start|>,
// <|im_end|>, 256 byte tokens, printable ASCII with U+2581 for the blank, merged pieces. `size` is at least
// kTinyVocabularyMin; merged tokens fill it up.
inline constexpr std::size_t kTinyVocabularyMin = 6 + 256 + 95;
TinyVocabulary tiny_vocabulary(TinyTokenizer kind, std::size_t size);
// One more token that stands for `text`.
void add_token(TinyVocabulary& vocabulary, std::string_view text, bool control);

// Writes the vocabulary, its special ids and a ChatML template. BPE adds no BOS; SPM adds it, and a blank before the
// text where `space_prefix` says so.
void add_vocabulary(GgufWriter& writer, const TinyVocabulary& vocabulary, bool space_prefix);

}  // namespace rill::test
