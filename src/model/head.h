// The LM head, run on demand: over the whole vocabulary, or over the rows asked for. The same bits either way.
#pragma once

#include <span>

#include "model/loaded_model.h"
#include "rill/result.h"

namespace rill::model {

// logits [rows, vocabulary_size] of hidden states [rows, embedding_length].
Result<void> head_logits(const LoadedModel& model, const float* hidden, std::size_t rows, std::span<float> logits);
// logits[i] = row ids[i] of the head . hidden [embedding_length]. The ids must be in the vocabulary.
Result<void> head_rows(const LoadedModel& model, const float* hidden, std::span<const Token> ids,
                       std::span<float> logits);

}  // namespace rill::model
