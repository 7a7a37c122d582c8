// Whatever is chosen under a mask with a budget, the text is finished within it.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "grammar/toy_tokenizer.h"
#include "rill/grammar.h"
#include "rill/processors.h"
#include "rill/sampler_chain.h"

namespace rill {
namespace {

using grammar::toy_tokenizer;

// Every byte that the grammars below need, and tokens that span what they tell apart.
Tokenizer vocabulary() {
  std::vector<std::string> texts;
  for (char c = ' '; c <= '~'; ++c) texts.emplace_back(1, c);
  for (const char* text : {"ab", "aa", "aaaa", "\"}", "\":", "\",", "{\"", "[[", "]]", "[{", "}]", "1,", "11", "((", "))", ",\"",
                           "true", "false", "null", "<t>", "  ", "    ", "abc", "\"a\":"}) {
    texts.emplace_back(text);
  }
  return toy_tokenizer(texts, {texts.size() - 5});  // <t> is a control token
}

std::vector<Grammar> grammars() {
  const auto gbnf = [](const char* text) { return Grammar::gbnf(text, {.tokenizer = vocabulary()}).value(); };
  const auto schema = [](const char* text, JsonGrammarOptions options = {}) {
    return Grammar::json_schema(text, options).value();
  };
  return {
      Grammar::json().value(),
      gbnf("root ::= \"a\"{3,9} (\"b\" \"a\"{12,})?"),
      gbnf("root ::= x\nx ::= \"(\" x \")\" | \"[\" x x \"]\" | \"a\""),
      gbnf("root ::= x \"b\" | x \"bbbb\" | \"c\" root \"ccccc\"\nx ::= x \"a\" | y\ny ::= | \"1\" x"),  // ambiguous,
                                                                                                         // left-recursive
      gbnf("root ::= (\"a\" \"aaa\"){2,} | [a-c]{7} | \"(\" [^)]* \")\""),
      gbnf("root ::= (<t> \"a\" | !<t> <t> | \"b\")+ \"1\""),
      gbnf("root ::= a | \"1\"\na ::= b | \"11\" a \"1111\"\nb ::= a | \"ab\""),
      Grammar::regex("(a|b)*1(a|b){3}(0{1,30}|x)").value(),
      Grammar::regex("a{2,40}").value(),
      schema(R"({"type":"object","required":["a","b"],"properties":{"a":{"type":"integer","minimum":12},
              "b":{"type":"string","minLength":5,"pattern":"^x"}, "c":{"type":"array","minItems":3}},"additionalProperties":false})"),
      schema(R"({"type":"object","required":["a","b","c"],"properties":{"a":{"enum":["aaaaaaaaaa",1]},"b":{"type":"null"}}})",
             {.property_order = PropertyOrder::any}),
      schema(R"({"$defs":{"n":{"type":"object","required":["v"],"properties":{"v":{"type":"boolean"},"k":{"type":"array",
              "items":{"$ref":"#/$defs/n"}}},"additionalProperties":false}},"$ref":"#/$defs/n"})"),
      schema(R"({"type":"array","uniqueItems":true,"minItems":3,"items":{"type":"integer"}})"),
      schema(R"({"type":"array","contains":{"const":"abc"},"items":{"type":["string","integer"]}})"),
  };
}

// A token of the mask. Adversaries take what puts off the end: the longest, or the one that opens most.
Token choose(const TokenSet& set, const Tokenizer& tokenizer, std::mt19937& random, unsigned style) {
  std::vector<Token> tokens;
  set.for_each([&](Token token) { tokens.push_back(token); });
  if (style % 3 > 0) {
    const auto ends_last = [&](Token token) { return !tokenizer.is_end(token); };
    if (std::any_of(tokens.begin(), tokens.end(), ends_last))
      std::erase_if(tokens, [&](Token token) { return !ends_last(token); });
  }
  if (style % 3 == 2) {
    std::vector<Token> openers;
    for (const Token token : tokens) {
      if (tokenizer.token_bytes(token).find_first_of("([{\",bc") != std::string_view::npos) openers.push_back(token);
    }
    if (!openers.empty()) tokens = openers;
  }
  return tokens[random() % tokens.size()];
}

