// Reads the tokenizer of a GGUF file (the `tokenizer.ggml.*` keys).
#pragma once

#include <cstddef>

#include "gguf/metadata.h"
#include "rill/log.h"
#include "rill/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace rill::tokenizer {

// `unsupported` for a tokenizer model other than gpt2 and llama. Where the file is silent: SentencePiece and llama-bpe
// add BOS if there is one, SentencePiece has a space prefix, and only llama-bpe ignores merges.
Result<VocabularyData> read_vocabulary(const gguf::Metadata& metadata);

// The number of tokens, before anything else is known of them.
Result<std::size_t> vocabulary_size(const gguf::Metadata& metadata);

// The two steps in one; every error names the file.
Result<Tokenizer> from_gguf(const gguf::Metadata& metadata, const LogSink& log = {});

}  // namespace rill::tokenizer
