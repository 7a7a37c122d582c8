// Prompts as tokens.
#pragma once

#include <span>
#include <vector>

#include "rill/chat_template.h"
#include "rill/model.h"

namespace rill::session {

// `options` with the model's own BOS and EOS where it names none.
RenderOptions with_special_tokens(RenderOptions options, const Tokenizer& tokenizer);

// A conversation, through the model's own template. Errors: not_found, template_refused, and what rendering reports.
Result<std::vector<Token>> encode_messages(const Model& model, std::span<const Message> messages);

}  // namespace rill::session
