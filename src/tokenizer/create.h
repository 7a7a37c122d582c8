// Makes a Tokenizer of what a model file says.
#pragma once

#include "rill/log.h"
#include "rill/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace rill::tokenizer {

// Warns of tokens that can never be encoded, since a lower id has the same bytes.
Result<Tokenizer> create(const VocabularyData& data, const LogSink& log = {});

}  // namespace rill::tokenizer
