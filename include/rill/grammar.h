// Grammars: what an answer may look like, enforced token by token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rill/export.h"
#include "rill/json_schema.h"
#include "rill/logits_processor.h"
#include "rill/result.h"
#include "rill/stop_token.h"
#include "rill/token.h"
#include "rill/token_set.h"
#include "rill/tokenizer.h"

namespace rill {

namespace grammar {
class Compiled;
class MatcherState;
}  // namespace grammar

// A limit that is reached is the error limit_exceeded, which names it; when a grammar is compiled, or later, since much of
// it is made only as texts ask for it.
struct GrammarLimits {
  std::size_t max_expressions = 2'000'000;  // about 90 bytes each
  std::size_t max_states = 100'000;         // of its automata; about 100 bytes and 4 for each class of bytes
  std::size_t max_stack_edges = 2'000'000;  // of one matcher, for nesting and ambiguity; 8 bytes each
  std::size_t mask_cache_bytes = std::size_t{64} << 20;  // for each vocabulary; emptied when it is full
};

struct GrammarOptions {
  GrammarLimits limits = {};
  StopToken stop = {};  // polled while compiling
};

struct GbnfOptions {
  std::string start = "root";                         // the rule that the whole text matches
  std::optional<Tokenizer> tokenizer = std::nullopt;  // for <name>, a token by its text
  GrammarLimits limits = {};
  StopToken stop = {};
};

enum class PropertyOrder : std::uint8_t {
  declared,      // that of `properties`, then all others
  alphabetical,  // by bytes, then those that are not declared
  any,
};

enum class JsonWhitespace : std::uint8_t {
  compact,  // none
  bounded,  // at most 20 characters in a row
  pretty,   // a line for each member and element, after at most 40 spaces
};

struct JsonGrammarOptions {
  PropertyOrder property_order = PropertyOrder::declared;
  JsonWhitespace whitespace = JsonWhitespace::bounded;
  bool lenient = false;         // compile what is not enforced without it; Grammar::notes() tells
  bool strict_unknown = false;  // refuse keywords and formats that no draft defines
  std::map<std::string, std::string> documents = {};  // other schemas by their URI, for $ref: JsonSchemaOptions
  GrammarLimits limits = {};
  StopToken stop = {};
};

struct GrammarMatch {
  bool matches = false;            // the whole text is in the language
  std::size_t matching_bytes = 0;  // so many bytes from its begin can begin a text of the language
};

// A set of texts, of bytes. Immutable for its users and thread-safe; copies share one automaton, which grows as it is
// used, and its masks. Compiling never depends on a vocabulary, but for tokens that a GBNF text names.
class RILL_EXPORT Grammar {
 public:
  explicit Grammar(std::shared_ptr<const grammar::Compiled> compiled);

  // GBNF, as llama.cpp's grammars/README.md describes it; left recursion is allowed, too. Errors: malformed with line and
  // column; not_found, naming a rule; invalid_argument if no text matches.
  static Result<Grammar> gbnf(std::string_view text, const GbnfOptions& options = {});

  // The texts that match `pattern` as a whole: ECMA-262 with the u flag, lenient where its annex B is. Errors: malformed
  // with the offset; unsupported, naming it, for lookaround, backreferences, word boundaries, flags, and properties other
  // than general categories.
  static Result<Grammar> regex(std::string_view pattern, const GrammarOptions& options = {});

  // JSON (RFC 8259): any value, with at most 20 characters of white space in a row.
  static Result<Grammar> json(const GrammarOptions& options = {});

  // The JSON texts that a JSON Schema (drafts 4 to 2020-12) holds valid, strings in their plainest spelling; docs/grammar.md
  // has the table of keywords. Errors: malformed, not_found (a reference), limit_exceeded, all with a JSON pointer;
  // unsupported, listing every constraint that cannot be enforced; invalid_argument if nothing is valid.
  static Result<Grammar> json_schema(std::string_view schema, const JsonGrammarOptions& options = {});
  // The same of one that is compiled, whose checks then judge answers, too (GenerationResult::validation). invalid_argument for
  // documents, lenient and strict_unknown, which JsonSchemaOptions has.
  static Result<Grammar> json_schema(const JsonSchema& schema, const JsonGrammarOptions& options = {});

  // One of these texts. Error invalid_argument if there are none.
  static Result<Grammar> choice(std::span<const std::string> texts, const GrammarOptions& options = {});

  // Errors: limit_exceeded.
  Result<GrammarMatch> match(std::string_view text) const;

