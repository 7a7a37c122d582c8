// Tokens to text, one at a time, for streaming.
#pragma once

#include <string>
#include <string_view>

#include "rill/export.h"
#include "rill/result.h"
#include "rill/tokenizer.h"

namespace rill {

struct DetokenizerOptions {
  bool show_special = false;    // true: control tokens appear as their text
  bool continues_text = false;  // true: the tokens continue a text, so a leading space is part of it and stays
};

// Turns a stream of tokens into whole characters. What push and flush return is always valid UTF-8, and its
// concatenation depends on the tokens' bytes alone, not on how they are cut: bytes that are not UTF-8 become one U+FFFD
// for each maximal subpart of a character (WHATWG Encoding Standard; Unicode 15, section 3.9). Raw bytes:
// Tokenizer::token_bytes. A copy is an independent stream at the same place. One thread at a time.
class RILL_EXPORT Detokenizer {
 public:
  explicit Detokenizer(Tokenizer tokenizer, const DetokenizerOptions& options = {});

  // The characters that `token` completes, often none. invalid_argument for an id out of range, which changes nothing.
  Result<std::string> push(Token token);

  // Ends the stream: U+FFFD for a character cut short, else nothing. The next push begins a new stream.
  std::string flush();

  // Bytes held back because they may become a character: at most 3.
  std::string_view pending() const noexcept { return pending_; }

 private:
  Tokenizer tokenizer_;
  DetokenizerOptions options_;
  std::string pending_;
  bool at_start_;  // a space prefix, if the vocabulary has one, is removed from the next text
};

}  // namespace rill
