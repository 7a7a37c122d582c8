#include "rill/chat_template.h"

#include <gtest/gtest.h>

namespace rill {
namespace {

std::string render(const std::string& source) {
  const auto compiled = ChatTemplate::compile(source);
  if (!compiled) return "COMPILE " + compiled.error().message;
  const auto result = compiled->render({});
  return result ? result->text : "RENDER " + result.error().message;
}

// C15
TEST(ChatTemplateTest, LoopScopes) {
  EXPECT_EQ(render("{% set ns = namespace(n=0) %}{% for m in [1, 2] %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}"), "2");
  EXPECT_EQ(render("{% set n = 0 %}{% for m in [1, 2] %}{% set n = n + 1 %}{% endfor %}{{ n }}"), "0");
}

// C08
TEST(ChatTemplateTest, Comments) {
  EXPECT_EQ(render("a\n{#- c -#}\nb"), "ab");
  EXPECT_EQ(render("a\n{# c #}\nb"), "a\nb");
}

}  // namespace
}  // namespace rill
