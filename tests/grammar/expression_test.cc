#include "grammar/expression.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace rill::grammar {
namespace {

constexpr Rule kA{1}, kB{2};

// Calls in shared parts, beside parts without any.
Expr example(Expressions& e, Expr a, Expr b) {
  const Expr shared = e.concat(e.literal("x"), a);
  return e.either(std::vector{e.concat(shared, b), e.repeat(e.either(shared, e.literal("yz")), 2, 5), a, e.literal("w")});
}

std::set<Expr> all_of(const Expressions& e, Expr root) {
  std::set<Expr> found{root};
  std::vector<Expr> todo{root};
  while (!todo.empty()) {
    const Expr expr = todo.back();
    todo.pop_back();
    e.each_operand(expr, [&](Expr operand) {
      if (found.insert(operand).second) todo.push_back(operand);
    });
  }
  return found;
}

TEST(ExpressionsTest, CountsEachExpressionOnceAndNoMoreThanAsked) {
  Expressions e(1000);
  const Expr root = example(e, e.call(kA), e.call(kB));
  const std::size_t size = all_of(e, root).size();
  ASSERT_GT(size, 8u);
  for (std::size_t most = 0; most <= size + 1; ++most) EXPECT_EQ(e.count(root, most), std::min(most, size));
}

TEST(ExpressionsTest, FindsCallsAndInHowManyPlaces) {
  Expressions e(1000);
  const Expr root = example(e, e.call(kA), e.call(kB));
  std::map<std::size_t, std::size_t> expected, found;
  for (const Expr expr : all_of(e, root)) {
    e.each_operand(expr, [&](Expr operand) {
      if (e.node(operand).kind == Kind::call) ++expected[e.node(operand).first];
    });
  }
  e.each_call(root, [&](std::size_t rule, std::size_t times) { found[rule] += times; });
  EXPECT_EQ(found, expected);
  found.clear();
  e.each_call(e.call(kB), [&](std::size_t rule, std::size_t times) { found[rule] += times; });
  EXPECT_EQ(found, (std::map<std::size_t, std::size_t>{{2, 1}}));
  e.each_call(e.literal("xyz"), [&](std::size_t, std::size_t) { ADD_FAILURE(); });
}

TEST(ExpressionsTest, ReplacesCalls) {
  Expressions e(1000);
  const Expr a = e.call(kA), b = e.call(kB), token = e.token({7, false});
  const Expr replaced = e.replace_calls(example(e, a, e.concat(token, b)), [&](std::size_t rule) {
    return rule == 1 ? e.concat(b, e.literal("v")) : a;  // what is put in is not looked at again
  });
  EXPECT_EQ(replaced, example(e, e.concat(b, e.literal("v")), e.concat(token, a)));
}

}  // namespace
}  // namespace rill::grammar