TEST(Closing, FinishesWithinEveryBudgetWhateverIsChosen) {
  const Tokenizer tokenizer = vocabulary();
  std::mt19937 random(1);
  std::size_t number = 0;
  for (const Grammar& grammar : grammars()) {
    const auto fresh = GrammarMatcher::create(grammar, tokenizer).value();
    auto first = fresh;
    const std::size_t shortest = first.shortest_tokens().value();
    for (unsigned walk = 0; walk < 60; ++walk) {
      const std::size_t budget = shortest + (walk < 12 ? walk / 3 : random() % 40);
      auto matcher = fresh;
      std::vector<Token> tokens;
      const auto left = [&] { return budget - tokens.size(); };
      while (!matcher.ended()) {
        TokenSet set(tokenizer.size());
        matcher.allowed(set, left()).value();
        ASSERT_FALSE(set.empty()) << "grammar " << number << ", budget " << budget << ", after "
                                  << tokenizer.decode(tokens).value();
        if (random() % 8 == 0 && !tokens.empty()) {  // steps taken back, in a copy that goes on
          auto copy = matcher;
          const std::size_t back = 1 + random() % tokens.size();
          copy.rollback(back).value();
          tokens.resize(tokens.size() - back);
          matcher = std::move(copy);
          continue;
        }
        const Token token = choose(set, tokenizer, random, walk);
        ASSERT_TRUE(matcher.accept(token)) << "grammar " << number;
        tokens.push_back(token);
      }
      EXPECT_LE(tokens.size(), budget) << "grammar " << number;
      auto again = fresh;
      for (const Token token : tokens) ASSERT_TRUE(again.accept(token));
      EXPECT_TRUE(again.ended());
    }
    ++number;
  }
}

TEST(Closing, ShortestTokens) {
  const Tokenizer tokenizer = vocabulary();
  const auto shortest = [&](const Grammar& grammar) {
    return GrammarMatcher::create(grammar, tokenizer).value().shortest_tokens();
  };
  EXPECT_EQ(shortest(Grammar::gbnf("root ::= \"\"").value()).value(), 1u);
  EXPECT_EQ(shortest(Grammar::gbnf("root ::= \"aaaaab\"").value()).value(), 3u);  // aaaa ab and the end
  EXPECT_EQ(shortest(Grammar::regex("x{7}|y{3}|z{5}").value()).value(), 4u);
  EXPECT_EQ(shortest(Grammar::json_schema(R"({"const":{"a":true}})", {.whitespace = JsonWhitespace::compact}).value()).value(),
            5u);
  const auto none = shortest(Grammar::gbnf("root ::= \"\\n\"").value());  // which no token writes
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::unsupported);
}

// All that a budget leaves is what can be finished, and all that can be finished in bytes of one token each is left.
TEST(Closing, MaskEqualsWhatCanBeFinished) {
  const Tokenizer tokenizer = toy_tokenizer({"a", "b", "(", ")"});
  const Grammar grammar = Grammar::gbnf("root ::= x\nx ::= \"(\" x x \")\" | \"a\" | \"b\"{3,}").value();
  std::mt19937 random(2);
  for (unsigned walk = 0; walk < 40; ++walk) {
    auto matcher = GrammarMatcher::create(grammar, tokenizer).value();
    const std::size_t total = 2 + random() % 14;
    for (std::size_t used = 0; !matcher.ended(); ++used) {
      TokenSet set(tokenizer.size()), any(tokenizer.size());
      matcher.allowed(set, total - used).value();
      matcher.allowed(any).value();
      TokenSet again(tokenizer.size());
      matcher.allowed(again, total - used).value();
      EXPECT_TRUE(std::ranges::equal(again.words(), set.words()));
      any.for_each([&](Token token) {
        auto copy = matcher;
        ASSERT_TRUE(copy.accept(token));
        const std::size_t needed = copy.ended() ? 0 : copy.shortest_tokens().value();
        EXPECT_EQ(set.contains(token), needed + used + 1 <= total) << token << " after " << used << " of " << total;
      });
      std::vector<Token> tokens;
      set.for_each([&](Token token) { tokens.push_back(token); });
      ASSERT_FALSE(tokens.empty());
      matcher.accept(tokens[random() % tokens.size()]).value();
    }
  }
}

