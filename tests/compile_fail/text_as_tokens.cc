// expect: (no matching function|could not convert|no viable conversion|cannot convert)
// Text becomes tokens through a tokenizer, never by its bytes.
#include <string>
#include <vector>

#include "rill/session.h"

rill::Result<void> caller(rill::Session& session, const std::string& text, const std::vector<rill::Token>& tokens) {
#ifdef RILL_MISUSE
  return session.feed(text);
#else
  return text.empty() ? session.feed(tokens) : session.feed(tokens.front());
#endif
}
