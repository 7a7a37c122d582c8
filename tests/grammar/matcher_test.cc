// Masks and matchers over toy vocabularies.
#include <gtest/gtest.h>

#include <iomanip>
#include <random>
#include <sstream>
#include <thread>

#include "grammar/enumerate.h"
#include "rill/grammar.h"
#include "rill/sampler_chain.h"
#include "grammar/toy_tokenizer.h"

namespace rill {
namespace {

using grammar::toy_tokenizer;

// The tokens that a fresh set is cut to.
std::vector<std::string> texts_allowed(GrammarMatcher& matcher, const Tokenizer& tokenizer) {
  TokenSet set(tokenizer.size());
  matcher.allowed(set).value();
  std::vector<std::string> texts;
  set.for_each([&](Token token) { texts.emplace_back(tokenizer.token_bytes(token)); });
  return texts;
}

// Each token tried by itself.
TokenSet brute_force(const GrammarMatcher& matcher, const Tokenizer& tokenizer) {
  TokenSet set(tokenizer.size());
  set.clear();
  for (std::size_t i = 0; i < tokenizer.size(); ++i) {
    GrammarMatcher copy = matcher;
    if (copy.accept(static_cast<Token>(i))) set.allow(static_cast<Token>(i));
  }
  return set;
}

using Texts = std::vector<std::string>;

TEST(Matcher, TokenThatEndsAndGoesOn) {  // G14
  const Tokenizer tokenizer = toy_tokenizer({"{", "}", "}\n"});
  auto matcher = GrammarMatcher::create(Grammar::gbnf("root ::= \"{\" \"}\"").value(), tokenizer).value();
  EXPECT_EQ(texts_allowed(matcher, tokenizer), Texts{"{"});
  ASSERT_TRUE(matcher.accept(0));
  EXPECT_EQ(texts_allowed(matcher, tokenizer), Texts{"}"});
}

TEST(Matcher, EveryEndTokenWhereTheTextMayEnd) {  // G15
  const Tokenizer tokenizer = toy_tokenizer({"o", "k", "ok", "x", " "});
  ASSERT_EQ(tokenizer.end_tokens().size(), 2u);
  auto matcher = GrammarMatcher::create(Grammar::gbnf("root ::= \"ok\"").value(), tokenizer).value();
  EXPECT_EQ(texts_allowed(matcher, tokenizer), (Texts{"o", "ok"}));
  ASSERT_TRUE(matcher.accept(2));
  EXPECT_TRUE(matcher.can_end());
  TokenSet set(tokenizer.size());
  ASSERT_TRUE(matcher.allowed(set));
  EXPECT_EQ(set.count(), 2u);
  for (const Token end : tokenizer.end_tokens()) EXPECT_TRUE(set.contains(end));
  ASSERT_TRUE(matcher.accept(tokenizer.end_tokens()[1]));
  EXPECT_TRUE(matcher.ended());
  EXPECT_TRUE(texts_allowed(matcher, tokenizer).empty());
  EXPECT_FALSE(matcher.accept(0));
  ASSERT_TRUE(matcher.rollback(2));
  EXPECT_EQ(texts_allowed(matcher, tokenizer), (Texts{"o", "ok"}));
}

TEST(Matcher, ControlTokensAreNoText) {
  const Tokenizer tokenizer = toy_tokenizer({"<", "<|", "x"});  // its end tokens read </s> and <|im_end|>
  auto matcher = GrammarMatcher::create(Grammar::regex(".*").value(), tokenizer).value();
  const auto texts = texts_allowed(matcher, tokenizer);
  EXPECT_EQ(texts, (Texts{"<", "<|", "x", "</s>", "<|im_end|>"}));  // the two as ends
  auto other = GrammarMatcher::create(Grammar::gbnf("root ::= \"</s>\" \"x\"").value(), tokenizer).value();
  EXPECT_EQ(texts_allowed(other, tokenizer), Texts{"<"});
  EXPECT_FALSE(other.accept(tokenizer.end_tokens()[0]));
}

TEST(Matcher, NamedTokens) {
  const Tokenizer tokenizer = toy_tokenizer({"a", "b", "<think>", "<", "think>"}, {2});
  const auto grammar =
      Grammar::gbnf("root ::= <think> !<think>{2} (\"b\" | <[0]>)", {.tokenizer = tokenizer}).value();
  auto matcher = GrammarMatcher::create(grammar, tokenizer).value();
  EXPECT_EQ(texts_allowed(matcher, tokenizer), Texts{"<think>"});
  ASSERT_TRUE(matcher.accept(2));
  EXPECT_EQ(texts_allowed(matcher, tokenizer), (Texts{"a", "b", "<", "think>"}));
  ASSERT_TRUE(matcher.accept(4));
  ASSERT_TRUE(matcher.accept(0));
  EXPECT_EQ(texts_allowed(matcher, tokenizer), (Texts{"a", "b"}));
  ASSERT_TRUE(matcher.accept(0));
  EXPECT_TRUE(matcher.can_end());
  EXPECT_EQ(Grammar::gbnf("root ::= <nope>", {.tokenizer = tokenizer}).error().code, ErrorCode::malformed);
  ASSERT_TRUE(matcher.rollback(4));
  EXPECT_EQ(texts_allowed(matcher, tokenizer), Texts{"<think>"});
}

TEST(Matcher, RollbackAndFork) {
  const Tokenizer tokenizer = toy_tokenizer({"[", "]", "1", ",", "[[", "]]"});
  auto matcher = GrammarMatcher::create(Grammar::json().value(), tokenizer).value();
  for (const Token token : {4, 2, 3, 0}) ASSERT_TRUE(matcher.accept(token));
  GrammarMatcher fork = matcher;
  ASSERT_TRUE(fork.accept(5));
  ASSERT_TRUE(fork.accept(1));
  EXPECT_TRUE(fork.can_end());
  EXPECT_FALSE(matcher.can_end());
  const auto before = texts_allowed(matcher, tokenizer);
  ASSERT_TRUE(matcher.accept_bytes("true ]"));
  ASSERT_TRUE(matcher.rollback(1));
  EXPECT_EQ(texts_allowed(matcher, tokenizer), before);
  EXPECT_EQ(matcher.rollback(5).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(matcher.steps(), 4u);
  const auto refused = matcher.accept(3);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message.find("after 5 bytes"), std::string::npos) << refused.error().message;
  matcher.reset();
  EXPECT_EQ(matcher.steps(), 0u);
  ASSERT_TRUE(matcher.accept(2));
}

TEST(Matcher, CountersFarFromTheirLimitShareMasks) {
  const Tokenizer tokenizer = toy_tokenizer({"x", "xx", "xxxx", "\""});
  for (const char* pattern : {"x{10,20}\"", "(xx?){9,11}\"", "(x{3,5}\"?){2,9}"}) {
    auto matcher = GrammarMatcher::create(Grammar::regex(pattern).value(), tokenizer).value();
    for (int i = 0; i < 24; ++i) {
      TokenSet set(tokenizer.size());
      ASSERT_TRUE(matcher.allowed(set));
      EXPECT_EQ(set, brute_force(matcher, tokenizer)) << pattern << " after " << i;
      if (!matcher.accept(0)) break;
    }
  }
}

// All small grammars again, now their masks: each token of a vocabulary tried at every place.
TEST(Masks, ExhaustiveOverSmallGrammars) {
  const Tokenizer tokenizer = toy_tokenizer({"a", "b", "ab", "ba", "aa", "bb", "aab", "bba"});
  const auto trees = grammar::all_trees("abeAB", 3);
  std::size_t compared = 0;
  for (std::size_t first = 1; first <= 3; ++first) {
    for (std::size_t second = 1; first + second <= 4; ++second) {
      for (const grammar::Tree& a : trees[first]) {
        for (const grammar::Tree& b : trees[second]) {
          const std::string text = "root ::= " + a.gbnf() + "\nother ::= " + b.gbnf();
          const auto compiled = Grammar::gbnf(text);
          if (!compiled) continue;  // matches nothing: exhaustive_test
          auto matcher = GrammarMatcher::create(*compiled, tokenizer).value();
          std::mt19937 random(1);
          for (int step = 0; step < 4; ++step) {
            TokenSet set(tokenizer.size());
            ASSERT_TRUE(matcher.allowed(set));
            ASSERT_EQ(set, brute_force(matcher, tokenizer)) << text << " step " << step;
            ++compared;
            std::vector<Token> tokens;
            set.for_each([&](Token token) { tokens.push_back(token); });
            if (tokens.empty() || !matcher.accept(tokens[random() % tokens.size()])) break;
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 1'500u);
}

TEST(Masks, OneCacheForAllThreads) {
  const Tokenizer tokenizer = toy_tokenizer({"{", "}", "\"", "a", "b", ":", ",", "[", "]", "1", "\":", "\",\"", " "});
  const auto compiled = Grammar::json().value();
  std::vector<std::thread> threads;
  std::vector<int> bad(4);
  for (std::size_t t = 0; t < bad.size(); ++t) {
    threads.emplace_back([&, t] {
      auto matcher = GrammarMatcher::create(compiled, tokenizer).value();
      std::mt19937 random(static_cast<unsigned>(t));
      for (int step = 0; step < 200; ++step) {
        TokenSet set(tokenizer.size());
        if (!matcher.allowed(set) || set != brute_force(matcher, tokenizer)) ++bad[t];
        std::vector<Token> tokens;
        set.for_each([&](Token token) { tokens.push_back(token); });
        if (tokens.empty() || !matcher.accept(tokens[random() % tokens.size()])) matcher.reset();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bad, std::vector<int>(4));
}

TEST(Masks, LimitsAreErrors) {
  const Tokenizer tokenizer = toy_tokenizer({"a", "b"});
  // The states of (a|b)*a(a|b){12} double with each byte.
  const auto compiled = Grammar::regex("(a|b)*a(a|b){14}", {.limits = {.max_states = 200}}).value();
  auto matcher = GrammarMatcher::create(compiled, tokenizer).value();
  std::mt19937 random(3);
  Result<void> result;
  for (int i = 0; i < 2'000 && result; ++i) {
    TokenSet set(tokenizer.size());
    result = matcher.allowed(set);
    if (result) result = matcher.accept(static_cast<Token>(random() % 2));
  }
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::limit_exceeded);
  EXPECT_NE(result.error().message.find("max_states = 200"), std::string::npos);
  EXPECT_EQ(Grammar::regex("(abc|de){3,9}", {.limits = {.max_expressions = 10}}).error().code, ErrorCode::limit_exceeded);
  // Nesting takes stack, and only that.
  const auto nested = Grammar::gbnf("root ::= \"a\" root \"b\" | \"\"", {.limits = {.max_stack_edges = 100}}).value();
  EXPECT_EQ(nested.match(std::string(1'000, 'a')).error().code, ErrorCode::limit_exceeded);
}

TEST(Grammars, CompileCanBeStopped) {  // R11
  StopSource source;
  source.request_stop();
  EXPECT_EQ(Grammar::regex("[a-z]{3,9}(x|\\p{L}){5}yz", {.stop = source.token()}).error().code, ErrorCode::cancelled);
}

TEST(Grammars, Composition) {
  const std::string words[] = {"yes", "no", "nope"};
  const Grammar answer = Grammar::choice(words).value();
  const Grammar parts[] = {grammar::literal("{").value(), answer, grammar::literal("}").value()};
  const Grammar braced = grammar::sequence(parts).value();
  const Grammar choices[] = {braced, Grammar::json().value(), grammar::repeat(Grammar::regex("[0-9]").value(), 3, 4).value()};
  const Grammar all = grammar::alternatives(choices).value();
  for (const char* text : {"{yes}", "{nope}", "{\"a\": [1]}", "0123"}) EXPECT_TRUE(all.match(text).value().matches) << text;
  for (const char* text : {"{ye}", "yes", "01234", "{1}"}) EXPECT_FALSE(all.match(text).value().matches) << text;
  EXPECT_EQ(all.match("{nox}").value().matching_bytes, 3u);
  EXPECT_FALSE(Grammar::choice({}));
  EXPECT_FALSE(grammar::alternatives({}));
  EXPECT_FALSE(grammar::repeat(answer, 2, 1));
  EXPECT_TRUE(grammar::sequence({}).value().match("").value().matches);
}

TEST(Grammars, Json) {
  const Grammar json = Grammar::json().value();
  for (const char* text : {"null", " [1, -0.5e+3, \"\\u00e9é\\n\"] ", "{}", "{\"a\":{\"b\":[{}]}}", "\"\x7f\""}) {
    EXPECT_TRUE(json.match(text).value().matches) << text;
  }
  for (const char* text : {"", "01", "[1,]", "{a:1}", "\"\n\"", "\"\\x\"", "nul", "1 2", "\"\xff\""}) {
    EXPECT_FALSE(json.match(text).value().matches) << text;
  }
  const std::string deep(20'000, '[');
  EXPECT_TRUE(json.match(deep + std::string(20'000, ']')).value().matches);
}

TEST(GrammarMask, InAChain) {  // S11
  const Tokenizer tokenizer = toy_tokenizer({"a", "b", "c"});
  const Grammar grammar = Grammar::regex("(a|b)c").value();
  auto chain = SamplerChain::create({.processors = {grammar_mask(grammar, tokenizer)}, .sampler = greedy()}).value();
  std::vector<float> logits(tokenizer.size(), 0.0f);
  logits[1] = 1;
  logits[2] = 5;
  const auto sample = [&] { return chain.sample(DenseLogits(logits, 0)).value(); };
  EXPECT_EQ(sample(), 1);
  EXPECT_EQ(chain.allowed().count(), 2u);
  chain.accept(1);
  EXPECT_EQ(sample(), 2);
  SamplerChain copy = chain.clone();
  chain.accept(2);
  EXPECT_TRUE(tokenizer.is_end(sample()));
  EXPECT_EQ(copy.sample(DenseLogits(logits, 0)).value(), 2);
  ASSERT_TRUE(chain.rollback(2));
  EXPECT_EQ(sample(), 1);
  chain.accept(2);  // not allowed here
  EXPECT_EQ(chain.status().error().code, ErrorCode::invalid_argument);
  chain.reset();
  EXPECT_EQ(sample(), 1);
}

TEST(Grammars, DigestsTellThemApart) {
  const auto digest = [](const char* text) { return Grammar::gbnf(text).value().digest(); };
  const std::uint64_t own = digest("root ::= \"(\" (root | item)* \")\"\nitem ::= [a-z]+ root [0-9]{2,5} | \"x\" item item");
  // Names, comments, order of alternatives and rules that nobody calls say nothing.
  EXPECT_EQ(digest("# lists\nroot ::= \"(\" (thing | root)* \")\" # nested\n"
                   "thing ::= \"x\" thing thing | [a-z]+ root [0-9]{2,5}\nunused ::= \"u\""),
            own);
  for (const char* other : {"root ::= \"(\" (root | item)* \")\"\nitem ::= [a-z]+ root [0-9]{2,6} | \"x\" item item",
                            "root ::= \"(\" (root | item)* \")\"\nitem ::= [a-y]+ root [0-9]{2,5} | \"x\" item item",
                            "root ::= \"(\" (root | item)* \")\"\nitem ::= [a-z]+ root [0-9]{2,5} | \"x\" item root",
                            "root ::= \"(\" (root | item)? \")\"\nitem ::= [a-z]+ root [0-9]{2,5} | \"x\" item item",
                            "root ::= \"(\" (root | item)* \")\"\nitem ::= [a-z]+ root [0-9]{2,5} | \"x\" <[7]> item"}) {
    EXPECT_NE(digest(other), own) << other;
  }
  EXPECT_NE(digest("root ::= <[7]>"), digest("root ::= <[8]>"));
  EXPECT_NE(digest("root ::= <[7]>"), digest("root ::= !<[7]>"));
  const Grammar number = Grammar::regex("[0-9]+").value(), word = Grammar::regex("[a-z]+").value();
  const Grammar parts[] = {number, word}, turned[] = {word, number};
  EXPECT_NE(grammar::sequence(parts).value().digest(), grammar::sequence(turned).value().digest());
  EXPECT_EQ(grammar::alternatives(parts).value().digest(), grammar::alternatives(turned).value().digest());
}

// In every process, on every machine, and however much it was used. A change of these numbers makes rill refuse what
// was saved before under a grammar: for a reason only.
TEST(Grammars, DigestsAreTheSameEverywhere) {
  const Grammar json = Grammar::json().value();
  EXPECT_EQ(json.digest(), 530713007590653452u);
  ASSERT_TRUE(json.match("[1, {\"a\": [true, null]}]").value().matches);
  EXPECT_EQ(json.digest(), 530713007590653452u);
  EXPECT_EQ(Grammar::json().value().digest(), 530713007590653452u);
  EXPECT_EQ(Grammar::regex("(ab|c){2,7}[^d-f]*").value().digest(), 18356241737560213507u);
}

SamplerChain masked(const Grammar& grammar, const Tokenizer& tokenizer, const GrammarMatcherOptions& options = {}) {
  return SamplerChain::create({.processors = {grammar_mask(grammar, tokenizer, options)}, .sampler = greedy()}).value();
}

std::vector<std::uint64_t> allowed_by(SamplerChain& chain, const Tokenizer& tokenizer) {
  const std::vector<float> logits(tokenizer.size(), 0.0f);
  if (!chain.sample(DenseLogits(logits, 0))) return {};
  return {chain.allowed().words().begin(), chain.allowed().words().end()};
}

// The end token included, and what is taken back after the restore.
TEST(GrammarMask, ASavedOneGoesOn) {
  const Tokenizer tokenizer = toy_tokenizer({"{", "}", "\"", "a", "\":", "1", "[", "]", ",", "[[", "\":[{\"", "]}", " "});
  const std::vector<Token> text = {0, 2, 3, 10, 3, 4, 9, 5, 8, 5, 7, 7, 1, 11, 12, 13};
  const Grammar json = Grammar::json().value(), again = Grammar::json().value();
  SamplerChain chain = masked(json, tokenizer);
  for (const Token token : text) {
    SamplerChain restored = masked(again, tokenizer);
    restored.accept(6);
    const auto saved = chain.save().value();
    ASSERT_TRUE(restored.restore(saved));
    EXPECT_EQ(restored.save().value(), saved);
    EXPECT_EQ(allowed_by(restored, tokenizer), allowed_by(chain, tokenizer));
    restored.accept(token);
    chain.accept(token);
    ASSERT_TRUE(chain.status());
    EXPECT_EQ(allowed_by(restored, tokenizer), allowed_by(chain, tokenizer));
    ASSERT_TRUE(restored.rollback(1));
    EXPECT_EQ(restored.save().value(), saved);
  }
  SamplerChain ended = masked(again, tokenizer);
  ASSERT_TRUE(ended.restore(chain.save().value()));
  EXPECT_TRUE(allowed_by(ended, tokenizer).empty());
}

TEST(GrammarMask, RefusesTheStateOfAnother) {
  const Tokenizer tokenizer = toy_tokenizer({"a", "b", "c"});
  const Grammar grammar = Grammar::regex("a*b?c").value();
  SamplerChain chain = masked(grammar, tokenizer);
  for (const Token token : {0, 0, 1}) chain.accept(token);
  const auto saved = chain.save().value();
  const auto refused = [&saved](SamplerChain into) {
    const auto before = into.save().value();
    const auto done = into.restore(saved);
    EXPECT_EQ(into.save().value(), before);
    return done ? "" : to_string(done.error().code) + (": " + done.error().message);
  };
  const Grammar other = Grammar::regex("a*b*c").value();
  std::ostringstream digests;
  digests << std::hex << std::setfill('0') << std::setw(16) << grammar.digest() << ", this one has " << std::setw(16)
          << other.digest();
  EXPECT_EQ(refused(masked(other, tokenizer)),
            "incompatible: grammar_mask(): saved under a grammar with digest " + digests.str());
  EXPECT_EQ(refused(masked(grammar, tokenizer, {.end_tokens = std::vector<Token>{3}})),
            "incompatible: grammar_mask(): saved with other end_tokens");
  const Tokenizer turned = toy_tokenizer({"b", "a", "c"});
  EXPECT_EQ(refused(masked(grammar, turned)),
            "malformed: grammar_mask(): state: the grammar does not allow token 0 after 1 bytes");
}

TEST(GrammarMask, DamagedStateIsRefusedOrHarmless) {
  const Tokenizer tokenizer = toy_tokenizer({"[", "]", "1", ","});
  const Grammar json = Grammar::json().value();
  SamplerChain chain = masked(json, tokenizer);
  for (const Token token : {0, 0, 2, 3, 2, 1}) chain.accept(token);
  const auto saved = chain.save().value();
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    auto damaged = saved;
    damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    if (random() % 4 == 0) damaged.resize(random() % saved.size());
    SamplerChain into = masked(json, tokenizer);
    const auto before = into.save().value();
    if (!into.restore(damaged)) {
      EXPECT_EQ(into.save().value(), before);
      ++refused;
    }
    (void)allowed_by(into, tokenizer);
  }
  EXPECT_GT(refused, 2000);
}

TEST(GrammarMask, ErrorsAreTheChains) {
  const Tokenizer tokenizer = toy_tokenizer({"a", "b"});
  const Grammar good = Grammar::regex("a").value();
  const auto refused =
      SamplerChain::create({.processors = {grammar_mask(good, tokenizer, {.end_tokens = std::vector<Token>{99}})}});
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  const Grammar nested = Grammar::gbnf("root ::= \"a\" root \"b\" | \"\"", {.limits = {.max_stack_edges = 4}}).value();
  auto chain = SamplerChain::create({.processors = {grammar_mask(nested, tokenizer)}}).value();
  const std::vector<float> logits(tokenizer.size(), 0.0f);
  Result<Token> token = chain.sample(DenseLogits(logits, 0));
  for (int i = 0; i < 10 && token; ++i) {
    chain.accept(0);
    token = chain.sample(DenseLogits(logits, 0));
  }
  EXPECT_EQ(token.error().code, ErrorCode::limit_exceeded);
}

}  // namespace
}  // namespace rill
