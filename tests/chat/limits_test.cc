// Hostile templates: every limit is reached by counting, named in the error, and far from the stack's end.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <string>

#include "rill/chat_template.h"

namespace rill {
namespace {

std::string repeat(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

Error run(const std::string& source, const ChatTemplateLimits& limits = {}) {
  const auto compiled = ChatTemplate::compile(source, limits);
  if (!compiled) return compiled.error();
  const Message message{.role = "user", .content = std::string(1000, 'x')};
  const auto rendered = compiled->render({&message, 1});
  return rendered ? Error{ErrorCode::internal, "it rendered"} : rendered.error();
}

void expect_limit(const std::string& source, const std::string& name,
                  const ChatTemplateLimits& limits = {}) {
  const Error error = run(source, limits);
  EXPECT_EQ(error.code, ErrorCode::limit_exceeded) << source.substr(0, 80) << ": " << error.message;
  EXPECT_NE(error.message.find(name), std::string::npos) << error.message;
}

// Runs `body` on a thread with a stack of 512 KiB, or of 8 MiB under a sanitizer, whose frames are several times larger.
void on_small_stack(std::function<void()> body) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::size_t kStack = 8 << 20;
#else
  constexpr std::size_t kStack = 512 << 10;
#endif
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  pthread_t thread;
  const auto entry = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, entry, &body), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// C04. That 16 MiB are enough to run into the other limit shows that memory stays below.
TEST(ChatLimitsTest, LongTextsReadAgainAndAgain) {
  for (const char* use : {"s.isalpha()", "s.islower()", "s is lower", "s.strip('a')", "s.lstrip('a')", "s | int", "s | float",
                          "s | wordcount", "s.count('a' * 50000 ~ 'b')", "('a' * 50000 ~ 'b') in s", "s.split('a' * 50000 ~ 'b')",
                          "s.partition('a' * 50000 ~ 'b')", "s.replace('a' * 50000 ~ 'b', '')", "s.rfind('b' ~ 'a' * 50000)"}) {
    SCOPED_TRACE(use);
    expect_limit("{% set s = 'a' * 1000000 %}{% for i in range(1000) %}{% if " + std::string(use) + " %}{% endif %}{% endfor %}",
                 "steps =", {});
  }
}

TEST(ChatLimitsTest, GiantLoops) {
  const ChatTemplateLimits limits{.memory_bytes = 16 << 20};
  expect_limit("{% for k in range(900000000) %}.{% endfor %}", "range_items =", limits);
  expect_limit("{% for i in range(100000) %}{% for j in range(100000) %}.{% endfor %}{% endfor %}", "steps =", limits);
}

// C06
TEST(ChatLimitsTest, DeepNesting) {
  on_small_stack([] {
    for (const char* open : {"(", "[", "{1:", "-", "not ", "1 if 1 else ", "f(", "x[", "(1)+(", "f(a="}) {
      expect_limit("{{ " + repeat(open, 20000), "nesting_depth =");
      expect_limit("{{ " + repeat(open, 20000), "nesting_depth =", {.nesting_depth = 250});
    }
    for (const char* open : {"{% if true %}", "{% for a in b %}", "{% macro m() %}", "{% with %}", "{% filter upper %}",
                             "{% set x %}", "{% call f() %}", "{% generation %}", "{% if 1 %}{% else %}"}) {
      expect_limit(repeat(open, 20000), "nesting_depth =", {.nesting_depth = 250});
    }
    expect_limit("{% set " + repeat("(", 20000), "nesting_depth =", {.nesting_depth = 250});
  });
}

TEST(ChatLimitsTest, LongChainsAreNotDeep) {
  on_small_stack([] {
    const auto text = [](const std::string& source) { return ChatTemplate::compile(source).value().render({}).value().text; };
    EXPECT_EQ(text("{{ 1" + repeat(" + 1", 20000) + " }}"), "20001");
    EXPECT_EQ(text("{{ 0" + repeat(" or 0", 20000) + " }}"), "0");
    EXPECT_EQ(text("{{ ''" + repeat(" ~ 'a'", 2000) + " }}"), repeat("a", 2000));
    EXPECT_EQ(text("{% if 0 %}" + repeat("{% elif 0 %}", 20000) + "{% else %}x{% endif %}"), "x");
    EXPECT_EQ(text(repeat("{# c #}", 20000) + "y"), "y");
  });
}

TEST(ChatLimitsTest, DeepRecursion) {
  on_small_stack([] {
    const std::string macro = "{% macro m(x) %}{{ m([x]) }}{% endmacro %}{{ m(1) }}";
    const std::string deep = "{% set ns = namespace(x=[]) %}{% for i in range(90000) %}{% set ns.x = [ns.x] %}{% endfor %}";
    const std::string cycle = "{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns }}";
    for (const ChatTemplateLimits& limits : {ChatTemplateLimits{}, ChatTemplateLimits{.recursion_depth = 1000}}) {
      expect_limit(macro, "recursion_depth =", limits);
      expect_limit("{{ x" + repeat(".x", 20000) + " }}", "recursion_depth =", limits);
      expect_limit("{{ x" + repeat("|trim", 20000) + " }}", "recursion_depth =", limits);
      for (const char* use : {"{{ ns.x }}", "{{ ns.x|tojson }}", "{{ ns.x == [[ns.x]] or ns.x < [ns.x] }}"}) {
        expect_limit(deep + use, "recursion_depth =", limits);
      }
      expect_limit(cycle, "recursion_depth =", limits);
    }
    EXPECT_TRUE(ChatTemplate::compile(deep).value().render({}));  // freed without recursion
  });
}

TEST(ChatLimitsTest, WorkAndMemory) {
  const Error error = run(std::string(2 << 20, ' '));
  EXPECT_EQ(error.code, ErrorCode::limit_exceeded);
  EXPECT_NE(error.message.find("source_bytes = 1048576"), std::string::npos) << error.message;

  const ChatTemplateLimits limits{.output_bytes = 1 << 20, .memory_bytes = 16 << 20};
  expect_limit("{% for i in range(10000) %}{{ messages[0].content }}{% endfor %}", "output_bytes =", limits);
  expect_limit("{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
               "memory_bytes =", limits);
  expect_limit("{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
               "memory_bytes =", limits);
  expect_limit("{{ ('x' * 100000) | replace('x', 'y' * 100000) | length }}", "memory_bytes =", limits);
  expect_limit("{{ ('x' * 100000) | replace('', 'y' * 100000) | length }}", "memory_bytes =", limits);
  expect_limit("{{ range(100000) | join('y' * 100000) | length }}", "memory_bytes =", limits);
  expect_limit("{{ ('\\n' * 100000) | indent('y' * 100000, blank=true) | length }}", "memory_bytes =", limits);
  expect_limit("{{ '%9999999d' % 1 }}", "the width of a format exceeds 1000000", limits);
  expect_limit("{{ '{:9999999}'.format(1) }}", "the width of a format exceeds 1000000", limits);
  expect_limit("{{ '{:.99999f}'.format(1.5) }}", "the precision of a format exceeds 500", limits);
  expect_limit("{{ 'x' * 9999999999 }}", "steps =", limits);
  expect_limit("{{ 'x'.center(9999999999) }}", "steps =", limits);
  expect_limit("{{ 'x'.zfill(9999999999) }}", "memory_bytes =", limits);
  expect_limit("{{ [1] | batch(9999999999, 'x') | list }}", "steps =", limits);
  expect_limit("{{ [1] | slice(9999999999) | list }}", "memory_bytes =", limits);
  expect_limit("{{ 'x' | indent(9999999999) }}", "memory_bytes =", limits);
  expect_limit(
      "{% macro m() %}{% for i in range(100000) %}{% endfor %}{% endmacro %}{{ range(100000) | map('string') | list | length }}" +
          repeat("{{ m() }}", 100),
      "steps =", limits);
}

TEST(ChatLimitsTest, LimitsOutOfRangeAreRefused) {
  for (const ChatTemplateLimits& limits :
       {ChatTemplateLimits{.nesting_depth = 0}, ChatTemplateLimits{.nesting_depth = 251},
        ChatTemplateLimits{.recursion_depth = 0}, ChatTemplateLimits{.recursion_depth = 1001}}) {
    EXPECT_EQ(run("x", limits).code, ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace rill
