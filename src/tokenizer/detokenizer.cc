#include "rill/detokenizer.h"

#include "base/error.h"
#include "base/utf8.h"

namespace rill {

Detokenizer::Detokenizer(Tokenizer tokenizer, const DetokenizerOptions& options)
    : tokenizer_(std::move(tokenizer)), options_(options), at_start_(!options.continues_text) {}

Result<std::string> Detokenizer::push(Token token) {
  return guarded([&]() -> Result<std::string> {
    if (token < 0 || static_cast<std::size_t>(token) >= tokenizer_.size()) {
      return make_error(ErrorCode::invalid_argument, "token {} is outside the vocabulary of {}", token,
                        tokenizer_.size());
    }
    pending_ += tokenizer_.text_of(token, options_.show_special, at_start_);
    std::string text;
    std::size_t position = 0;
    while (position < pending_.size()) {
      const utf8::Character character = utf8::decode(pending_, position);
      if (character.status == utf8::Status::incomplete) break;
      text += character.status == utf8::Status::valid ? std::string_view(pending_).substr(position, character.length)
                                                      : utf8::kReplacementBytes;
      position += character.length;
    }
    pending_.erase(0, position);
    return text;
  });
}

std::string Detokenizer::flush() {
  std::string text(pending_.empty() ? std::string_view() : utf8::kReplacementBytes);
  pending_.clear();
  at_start_ = !options_.continues_text;
  return text;
}

}  // namespace rill
