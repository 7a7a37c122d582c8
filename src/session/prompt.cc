#include "session/prompt.h"

#include "base/error.h"

namespace rill::session {

RenderOptions with_special_tokens(RenderOptions options, const Tokenizer& tokenizer) {
  if (options.bos_token.empty() && tokenizer.bos()) options.bos_token = tokenizer.token_bytes(*tokenizer.bos());
  if (options.eos_token.empty() && tokenizer.eos()) options.eos_token = tokenizer.token_bytes(*tokenizer.eos());
  return options;
}

Result<std::vector<Token>> encode_messages(const Model& model, std::span<const Message> messages) {
  RILL_ASSIGN(const ChatTemplate* const chat_template, model.chat_template());
  RILL_ASSIGN(const RenderedPrompt prompt,
              chat_template->render(messages, with_special_tokens({}, model.tokenizer())));
  return encode_chat(model.tokenizer(), prompt);
}

}  // namespace rill::session
