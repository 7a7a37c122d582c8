#include "regex/nfa.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "rill/grammar.h"

namespace rill::regex {
namespace {

bool found(std::string_view pattern, std::string_view text) { return Nfa::compile(pattern).value().found_in(text); }
bool matches(std::string_view pattern, std::string_view text) { return found("^(?:" + std::string(pattern) + ")$", text); }

TEST(NfaTest, MatchesAsAWholeAndSearches) {
  EXPECT_TRUE(matches("a|bc|", "bc"));
  EXPECT_TRUE(matches("a|bc|", ""));
  EXPECT_FALSE(matches("a|bc|", "ab"));
  EXPECT_TRUE(found("b+$", "abb"));
  EXPECT_FALSE(found("b+$", "abba"));
  EXPECT_TRUE(found("^$", ""));
  EXPECT_FALSE(found("^b", "ab"));
  EXPECT_TRUE(matches("(?:ab){2,3}", "ababab"));
  EXPECT_FALSE(matches("(?:ab){2,3}", "abababab"));
  EXPECT_TRUE(matches("(a*)*b", "aaab"));
  EXPECT_TRUE(matches(".", "é"));
  EXPECT_TRUE(matches("[^a-c]\\d", "x7"));
}

// The patterns' other reader makes automata by derivatives.
TEST(NfaTest, AgreesWithTheGrammarOfThePattern) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random); };
  int yes = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string pattern;
    int open = 0;
    for (std::size_t i = 0, size = 1 + below(8); i < size; ++i) {
      switch (below(7)) {
        case 0: pattern += '|'; break;
        case 1: pattern += "(?:", ++open; break;
        case 2:
          if (open > 0) pattern += ")", --open;
          break;
        case 3: pattern += "b{1,2}"; break;
        case 4: pattern += "[ab]*"; break;
        case 5: pattern += below(4) == 0 ? "^" : "a"; break;
        default: pattern += below(4) == 0 ? "$" : "ab?"; break;
      }
    }
    pattern.append(static_cast<std::size_t>(open), ')');
    const Nfa nfa = Nfa::compile("^(?:" + pattern + ")$").value();
    const auto grammar = Grammar::regex(pattern);
    if (!grammar) continue;  // it matches nothing at all
    for (int i = 0; i < 20; ++i) {
      std::string text;
      for (std::size_t k = below(6); k > 0; --k) text += "ab"[below(2)];
      const bool expected = grammar->match(text).value().matches;
      ASSERT_EQ(nfa.found_in(text), expected) << pattern << " and \"" << text << '"';
      yes += expected ? 1 : 0;
    }
  }
  EXPECT_GT(yes, 3000);
}

TEST(NfaTest, LimitsAndLinearTime) {
  EXPECT_EQ(Nfa::compile("((a{1000}){1000}){1000}").error().code, ErrorCode::limit_exceeded);
  EXPECT_EQ(Nfa::compile(std::string(70'000, 'a')).error().code, ErrorCode::limit_exceeded);
  EXPECT_EQ(Nfa::compile("(a").error().code, ErrorCode::malformed);
  EXPECT_EQ(Nfa::compile("(?=a)").error().code, ErrorCode::unsupported);
  std::string wide, nested(20'000, '(');
  for (int i = 0; i < 30'000; ++i) wide += "a|";
  EXPECT_TRUE(matches(wide + "b", "b"));
  nested += 'a';
  for (int i = 0; i < 20'000; ++i) nested += "b)";
  EXPECT_TRUE(found(nested, 'a' + std::string(20'000, 'b')));
  EXPECT_FALSE(matches("(a|a)*b", std::string(5'000, 'a')));  // 2^5000 ways for one that tries them
}

TEST(NfaTest, StepsAreCounted) {
  const Nfa nfa = Nfa::compile("(a|a){1000}b").value();
  const std::string text(100'000, 'a');
  StepBudget budget("max_steps", 1'000'000, {});
  try {
    nfa.found_in(text, budget);
    FAIL();
  } catch (const ErrorException& exception) {
    EXPECT_EQ(exception.error().code, ErrorCode::limit_exceeded);
    EXPECT_NE(exception.error().message.find("max_steps = 1000000"), std::string::npos);
  }
}

}  // namespace
}  // namespace rill::regex
