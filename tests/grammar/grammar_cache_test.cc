#include "rill/grammar_cache.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "grammar/compile.h"

namespace rill {
namespace {

// What users of one grammar share, masks among it.
const void* automaton_of(const Grammar& grammar) { return GrammarParts::compiled(grammar); }

TEST(GrammarCache, FindsWhatHasTheSameTextAndOptions) {
  GrammarCache cache;
  const std::string schema = R"({"properties":{"b":{"type":"integer"},"a":{}}})";
  const Grammar first = cache.json_schema(schema).value();
  EXPECT_EQ(automaton_of(cache.json_schema(schema).value()), automaton_of(first));
  EXPECT_NE(automaton_of(Grammar::json_schema(schema).value()), automaton_of(first));
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
  GrammarCache cache(6);
  std::mutex mutex;
  std::vector<Grammar> got;  // kept, so that no address comes twice
  std::vector<std::set<const void*>> by_number(6);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 60; ++i) {
        const std::size_t number = (i * 7 + t) % by_number.size();
        Grammar grammar = cache.regex("x{" + std::to_string(number) + "}!").value();
        EXPECT_TRUE(grammar.match(std::string(number, 'x') + "!").value().matches);
        const std::lock_guard lock(mutex);
        by_number[number].insert(automaton_of(grammar));
        got.push_back(std::move(grammar));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& automata : by_number) EXPECT_EQ(automata.size(), 1u);
  EXPECT_EQ(cache.use().found + cache.use().compiled, 240u);
  EXPECT_EQ(cache.use().grammars, 6u);
}

}  // namespace
}  // namespace rill
