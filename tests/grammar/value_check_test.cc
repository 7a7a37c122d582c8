// Checks of a value that veto its last byte.
#include <gtest/gtest.h>

#include "grammar/matcher_state.h"
#include "grammar/toy_tokenizer.h"

namespace rill::grammar {
namespace {

class EvenLength final : public ValueCheck {
 public:
  bool accepts(std::string_view value) const override { return value.size() % 2 == 0; }
  std::string describe() const override { return "even length"; }
};

// item (";" item)* where an item is [ab]* of even length, or items in parentheses.
std::shared_ptr<const Compiled> even_items() {
  Rules rules(10'000);
  Expressions& e = rules.expressions;
  ByteSet letters;
  letters.add('a');
  letters.add('b');
  rules.start = rules.add("root");
  const Rule item = rules.add("item", e.repeat(e.bytes(letters), 0), std::make_shared<EvenLength>());
  const Expr nested = e.concat(e.literal("("), e.concat(e.call(rules.start), e.literal(")")));
  const Expr either = e.either(e.call(item), nested);
  rules[rules.start].body = e.concat(either, e.repeat(e.concat(e.literal(";"), either), 0));
  simplify(rules);
  return std::make_shared<const Compiled>(std::move(rules), GrammarLimits{});
}

TEST(ValueCheck, VetoesTheEndOfAValue) {
  const auto compiled = even_items();
  const auto holds = [&](std::string_view text) {
    TextMatcher matcher = compiled->matcher();
    return matcher.push(text) && matcher.complete();
  };
  for (const char* text : {"", "ab", ";;", "ab;(aa;)", "((ab));", "aaaa"}) EXPECT_TRUE(holds(text)) << text;
  for (const char* text : {"a", "a;", "ab;b", "(a)", "(ab;a)"}) EXPECT_FALSE(holds(text)) << text;
}

TEST(ValueCheck, MasksSeeTheText) {
  const auto compiled = even_items();
  const Tokenizer tokenizer = toy_tokenizer({"a", "b", "ab", ";", "a;", "b;a", "(", ")", "a)", "(a", "ab)"});
  const auto table = std::make_shared<const TokenTable>(tokenizer);
  MatcherState state(compiled, tokenizer, compiled->masks(table), {11, 12});
  for (const Token token : {0, 4, 9, 0, 7, 3, 2, 3, 6, 0, 5, 10}) {
    TokenSet set(tokenizer.size());
    state.allowed(set);
    for (std::size_t i = 0; i < tokenizer.size(); ++i) {
      MatcherState copy = state;
      EXPECT_EQ(set.contains(static_cast<Token>(i)), copy.accept(static_cast<Token>(i)))
          << tokenizer.token_bytes(static_cast<Token>(i)) << " after " << state.bytes_read() << " bytes";
    }
    if (!state.accept(token)) continue;
  }
  EXPECT_GT(state.steps(), 5u);
}

}  // namespace
}  // namespace rill::grammar