  // The schema that the texts are valid for; null for other grammars, those that it is a part of among them.
  const JsonSchema* schema() const noexcept { return schema_ ? &*schema_ : nullptr; }
  // Of a schema: the keywords that are not enforced. Empty for other grammars.
  const std::vector<SchemaNote>& notes() const noexcept;

  // Tells grammars apart: of the compiled rules, whatever their names and limits. The same in every process and on every
  // machine, but not in every version of rill.
  std::uint64_t digest() const noexcept;

 private:
  friend class GrammarMatcher;
  friend struct GrammarParts;
  std::shared_ptr<const grammar::Compiled> compiled_;
  std::optional<JsonSchema> schema_;
};

namespace grammar {

inline constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

// One part after the other, one of the parts, `least` to `most` repeats of a part, and a text as it is.
RILL_EXPORT Result<Grammar> sequence(std::span<const Grammar> parts, const GrammarOptions& options = {});
RILL_EXPORT Result<Grammar> alternatives(std::span<const Grammar> parts, const GrammarOptions& options = {});
RILL_EXPORT Result<Grammar> repeat(const Grammar& part, std::uint32_t least, std::uint32_t most = kNoLimit,
                                   const GrammarOptions& options = {});
RILL_EXPORT Result<Grammar> literal(std::string_view text, const GrammarOptions& options = {});

}  // namespace grammar

struct GrammarMatcherOptions {
  std::optional<std::vector<Token>> end_tokens = std::nullopt;  // absent: the tokenizer's
  // Of grammar_mask: so many may be accepted, the end token among them, and the mask sees to it that the text is finished
  // by then. invalid_argument, with the number, if even the shortest text takes more.
  std::optional<std::size_t> max_tokens = std::nullopt;
};

// Follows a text through a grammar, token by token. A control token is never allowed for its text, only where the grammar
// names it as a token; an end token where the text may end. A copy goes on by itself (fork). One thread at a time.
class RILL_EXPORT GrammarMatcher {
 public:
  // The first matcher of a vocabulary sorts it, which takes up to a second for 262,144 tokens.
  static Result<GrammarMatcher> create(const Grammar& grammar, const Tokenizer& tokenizer,
                                       const GrammarMatcherOptions& options = {});
  GrammarMatcher(const GrammarMatcher& other);
  GrammarMatcher(GrammarMatcher&&) noexcept;
  GrammarMatcher& operator=(const GrammarMatcher& other);
  GrammarMatcher& operator=(GrammarMatcher&&) noexcept;
  ~GrammarMatcher();

  // Removes from `tokens` those that may not come next. With a `budget`, so many tokens may still come, the end token
  // among them: those after which the text cannot be finished are removed, too, and one remains if the budget is at least
  // shortest_tokens(). Errors: limit_exceeded.
  Result<void> allowed(TokenSet& tokens, std::optional<std::size_t> budget = std::nullopt);

  // Enough tokens to finish the text from here, an end token among them: the fewest that spell a text of the fewest bytes.
  // Error unsupported if none is known: the vocabulary lacks bytes, or checks of values refuse all short ones.
  Result<std::size_t> shortest_tokens();

  // The token, or these bytes, as one step. Errors, which change nothing: invalid_argument if it may not come next;
  // limit_exceeded.
  Result<void> accept(Token token);
  Result<void> accept_bytes(std::string_view bytes);
  // Takes back the last `count` steps. Error invalid_argument, and nothing changes, if there were fewer.
  Result<void> rollback(std::size_t count);
  void reset();

  // The bytes, up to `most`, that every text goes on with from here, as far as that shows without checks of values; none
  // where it may end.
  // Errors: limit_exceeded.
  Result<std::string> forced_bytes(std::size_t most = 128);
  // The tokens that those bytes are for certain, as the tokenizer cuts the whole text (docs/numerics.md). `before`: the
  // tokens of the text so far. Errors: limit_exceeded.
  Result<std::vector<Token>> forced_tokens(std::span<const Token> before);

  std::size_t steps() const;
  bool can_end() const;  // what was accepted is a whole text of the grammar
  bool ended() const;    // an end token was accepted; nothing may follow

 private:
  explicit GrammarMatcher(std::unique_ptr<grammar::MatcherState> state);
  std::unique_ptr<grammar::MatcherState> state_;
};

// A mask for a sampler chain, from the grammar's begin. `tokenizer`: the model's. Its saved state is what it has accepted;
// restoring that follows it again, with errors incompatible (another digest, other end tokens), malformed (tokens that
// the grammar does not allow), limit_exceeded.
RILL_EXPORT Processor grammar_mask(const Grammar& grammar, const Tokenizer& tokenizer,
                                   const GrammarMatcherOptions& options = {});

}  // namespace rill
