#include "rill/grammar_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace rill {
namespace {

TEST(GrammarCache, FindsWhatHasTheSameTextAndOptions) {
  GrammarCache cache;
  const std::string schema = R"({"properties":{"b":{"type":"integer"},"a":{}}})";
  const Grammar first = cache.json_schema(schema).value();
  EXPECT_EQ(cache.json_schema(schema).value().digest(), first.digest());
  EXPECT_EQ(cache.use().found, 1u);
  EXPECT_EQ(cache.use().compiled, 1u);
  // Each of these is another grammar.
  (void)cache.json_schema(schema, {.property_order = PropertyOrder::alphabetical}).value();
  (void)cache.json_schema(schema, {.whitespace = JsonWhitespace::compact}).value();
  (void)cache.json_schema(schema, {.lenient = true}).value();
  (void)cache.json_schema(schema, {.strict_unknown = true}).value();
  (void)cache.json_schema(schema, {.documents = {{"http://a.example/", "{}"}}}).value();
  (void)cache.json_schema(schema, {.documents = {{"http://a.example/", "true"}}}).value();
  (void)cache.json_schema(schema, {.limits = {.max_states = 5'000}}).value();
  (void)cache.json_schema(schema + " ").value();
  EXPECT_EQ(cache.use().compiled, 9u);
  EXPECT_EQ(cache.use().grammars, 9u);
  EXPECT_EQ(cache.use().found, 1u);
}

TEST(GrammarCache, FrontEndsDoNotMix) {
  GrammarCache cache;
  const std::string text = "root ::= [a-z]+";
  EXPECT_TRUE(cache.gbnf(text).value().match("word").value().matches);
  EXPECT_FALSE(cache.regex(text).value().match("word").value().matches);
  EXPECT_TRUE(cache.regex("[a-z]+").value().match("word").value().matches);
  const std::string two = "root ::= \"a\"\nother ::= \"b\"";
  EXPECT_TRUE(cache.gbnf(two).value().match("a").value().matches);
  EXPECT_TRUE(cache.gbnf(two, {.start = "other"}).value().match("b").value().matches);
  EXPECT_EQ(cache.use().compiled, 5u);
}

TEST(GrammarCache, DropsWhatWasAskedForLeastRecently) {
  GrammarCache cache(2);
  (void)cache.regex("a").value();
  const Grammar kept = cache.regex("b").value();
  (void)cache.regex("a").value();
  (void)cache.regex("c").value();  // in place of b
  EXPECT_EQ(cache.use().grammars, 2u);
  (void)cache.regex("a").value();
  EXPECT_EQ(cache.use().found, 2u);
  EXPECT_TRUE(kept.match("b").value().matches);
  (void)cache.regex("b").value();
  EXPECT_EQ(cache.use().compiled, 4u);
  GrammarCache none(0);
  EXPECT_TRUE(none.regex("a").value().match("a").value().matches);
  EXPECT_EQ(none.use().grammars, 0u);
}

TEST(GrammarCache, KeepsNoErrors) {
  GrammarCache cache;
  EXPECT_EQ(cache.regex("(").error().code, ErrorCode::malformed);
  StopSource stop;
  stop.request_stop();
  std::string names;
  for (int i = 0; i < 2000; ++i) names += "name" + std::to_string(i) + "|";
  EXPECT_EQ(cache.regex(names, {.stop = stop.token()}).error().code, ErrorCode::cancelled);
  EXPECT_TRUE(cache.regex(names).has_value());
  EXPECT_EQ(cache.use().compiled, 1u);
}

TEST(GrammarCache, ThreadsGetTheSame) {
  GrammarCache cache(4);
  std::vector<std::thread> threads;
  std::vector<int> matches(4);
  for (std::size_t t = 0; t < matches.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        const std::string number = std::to_string((i * 7 + static_cast<int>(t)) % 6);
        if (cache.regex("x{" + number + "}!").value().match(std::string(static_cast<std::size_t>(number[0] - '0'), 'x') + "!").value().matches) {
          ++matches[t];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(matches, std::vector<int>(4, 60));
  EXPECT_EQ(cache.use().found + cache.use().compiled, 240u);
  EXPECT_LE(cache.use().grammars, 4u);
}

}  // namespace
}  // namespace rill
