// Every small grammar against the enumeration of its language.
#include <gtest/gtest.h>

#include "grammar/enumerate.h"
#include "grammar/language.h"

namespace rill::grammar {
namespace {

// Compares what `matcher` says of all texts that begin as it stands, and of what may follow. Viability is known for
// sure where the enumeration reaches far enough beyond it.
bool agrees(TextMatcher& matcher, const Texts& texts, std::size_t length, std::uint64_t text) {
  if (matcher.complete() != texts.holds(length, text)) return false;
  if (length == Texts::kLongest) return true;
  for (const std::uint64_t letter : {0u, 1u}) {
    const std::uint64_t next = text << 1 | letter;
    const bool alive = matcher.push(letter == 0 ? "a" : "b");
    if (texts.begins(length + 1, next) && !alive) return false;
    if (alive && length + 1 <= 3 && !texts.begins(length + 1, next)) return false;
    if (alive) {
      const bool good = agrees(matcher, texts, length + 1, next);
      matcher.pop(1);
      if (!good) return false;
    }
  }
  return true;
}

void check(const std::string& grammar, const Texts& texts) {
  for (const bool simplified : {false, true}) {
    Rules rules(10'000);
    ASSERT_TRUE(parse_gbnf(grammar, "root", nullptr, rules)) << grammar;
    if (simplified) simplify(rules);
    if (texts.of == Texts().of) {
      EXPECT_THROW(Language{std::move(rules)}, ErrorException) << grammar;
      continue;
    }
    const Language language(std::move(rules));
    TextMatcher matcher = language.matcher();
    EXPECT_TRUE(agrees(matcher, texts, 0, 0)) << grammar << (simplified ? " (simplified)" : "");
  }
}

TEST(Exhaustive, OneRule) {
  const auto trees = all_trees("abeA", 5);
  for (const auto& of_size : trees) {
    for (const Tree& tree : of_size) check("root ::= " + tree.gbnf(), language_of(tree, nullptr));
  }
}

TEST(Exhaustive, TwoRules) {
  const auto trees = all_trees("abeAB", 4);
  for (std::size_t first = 1; first <= 4; ++first) {
    for (std::size_t second = 1; first + second <= 5; ++second) {
      for (const Tree& a : trees[first]) {
        for (const Tree& b : trees[second]) {
          check("root ::= " + a.gbnf() + "\nother ::= " + b.gbnf(), language_of(a, &b));
        }
      }
    }
  }
}

Expr expression_of(Expressions& e, const Tree& tree) {
  switch (tree.kind) {
    case 'a': return e.literal("a");
    case 'b': return e.literal("b");
    case 'e': return Expr::epsilon;
    case '*': return e.repeat(expression_of(e, *tree.first), 0);
    case '?': return e.optional(expression_of(e, *tree.first));
    case '#': return e.repeat(expression_of(e, *tree.first), 2, 3);
    case '!': return e.complement(expression_of(e, *tree.first));
    case '.': return e.concat(expression_of(e, *tree.first), expression_of(e, *tree.second));
    case '&': return e.both(expression_of(e, *tree.first), expression_of(e, *tree.second));
    default: return e.either(expression_of(e, *tree.first), expression_of(e, *tree.second));
  }
}

std::size_t counters(const Tree& tree) {
  return (tree.kind == '#' ? 1 : 0) + (tree.first ? counters(*tree.first) : 0) + (tree.second ? counters(*tree.second) : 0);
}

// Intersection, complement and counters; no dead end among their states.
TEST(Exhaustive, Expressions) {
  const auto trees = all_trees("abe", 5, "*?#!", ".|&");
  std::size_t checked = 0;
  for (const auto& of_size : trees) {
    for (const Tree& tree : of_size) {
      if (counters(tree) > 1) continue;  // texts longer than what is enumerated
      const Texts texts = tree.texts({}, {});
      Rules rules(20'000);
      Expressions& e = rules.expressions;
      const Expr letters = e.repeat(e.either(e.literal("a"), e.literal("b")), 0);
      rules.start = rules.add("root", e.both(letters, expression_of(e, tree)));
      if (texts.of == Texts().of) {
        EXPECT_THROW(Language{std::move(rules)}, ErrorException);
        continue;
      }
      const Language language(std::move(rules));
      TextMatcher matcher = language.matcher();
      ASSERT_TRUE(agrees(matcher, texts, 0, 0)) << "tree " << checked;
      ++checked;
    }
  }
  EXPECT_GT(checked, 3'000u);
}

}  // namespace
}  // namespace rill::grammar
