// Free text with structures between tags.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "grammar/toy_tokenizer.h"
#include "rill/tagged_grammar.h"

namespace rill {
namespace {

using grammar::tagged;
using grammar::TaggedOptions;
using grammar::toy_tokenizer;

bool holds(const Grammar& grammar, std::string_view text) { return grammar.match(text).value().matches; }

Grammar pattern(std::string_view text) { return Grammar::regex(text).value(); }

// The rules read plainly: looks for the first trigger, then tries each tag that begins with it.
struct Plain {
  std::vector<std::string> begins, triggers;
  std::function<bool(std::string_view)> body;
  std::string end;
  std::size_t least = 0, most = 99;
  bool free_text = true, stop_after_last = false;

  bool holds(std::string_view text, std::size_t calls = 0) const {
    std::size_t at = 0;
    if (free_text) {
      std::size_t ends = std::string_view::npos;
      for (const std::string& trigger : triggers) {
        const std::size_t found = text.find(trigger);
        if (found != std::string_view::npos && found + trigger.size() < ends) {
          ends = found + trigger.size();
          at = found;
        }
      }
      if (ends == std::string_view::npos) {
        return calls >= least && (!(stop_after_last && calls == most) || text.empty());
      }
    } else if (text.empty()) {
      return calls >= least;
    }
    if (calls == most) return false;
    const std::string_view rest = text.substr(at);
    for (const std::string& begin : begins) {
      if (!rest.starts_with(begin)) continue;
      for (std::size_t i = begin.size(); i + end.size() <= rest.size(); ++i) {
        if (rest.substr(i, end.size()) == end && body(rest.substr(begin.size(), i - begin.size())) &&
            holds(rest.substr(i + end.size()), calls + 1)) {
          return true;
        }
      }
    }
    return false;
  }
};

void agree_on_all_texts(const TaggedOptions& options, const Plain& plain, std::string_view letters, std::size_t longest) {
  const Grammar grammar = tagged(options).value();
  std::size_t held = 0, number = 0;
  std::vector<std::string> texts{""};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = texts[i];
    const bool expected = plain.holds(text);
    ASSERT_EQ(holds(grammar, text), expected) << text;
    held += expected ? 1 : 0;
    ++number;
    if (text.size() == longest) continue;
    for (const char letter : letters) texts.push_back(text + letter);
  }
  EXPECT_GT(held, 3u);
  EXPECT_LT(held, number);
}

const auto kIsB = [](std::string_view text) { return text.find_first_not_of('b') == std::string_view::npos && !text.empty(); };

TEST(Tagged, AgreesWithAPlainReaderOnAllShortTexts) {
  for (const bool free_text : {true, false}) {
    for (const auto& [least, most] : {std::pair{0u, grammar::kNoLimit}, {1u, 1u}, {0u, 2u}, {2u, 2u}}) {
      for (const bool stop : {true, false}) {
        const TaggedOptions options{.structures = {{"aab", pattern("b+"), "a"}}, .least_calls = least, .most_calls = most,
                                    .free_text = free_text, .stop_after_last = stop};
        const Plain plain{.begins = {"aab"}, .triggers = {"aab"}, .body = kIsB, .end = "a", .least = least, .most = most,
                          .free_text = free_text, .stop_after_last = stop};
        agree_on_all_texts(options, plain, "ab", 12);
      }
    }
  }
}

TEST(Tagged, TriggersBeginSeveralTags) {
  const TaggedOptions options{.structures = {{"<a", pattern("b+"), ">"}, {"<b", pattern("b+"), ">"}}, .triggers = {"<"}};
  agree_on_all_texts(options, {.begins = {"<a", "<b"}, .triggers = {"<"}, .body = kIsB, .end = ">"}, "ab<>", 7);
}

TEST(Tagged, BodyOfAnyTextEndsWithTheFirstEnd) {
  const TaggedOptions options{.structures = {{"ba", std::nullopt, "aab"}}};
  const auto body = [](std::string_view text) {
    return (std::string(text) + "aab").find("aab") == text.size();
  };
  agree_on_all_texts(options, {.begins = {"ba"}, .triggers = {"ba"}, .body = body, .end = "aab"}, "ab", 11);
}

// The tokens of these texts in turn; how many were accepted.
std::size_t accepted(const Grammar& grammar, const Tokenizer& tokenizer, const std::vector<Token>& tokens) {
  auto matcher = GrammarMatcher::create(grammar, tokenizer).value();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    TokenSet set(tokenizer.size());
    matcher.allowed(set).value();
    const bool allowed = matcher.accept(tokens[i]).has_value();
    EXPECT_EQ(set.contains(tokens[i]), allowed) << i;
    if (!allowed) return i;
  }
  EXPECT_TRUE(matcher.can_end());
  return tokens.size();
}

