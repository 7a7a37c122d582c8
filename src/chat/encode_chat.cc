#include "base/error.h"
#include "rill/chat_template.h"

namespace rill {

Result<std::vector<Token>> encode_chat(const Tokenizer& tokenizer, const RenderedPrompt& prompt,
                                       Unencodable unencodable) {
  return guarded([&]() -> Result<std::vector<Token>> {
    RILL_ASSIGN(std::vector<Token> tokens, tokenizer.encode_rendered(prompt.text, prompt.untrusted, unencodable));
    if (!tokenizer.adds_bos()) return tokens;
    const Token bos = *tokenizer.bos();
    if (tokens.empty() || tokens[0] != bos) tokens.insert(tokens.begin(), bos);
    if (tokens.size() > 1 && tokens[1] == bos) {
      return make_error(ErrorCode::invalid_argument, "the rendered prompt begins with two BOS tokens ({})", bos);
    }
    return tokens;
  });
}

}  // namespace rill
