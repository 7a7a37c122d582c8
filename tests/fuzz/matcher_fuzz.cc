// A grammar, then steps: what is allowed is accepted, and what is not is not; steps are taken back; copies go on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "grammar/toy_tokenizer.h"
#include "rill/grammar.h"

namespace {

// The library is wrong: reported as a crash.
void require(bool condition) {
  if (!condition) std::abort();
}

void take_steps(rill::GrammarMatcher matcher, const rill::Tokenizer& tokenizer, std::string_view steps) {
  for (const char byte : steps) {
    const auto step = static_cast<std::uint8_t>(byte);
    rill::TokenSet before(tokenizer.size());
    if (!matcher.allowed(before)) return;
    const auto token = static_cast<rill::Token>(step % tokenizer.size());
    const auto accepted = matcher.accept(token);
    if (!accepted && accepted.error().code != rill::ErrorCode::invalid_argument) return;
    require(accepted.has_value() == before.contains(token));
    if (accepted && step >= 128) {
      rill::GrammarMatcher copy = matcher;
      require(copy.rollback(1).has_value());
      rill::TokenSet after(tokenizer.size());
      if (!copy.allowed(after)) return;
      require(after == before);
      if (step >= 192) matcher = copy;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find('\0');
  if (cut == std::string_view::npos) return 0;
  static const rill::Tokenizer tokenizer =
      rill::grammar::toy_tokenizer({"a", "b", "ab", "ba", "aab", "{", "}", "[", "]", "\"", "\":", ",", "1", " ", "\n", "é"});
  const auto grammar = rill::Grammar::gbnf(
      text.substr(0, cut), {.limits = {.max_expressions = 20'000, .max_states = 500, .max_stack_edges = 2'000}});
  if (!grammar) return 0;
  auto matcher = rill::GrammarMatcher::create(*grammar, tokenizer);
  if (matcher) take_steps(*std::move(matcher), tokenizer, text.substr(cut + 1, 64));
  return 0;
}