TEST(Tagged, TextTagsBeginInTheMiddleOfATokenAndTokenTagsAreTokens) {
  enum : Token { hi, less, call_end, one, gt, open, close, quote };
  const Tokenizer tokenizer = toy_tokenizer({"hi <", "ca", "ll>1", "1", "</call>!", "<tool>", "</tool>", "<"}, {open, close});
  const Grammar digits = pattern("1+");
  const Grammar text = tagged({.structures = {{"<call>", digits, "</call>"}}}).value();
  EXPECT_EQ(accepted(text, tokenizer, {hi, less, call_end, one, gt, hi}), 6u);
  EXPECT_EQ(accepted(text, tokenizer, {hi, less, call_end, hi}), 3u);   // inside a call
  EXPECT_EQ(accepted(text, tokenizer, {hi, open}), 1u);                 // a token is no text
  const Grammar token = tagged({.structures = {{open, digits, close}}}).value();
  EXPECT_EQ(accepted(token, tokenizer, {hi, open, one, one, close, open, one, close, hi, less}), 10u);
  EXPECT_EQ(accepted(token, tokenizer, {open, close}), 1u);
  EXPECT_EQ(accepted(token, tokenizer, {hi, close}), 1u);
  EXPECT_TRUE(holds(token, "<tool>1</tool>"));  // as text, it is text
}

TEST(Tagged, ReasoningThenCallsInOneGrammar) {  // X
  const Grammar weather = Grammar::json_schema(R"({"type":"object","required":["city"],"properties":{"city":{"type":"string"}},
                                                  "additionalProperties":false})").value();
  const Grammar reasoning = tagged({.structures = {{"<think>", std::nullopt, "</think>"}}, .least_calls = 1, .most_calls = 1,
                                    .free_text = false}).value();
  const Grammar calls =
      tagged({.structures = {{"<tool>weather", weather, "</tool>"}, {"<tool>time", Grammar::json().value(), "</tool>"}},
              .most_calls = 2,
              .triggers = {"<tool>"},
              .stop_after_last = true})
          .value();
  const Grammar parts[] = {reasoning, calls};
  const Grammar whole = grammar::sequence(parts).value();
  EXPECT_TRUE(holds(whole, "<think>a <tool> may help</think>It is:"));
  EXPECT_TRUE(holds(whole, R"(<think></think>So <tool>weather{"city":"Oslo"}</tool>, <tool>time[1]</tool>)"));
  EXPECT_FALSE(holds(whole, R"(<think></think><tool>weather{"town":"Oslo"}</tool>)"));
  EXPECT_FALSE(holds(whole, R"(<think></think><tool>other{}</tool>)"));
  EXPECT_FALSE(holds(whole, R"(<think></think><tool>time1</tool><tool>time1</tool> and)"));  // nothing after the last
  EXPECT_FALSE(holds(whole, "no thought"));
  EXPECT_FALSE(holds(whole, "<think></think>\xFF"));
}

TEST(Tagged, ClosesWithinABudget) {
  const Tokenizer tokenizer = toy_tokenizer({"a", "<", "c", ">", "1", "/", "<c", "<t>"}, {7});
  const Grammar grammar =
      tagged({.structures = {{"<c>", pattern("1{2,}"), "</c>"}, {Token{7}, pattern("a"), ">"}}, .least_calls = 1}).value();
  std::mt19937 random(3);
  const std::size_t shortest = GrammarMatcher::create(grammar, tokenizer).value().shortest_tokens().value();
  EXPECT_EQ(shortest, 4u);  // <t> a > and the end
  for (unsigned walk = 0; walk < 100; ++walk) {
    auto matcher = GrammarMatcher::create(grammar, tokenizer).value();
    for (std::size_t left = shortest + walk % 20; !matcher.ended(); --left) {
      TokenSet set(tokenizer.size());
      matcher.allowed(set, left).value();
      std::vector<Token> tokens;
      set.for_each([&](Token token) { tokens.push_back(token); });
      ASSERT_FALSE(tokens.empty()) << left;
      matcher.accept(tokens[random() % tokens.size()]).value();
    }
  }
}

TEST(Tagged, RefusesTagsThatCannotComeAbout) {
  const auto fails = [](const TaggedOptions& options) {
    const auto made = tagged(options);
    return !made && made.error().code == ErrorCode::invalid_argument;
  };
  const Grammar one = pattern("1");
  EXPECT_TRUE(fails({}));
  EXPECT_TRUE(fails({.structures = {{"", one, "a"}}}));
  EXPECT_TRUE(fails({.structures = {{"a", std::nullopt, ""}}}));
  EXPECT_TRUE(fails({.structures = {{"a", one, ""}}, .least_calls = 2, .most_calls = 1}));
  EXPECT_TRUE(fails({.structures = {{"<x>", one, ""}, {"a<x>", one, ""}}}));  // a, then the first
  EXPECT_TRUE(fails({.structures = {{"<x>", one, ""}}, .triggers = {"y"}}));
  EXPECT_TRUE(fails({.structures = {{"<x>", one, ""}}, .triggers = {"<", "y"}}));
  EXPECT_TRUE(fails({.structures = {{"<x>", one, ""}}, .separator = ","}));
  EXPECT_FALSE(fails({.structures = {{"<x>", one, ""}, {"<xy>", one, ""}}}));
}

}  // namespace
}  // namespace rill
