#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/language.h"

namespace rill::grammar {
namespace {

Error error_of(std::string_view text, std::string_view start = "root") {
  Rules rules(kTestExpressions);
  const auto result = parse_gbnf(text, start, nullptr, rules);
  return result ? Error{ErrorCode::internal, "accepted"} : result.error();
}

void expect(const std::string& text, const std::vector<std::string>& yes, const std::vector<std::string>& no) {
  SCOPED_TRACE(text);
  for (const bool simplified : {false, true}) {
    const Language language = Language::gbnf(text, simplified);
    for (const std::string& each : yes) EXPECT_TRUE(language.holds(each)) << each;
    for (const std::string& each : no) EXPECT_FALSE(language.holds(each)) << each;
  }
}

TEST(Gbnf, Notation) {
  expect("root ::= \"a\\\"\\x41\\u00e9\\U0001F600\\n\\t\\r\\\\\\[\\]\\-\"", {"a\"Aé😀\n\t\r\\[]-"}, {"a"});
  expect("root ::= [a-c] [^a-c] . [-x] [x-]", {"cd!--", "aé\nxx"}, {"aa!--", "cd!-y"});
  expect("root ::= \"ab\"* | \"c\"+ | \"d\"?", {"", "abab", "ccc", "d"}, {"aba", "dd"});
  expect("root ::= \"ab\"{2} [x]{1,} \"y\"{0,2}", {"ababx", "ababxxyy"}, {"abx", "abab", "ababxyyy"});
  expect("root ::= (\"a\" | \"b\" (\"c\" | ))+", {"a", "b", "bcab"}, {"", "c"});
  expect("root ::= | \"x\"", {"", "x"}, {"xx"});
  expect("root ::= a-1\na-1 ::= \"old\"\na-1 ::= \"new\"", {"new"}, {"old"});
}

TEST(Gbnf, Layout) {  // G17
  const std::string grammars[] = {
      "root ::= \"a\" item\r\nitem ::= \"b\" | \"c\"\r\n",
      "root ::= \"a\" item   \nitem ::= \"b\" | \"c\"\t \n",
      "root ::= \"a\" item\nitem ::= \"b\" | \"c\"\n# the end",
      "root ::= (\n  \"a\" # first\n  item\n)\nitem ::= \"b\" |\n  \"c\"",
      "\xEF\xBB\xBFroot ::= \"a\" item\ritem ::= \"b\" | \"c\"\r",
      "# before\r\n\r\n\troot::=\"a\" item#behind\r\n\r\nitem ::=\r\n  (\"b\"\r\n  | \"c\")",
  };
  for (const std::string& grammar : grammars) expect(grammar, {"ab", "ac"}, {"a", "abc", "a\nb"});
  EXPECT_EQ(error_of("/home/me/grammar.gbnf").code, ErrorCode::malformed);
  EXPECT_EQ(error_of("grammars/json.gbnf").code, ErrorCode::malformed);
}

TEST(Gbnf, StartRule) {  // G06
  EXPECT_TRUE(Language::gbnf("start ::= \"x\"", true, "start").holds("x"));
  const Error error = error_of("start ::= \"x\"", "nope");
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_NE(error.message.find("nope"), std::string::npos);
}

TEST(Gbnf, NonAsciiClasses) {  // G08
  expect("root ::= [ñ]", {"ñ"}, {"n", "\xC3", ""});
  expect("root ::= [α-ω]+", {"λογ"}, {"a", ""});
  expect("root ::= [㐀-鿿]+", {"鮮"}, {"a"});
  expect("root ::= [^ñ]", {"n", "ò", "😀"}, {"ñ"});
}

TEST(Gbnf, Ambiguity) {  // G12
  const std::string grammar = "root ::= [a-z0-9]* [a-z] [a-z0-9]*";
  expect(grammar, {"a1b2", "7x", std::string(20'000, 'a')}, {"123"});
  // The same through rules that are not put in place: the stack stays small.
  Rules rules(kTestExpressions);
  parse_gbnf("root ::= some letter some\nsome ::= [a-z0-9]*\nletter ::= [a-z]", "root", nullptr, rules).value();
  const Language language(std::move(rules));
  TextMatcher matcher = language.matcher();
  ASSERT_TRUE(matcher.push(std::string(20'000, 'a')));
  EXPECT_TRUE(matcher.complete());
  EXPECT_LT(matcher.parser().stacks().size(), 50u);
}

TEST(Gbnf, NullableParts) {  // G13
  expect("root ::= \"[\" sp sp \"]\"\nsp ::= [ ]*", {"[]", "[ ]", "[    ]"}, {"[x]"});
  expect("root ::= a a a \"x\"\na ::= b? b?\nb ::= \"\" | \"y\" | c\nc ::= b", {"x", "yx", "yyyyyyx"}, {"yyyyyyyx", "y"});
}

TEST(Gbnf, LeftRecursion) {
  expect("root ::= root \"+\" n | n\nn ::= [0-9]+", {"1", "1+2", "12+3+4"}, {"", "1+", "+1"});
  expect("root ::= a \"x\" | \"r\"\na ::= root \"y\" | b\nb ::= a \"z\" | \"b\"", {"r", "bx", "bzzx", "ryx", "bxyzx"},
         {"b", "x"});
  expect("root ::= e root \"a\" | \"b\"\ne ::= \"\"", {"b", "ba", "baaa"}, {"a", ""});
  expect("root ::= root root | \"a\" | root", {"a", "aaaa"}, {"", "b"});
}

TEST(Gbnf, DeepNestingAndLongChains) {
  const std::size_t depth = 20'000;
  const std::string grammar = "root ::= \"(\" root \")\" | \"x\"";
  expect(grammar, {std::string(depth, '(') + "x" + std::string(depth, ')')}, {std::string(depth, '(') + "x"});
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 3'000; ++i) chain += "r" + std::to_string(i) + " ::= \"a\" r" + std::to_string(i + 1) + "\n";
  chain += "r3000 ::= \"b\"\n";
  EXPECT_TRUE(Language::gbnf(chain).holds(std::string(3'000, 'a') + "b"));
  const std::string groups = "root ::= " + std::string(50'000, '(') + "\"a\"" + std::string(50'000, ')');
  EXPECT_TRUE(Language::gbnf(groups).holds("a"));
}

TEST(Gbnf, RightRecursionDoesNotGrow) {
  for (const char* grammar :
       {"root ::= \"a\" root | \"a\"", "root ::= root \"a\" | \"a\"", "root ::= \"a\" b\nb ::= root | \"\""}) {
    const Language language = Language::gbnf(grammar, false);
    TextMatcher matcher = language.matcher();
    ASSERT_TRUE(matcher.push(std::string(1'000, 'a')));
    EXPECT_TRUE(matcher.complete());
    EXPECT_LT(matcher.parser().stacks().size(), 3'100u) << grammar;
  }
}

TEST(Gbnf, CountedRepeats) {  // G04
  const Language nested = Language::gbnf("root ::= ((\"a\"{1,1000}){1,1000}){1,1000}");
  EXPECT_TRUE(nested.holds(std::string(3'000, 'a')));
  EXPECT_FALSE(nested.holds(""));
  const Language many = Language::gbnf("root ::= [0-9]{1,2000000000}");
  EXPECT_TRUE(many.holds("0123456789"));
  const Language calls = Language::gbnf("root ::= value{2,1000000}\nvalue ::= \"1\" | \"[\" value \"]\"");
  EXPECT_TRUE(calls.holds("1[[1]]1"));
  EXPECT_FALSE(calls.holds("[[1]]"));
  // Counters that cannot be one: exact, or refused by a limit.
  const Language odd = Language::gbnf("root ::= (\"a\"{3,4}){2,3}");
  for (int n = 0; n < 15; ++n) EXPECT_EQ(odd.holds(std::string(static_cast<std::size_t>(n), 'a')), n >= 6 && n <= 12) << n;
}

TEST(Gbnf, RulesThatMatchNothing) {
  expect("root ::= \"a\" | \"b\" never\nnever ::= \"x\" never", {"a"}, {"b", "bx"});
  EXPECT_FALSE(Language::gbnf("root ::= \"a\" | \"b\" never\nnever ::= \"x\" never").begins("b"));
  Rules rules(kTestExpressions);
  parse_gbnf("root ::= \"x\" root", "root", nullptr, rules).value();
  EXPECT_THROW(Language{std::move(rules)}, ErrorException);
}

TEST(Gbnf, Errors) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"root ::= \"a", "line 1, column 10"},
      {"root ::= [a", "line 1, column 10"},
      {"root ::= \"a\"\n  b = c", "line 2, column 5"},
      {"root ::= (\"a\"", "line 1, column 10"},
      {"root ::= \"a\")", "line 1, column 13"},
      {"root ::= *", "line 1, column 10"},
      {"root ::= \"\\q\"", "line 1, column 11"},
      {"root ::= \"\\x4\"", "line 1, column 11"},
      {"root ::= []", "line 1, column 10"},
      {"root ::= [z-a]", "line 1, column 11"},
      {"root ::= \"a\"{2,1}", "line 1, column 13"},
      {"root ::= \"a\"{x}", "line 1, column 14"},
      {"root ::= \"a\"{1", "line 1, column 15"},
      {"root \"a\"", "line 1, column 6"},
      {"root ::= <think>", "needs a tokenizer"},
      {"root ::= \"\\uD800\"", "no character"},
      {"root ::= \"\xff\"", "UTF-8"},
  };
  for (const auto& [grammar, where] : cases) {
    const Error error = error_of(grammar);
    EXPECT_EQ(error.code, ErrorCode::malformed) << grammar;
    EXPECT_NE(error.message.find(where), std::string::npos) << grammar << ": " << error.message;
  }
  const Error missing = error_of("root ::= \"a\" lost\n");
  EXPECT_EQ(missing.code, ErrorCode::not_found);
  EXPECT_NE(missing.message.find("lost"), std::string::npos);
  EXPECT_EQ(error_of("").code, ErrorCode::not_found);
}

}  // namespace
}  // namespace rill::grammar