// What is made ahead is the mask of that place, wherever the chain goes from there.
TEST(Closing, PreparedMasksAreTheSame) {
  const Tokenizer tokenizer = vocabulary();
  std::mt19937 random(3);
  const std::vector<float> logits(tokenizer.size(), 0.0f);
  const auto words = [](const SamplerChain& chain) {
    const auto all = chain.allowed().words();
    return std::vector<std::uint64_t>(all.begin(), all.end());
  };
  for (const Grammar& grammar : grammars()) {
    const std::size_t shortest = GrammarMatcher::create(grammar, tokenizer).value().shortest_tokens().value();
    const auto make = [&](const Grammar& of) {
      return SamplerChain::create({.processors = {grammar_mask(of, tokenizer, {.max_tokens = shortest + 9})},
                                   .sampler = categorical()})
          .value();
    };
    SamplerChain plain = make(grammar), prepared = make(grammar);
    for (std::size_t position = 0; position < shortest + 9; ++position) {
      for (auto i = random() % 3; i > 0; --i) prepared.prepare();
      if (random() % 3 == 0) prepared = prepared.clone();
      const Token token = plain.sample(DenseLogits(logits, position)).value();
      ASSERT_EQ(prepared.sample(DenseLogits(logits, position)).value(), token) << position;
      ASSERT_EQ(words(prepared), words(plain)) << position;
      if (tokenizer.is_end(token)) break;
      for (SamplerChain* chain : {&plain, &prepared}) {
        chain->accept(token);
        if (position % 4 == 1) {
          if (chain == &prepared) chain->prepare();
          chain->rollback(1).value();
          chain->accept(token);
        }
      }
    }
    EXPECT_TRUE(plain.status() && prepared.status());
  }
}

TEST(Closing, MaskThatCannotFinishIsRefusedWithTheNumber) {
  const Tokenizer tokenizer = vocabulary();
  const Grammar grammar = Grammar::gbnf("root ::= \"12345\"").value();
  const auto chain = [&](std::size_t tokens) {
    return SamplerChain::create({.processors = {grammar_mask(grammar, tokenizer, {.max_tokens = tokens})}, .sampler = greedy()});
  };
  EXPECT_TRUE(chain(6));
  ASSERT_FALSE(chain(5));
  EXPECT_EQ(chain(5).error().code, ErrorCode::invalid_argument);
  EXPECT_NE(chain(5).error().message.find("takes 6"), std::string::npos) << chain(5).error().message;
}

// Two equal items were chosen while the end was far: nothing closes the array any more, and nothing is left out.
TEST(Closing, WhereNoWayIsKnownTheMaskIsThatOfTheGrammar) {
  const Tokenizer tokenizer = vocabulary();
  const Grammar unique = Grammar::json_schema(R"({"type":"array","uniqueItems":true,"items":{"enum":[1,11]}})").value();
  auto matcher = GrammarMatcher::create(unique, tokenizer).value();
  matcher.accept_bytes("[1,1,1").value();
  EXPECT_EQ(matcher.shortest_tokens().error().code, ErrorCode::unsupported);
  TokenSet all, within;
  all.reset(tokenizer.size());
  matcher.allowed(all).value();
  EXPECT_GT(all.count(), 0u);
  for (const std::size_t budget : {2u, 3u, 9u, 400u}) {
    within.reset(tokenizer.size());
    matcher.allowed(within, budget).value();
    EXPECT_TRUE(within == all) << budget;
  }
}

// Any token but one, where the first that would do is an end token of this matcher.
TEST(Closing, EndTokensAreTheMatchersOwn) {
  const Tokenizer tokenizer = vocabulary();
  const Grammar other = Grammar::gbnf("root ::= !<t> \"1\"?", {.tokenizer = tokenizer}).value();
  for (const bool again : {false, true}) {  // both share what is known of the grammar
    for (const Token end : {Token{0}, Token{1}, Token{2}}) {
      auto matcher = GrammarMatcher::create(other, tokenizer, {.end_tokens = std::vector<Token>{end}}).value();
      EXPECT_EQ(matcher.shortest_tokens().value(), 2u) << end << again;
      TokenSet set;
      set.reset(tokenizer.size());
      matcher.allowed(set, 2).value();
      EXPECT_GT(set.count(), 0u) << end << again;
      EXPECT_FALSE(set.contains(end));
      set.for_each([&](Token token) {
        auto fork = matcher;
        ASSERT_TRUE(fork.accept(token)) << token;
        EXPECT_TRUE(fork.can_end());
      });
    }
  }
}

}  // namespace
}  // namespace rill
