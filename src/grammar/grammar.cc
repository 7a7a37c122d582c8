#include "rill/grammar.h"

#include <algorithm>

#include "grammar/compile.h"
#include "grammar/gbnf.h"
#include "grammar/regex.h"
#include "grammar/schema_compiler.h"
#include "schema/compiled_schema.h"

namespace rill {
namespace {

constexpr std::string_view kJson = R"(
root   ::= ws value
value  ::= (object | array | string | number | "true" | "false" | "null") ws
object ::= "{" ws (member ("," ws member)*)? "}"
member ::= string ws ":" ws value
array  ::= "[" ws (value ("," ws value)*)? "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws     ::= [ \t\n\r]{0,20}
)";

}  // namespace

namespace grammar {

std::shared_ptr<MaskCache> Compiled::masks(std::shared_ptr<const TokenTable> table) const {
  constexpr std::size_t kVocabularies = 4;
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(masks_.begin(), masks_.end(), [&](const auto& cache) { return &cache->table() == table.get(); });
  if (found != masks_.end()) return *found;
  if (masks_.size() == kVocabularies) masks_.erase(masks_.begin());
  masks_.push_back(std::make_shared<MaskCache>(std::move(table), limits_.mask_cache_bytes));
  return masks_.back();
}

std::shared_ptr<CompletionWeights> Compiled::weights(const Tokenizer& tokenizer,
                                                     std::shared_ptr<const TokenTable> table,
                                                     std::span<const Token> end_tokens) const {
  const std::lock_guard lock(mutex_);
  if (weights_ == nullptr || &weights_->table() != table.get() || !std::ranges::equal(weights_->end_tokens(), end_tokens)) {
    weights_ = std::make_shared<CompletionWeights>(automaton_, tokenizer, std::move(table), end_tokens);
  }
  return weights_;
}

Result<Grammar> sequence(std::span<const Grammar> parts, const GrammarOptions& options) {
  return compile(options.limits, options.stop, [&](Rules& rules) {
    std::vector<Expr> calls;
    for (const Grammar& part : parts) calls.push_back(GrammarParts::import(rules, part));
    Expr whole = Expr::epsilon;
    for (std::size_t i = calls.size(); i-- > 0;) whole = rules.expressions.concat(calls[i], whole);
    return start_with(rules, whole);
  });
}

Result<Grammar> alternatives(std::span<const Grammar> parts, const GrammarOptions& options) {
  if (parts.empty()) return Error{ErrorCode::invalid_argument, "alternatives of no grammar"};
  return compile(options.limits, options.stop, [&](Rules& rules) {
    std::vector<Expr> calls;
    for (const Grammar& part : parts) calls.push_back(GrammarParts::import(rules, part));
    return start_with(rules, rules.expressions.either(calls));
  });
}

Result<Grammar> repeat(const Grammar& part, std::uint32_t least, std::uint32_t most, const GrammarOptions& options) {
  if (most < least) return make_error(ErrorCode::invalid_argument, "a repeat of at least {}, at most {}", least, most);
  return compile(options.limits, options.stop, [&](Rules& rules) {
    return start_with(rules, rules.expressions.repeat(GrammarParts::import(rules, part), least, most));
  });
}

Result<Grammar> literal(std::string_view text, const GrammarOptions& options) {
  return compile(options.limits, options.stop,
                 [&](Rules& rules) { return start_with(rules, rules.expressions.literal(text)); });
}

}  // namespace grammar

Grammar::Grammar(std::shared_ptr<const grammar::Compiled> compiled) : compiled_(std::move(compiled)) {}

Result<Grammar> Grammar::gbnf(std::string_view text, const GbnfOptions& options) {
  const Tokenizer* tokenizer = options.tokenizer ? &*options.tokenizer : nullptr;
  return grammar::compile(options.limits, options.stop,
                 [&](grammar::Rules& rules) { return grammar::parse_gbnf(text, options.start, tokenizer, rules); });
}

Result<Grammar> Grammar::regex(std::string_view pattern, const GrammarOptions& options) {
  return grammar::compile(options.limits, options.stop, [&](grammar::Rules& rules) -> Result<void> {
    RILL_ASSIGN(const grammar::Expr body, grammar::parse_regex(rules.expressions, pattern));
    return grammar::start_with(rules, body);
  });
}

Result<Grammar> Grammar::json(const GrammarOptions& options) {
  return gbnf(kJson, {.limits = options.limits, .stop = options.stop});
}

Result<Grammar> Grammar::json_schema(std::string_view text, const JsonGrammarOptions& options) {
  RILL_ASSIGN(const JsonSchema schema, JsonSchema::compile(text, {.documents = options.documents,
                                                                  .lenient = options.lenient,
                                                                  .strict_unknown = options.strict_unknown,
                                                                  .stop = options.stop}));
  JsonGrammarOptions rest = options;
  rest.documents.clear();
  rest.lenient = rest.strict_unknown = false;
  return json_schema(schema, rest);
}

Result<Grammar> Grammar::json_schema(const JsonSchema& schema, const JsonGrammarOptions& options) {
  if (!options.documents.empty() || options.lenient || options.strict_unknown) {
    return make_error(ErrorCode::invalid_argument,
                      "documents, lenient and strict_unknown are to be given to JsonSchema::compile");
  }
  if (options.property_order > PropertyOrder::any || options.whitespace > JsonWhitespace::pretty) {
    return make_error(ErrorCode::invalid_argument, "property_order or whitespace is none of its values");
  }
  RILL_ASSIGN(Grammar grammar, grammar::compile(options.limits, options.stop, [&](grammar::Rules& rules) -> Result<void> {
    grammar::SchemaCompiler(JsonSchemaParts::of(schema).validator, options, rules).compile();
    return {};
  }));
  grammar.schema_ = schema;
  return grammar;
}

const std::vector<SchemaNote>& Grammar::notes() const noexcept {
  static const std::vector<SchemaNote> none;
  return schema_ ? schema_->notes() : none;
}

Result<Grammar> Grammar::choice(std::span<const std::string> texts, const GrammarOptions& options) {
  if (texts.empty()) return Error{ErrorCode::invalid_argument, "a choice of no text"};
  return grammar::compile(options.limits, options.stop, [&](grammar::Rules& rules) {
    std::vector<grammar::Expr> literals;
    for (const std::string& text : texts) literals.push_back(rules.expressions.literal(text));
    return grammar::start_with(rules, rules.expressions.either(literals));
  });
}

std::uint64_t Grammar::digest() const noexcept { return compiled_->digest(); }

Result<GrammarMatch> Grammar::match(std::string_view text) const {
  return guarded([&]() -> Result<GrammarMatch> {
    grammar::TextMatcher matcher = compiled_->matcher();
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (!matcher.push(text.substr(i, 1))) return GrammarMatch{false, i};
    }
    return GrammarMatch{matcher.complete(), text.size()};
  });
}

}  // namespace rill
