#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/language.h"

namespace rill::grammar {
namespace {

Error error_of(std::string_view pattern) {
  Expressions expressions(kTestExpressions);
  const auto result = parse_regex(expressions, pattern);
  return result ? Error{ErrorCode::internal, "accepted"} : result.error();
}

void expect(const char* pattern, const std::vector<std::string>& yes, const std::vector<std::string>& no,
            Match match = Match::whole) {
  SCOPED_TRACE(pattern);
  const Language language = Language::regex(pattern, match);
  for (const std::string& text : yes) EXPECT_TRUE(language.holds(text)) << text;
  for (const std::string& text : no) EXPECT_FALSE(language.holds(text)) << text;
}

TEST(Regex, CharactersClassesAndEscapes) {
  expect("abc", {"abc"}, {"", "ab", "abcd"});
  expect("a.c", {"abc", "aéc", "a😀c"}, {"a\nc", "ac", "a\xE2\x80\xA8" "c"});
  expect("[a-c-]+", {"a-c", "---"}, {"d", ""});
  expect("[^a]", {"b", "é", "\n"}, {"a", "ab", ""});
  expect("[\\d-x]", {"5", "-", "x"}, {"a"});
  expect("\\x41\\u0042\\u{1F600}\\uD83D\\uDE00", {"AB😀😀"}, {"AB"});
  expect("\\cJ\\0\\t", {std::string("\n\0\t", 3)}, {});
  expect("[\\b]\\/\\-\\.", {"\b/-."}, {});
  expect("[^]", {"a", "\n"}, {""});
  expect("x{|}]a{,2}", {"x{"}, {}, Match::search);
  expect("a{,2}", {"a{,2}"}, {"a", "aa"});
}

TEST(Regex, Shorthands) {  // R08
  expect("\\S+", {"ab"}, {"a b"});
  expect("\\D+", {"ab"}, {"a1"});
  expect("\\W", {"!"}, {"a"});
  expect("[^\\d]", {"x"}, {"5"});
  expect("\\s", {" ", "\u00A0", "\uFEFF", "\u3000"}, {"x"});
}

TEST(Regex, UnicodeProperties) {
  expect("\\p{L}+", {"aéλ鮮"}, {"1", " "});
  expect("\\p{Lu}\\p{Lowercase_Letter}\\p{gc=Nd}", {"Éa٣"}, {"éA3"});
  expect("[\\p{L}\\p{N}_]+", {"a1_β"}, {"-"});
  expect("\\P{L}", {"1"}, {"a"});
  EXPECT_EQ(error_of("\\p{Script=Greek}").code, ErrorCode::unsupported);
}

TEST(Regex, RepeatsAndChoices) {
  expect("p(q|)r", {"pqr", "pr"}, {"psr"});  // R05
  expect("a{2,3}?b*?c+?d??", {"aac", "aaabbccd"}, {"ac", "aaaac"});
  expect("(?:ab){2}", {"abab"}, {"ab", "ababab"});
  expect("(?<year>\\d{4})-(x|yz)", {"2024-yz"}, {"204-x"});
  expect("(a|b)*abb", {"abb", "aababb"}, {"ab", "abba"});
  expect("", {""}, {"a"});
  expect("a{0}", {""}, {"a"});
  expect("[^\"\n]{0,2000}", {"", std::string(2000, 'x')}, {std::string(2001, 'x')});
}

TEST(Regex, Anchors) {
  expect("^ab$", {"ab"}, {"xab", "abx"}, Match::search);
  expect("ab", {"ab", "xab", "abx", "xabx"}, {"a b", ""}, Match::search);
  expect("^a", {"a", "ab"}, {"ba"}, Match::search);
  expect("a$", {"a", "ba"}, {"ab"}, Match::search);
  expect("^a|b$", {"ax", "xb", "ab"}, {"xa", "bx"}, Match::search);
  expect("(^|,)x(,|$)", {"x", "a,x", "x,b", "a,x,b"}, {"ax", "xb", "a,xb"}, Match::search);
  expect("^$", {""}, {"a"}, Match::search);
  expect("$^", {""}, {"a"}, Match::search);
  expect("a^b|c", {"c"}, {"ab", "a", "b", ""}, Match::search);
  expect("(^a|b)*c", {"abbc", "bc", "c", "bbac"}, {"ab"}, Match::search);
  expect("^(^a|b)*$", {"", "abb", "bb", "a"}, {"aa", "ba"}, Match::search);
  expect("^(a|$){3}$", {"", "a", "aa", "aaa"}, {"aaaa", "b"}, Match::search);
  expect("^x*$", {"", "xx"}, {"y"}, Match::search);
}

TEST(Regex, WhatIsNoText) {
  // Bytes that are no UTF-8 match nothing, not even a negated class.
  expect("[^a]*", {"é"}, {"\xff", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"});
  expect(".*", {}, {"\x80"});
}

TEST(Regex, Unsupported) {  // R03
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"(?=a)a", "lookahead"},  {"(?!a)b", "lookahead"}, {"a(?<!b)c", "lookbehind"}, {"a(?<=b)c", "lookbehind"},
      {"(?i)a", "flag"},        {"(a)\\1", "backreference"}, {"\\k<x>", "backreference"}, {"a\\b", "word boundary"},
      {"\\B", "word boundary"}, {"\\A", "\\A"},       {"(?s).", "flag"},          {"(?-i:a)", "flag"},
      {"(?>a)", "atomic group"}, {"a++", "possessive"},  {"a?+", "possessive"},     {"(?#c)a", "comment"},
      {"(?(1)a|b)", "conditional"}, {"(?P<n>a)", "(?P<"}, {"(?P=n)", "backreference"}, {"(?R)", "recursion"},
      {"(?1)", "recursion"},    {"(?|a|b)", "branch reset"}, {"\\Z", "\\Z"},        {"\\G", "\\G"},
  };
  for (const auto& [pattern, named] : cases) {
    const Error error = error_of(pattern);
    EXPECT_EQ(error.code, ErrorCode::unsupported) << pattern;
    EXPECT_NE(error.message.find(named), std::string::npos) << error.message;
  }
}

TEST(Regex, Malformed) {  // R05, R06
  const std::vector<std::pair<std::string, std::size_t>> cases = {
      {"(ab", 0}, {"ab)", 2}, {"[a-", 0}, {"a{3,1}", 1}, {"\\", 0}, {"k[]", 1}, {"*a", 0}, {"a**", 2},
      {"a|+", 2}, {"[z-a]", 1}, {"\\u12", 0}, {"\\x4", 0}, {"\\u{110000}", 0}, {"(?<a", 3}, {"(?*a)", 0},
      {"a\xff", 1}, {"^*", 1}, {"\\c1", 0},
  };
  for (const auto& [pattern, offset] : cases) {
    const Error error = error_of(pattern);
    EXPECT_EQ(error.code, ErrorCode::malformed) << pattern << ": " << error.message;
    EXPECT_NE(error.message.find("at offset " + std::to_string(offset)), std::string::npos)
        << pattern << ": " << error.message;
  }
}

TEST(Regex, DeepNesting) {  // R02
  const std::size_t depth = 50'000;
  expect((std::string(depth, '(') + "a" + std::string(depth, ')')).c_str(), {"a"}, {"b"});
  std::string nested;
  for (int i = 0; i < 2'000; ++i) nested += "(a|b";
  nested += std::string(2'000, ')');
  EXPECT_TRUE(Language::regex(nested).holds("ba"));
}

TEST(Regex, WhatExplodesElsewhere) {  // R11
  const std::string long_text(64 * 1024, 'a');
  for (const char* pattern : {"(a+)+b", "(a|a)*b", "(.*a){12}"}) {
    const Language language = Language::regex(pattern);
    EXPECT_TRUE(language.begins(long_text)) << pattern;
    EXPECT_LT(language.automaton().states(), 100u) << pattern;
  }
}

}  // namespace
}  // namespace rill::grammar
