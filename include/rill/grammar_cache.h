// Compiled grammars by their texts: who asks for one again gets it at once, with the masks that others have made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "rill/export.h"
#include "rill/grammar.h"
#include "rill/result.h"

namespace rill {

struct GrammarCacheUse {
  std::size_t grammars = 0;   // held now
  std::uint64_t found = 0;    // calls that compiled nothing
  std::uint64_t compiled = 0;
};

// Texts and options are compared as they are, not by a digest of them. Of several threads that ask for the same new grammar
// at once each may compile it; all get the same one. Errors are not kept. Thread-safe.
class RILL_EXPORT GrammarCache {
 public:
  // Beyond `max_grammars` the one that was asked for least recently is dropped; who holds it keeps it.
  explicit GrammarCache(std::size_t max_grammars = 64);
  GrammarCache(GrammarCache&&) noexcept;
  GrammarCache& operator=(GrammarCache&&) noexcept;
  ~GrammarCache();

  // As those of Grammar. A GBNF text with a tokenizer is compiled each time.
  Result<Grammar> json_schema(std::string_view schema, const JsonGrammarOptions& options = {});
  Result<Grammar> gbnf(std::string_view text, const GbnfOptions& options = {});
  Result<Grammar> regex(std::string_view pattern, const GrammarOptions& options = {});

  GrammarCacheUse use() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace rill
