#include "rill/chat_template.h"

#include <gtest/gtest.h>

#include <thread>

namespace rill {
namespace {

std::string render(const std::string& source) {
  const auto compiled = ChatTemplate::compile(source);
  if (!compiled) return compiled.error().message;
  const auto result = compiled->render({});
  return result ? result->text : result.error().message;
}

Error render_error(const std::string& source, std::vector<Message> messages, const RenderOptions& options = {}) {
  const auto result = ChatTemplate::compile(source).value().render(messages, options);
  return result ? Error{ErrorCode::internal, "rendered: " + result->text} : result.error();
}

// C08
TEST(ChatTemplateTest, DashedCommentsTakeWhiteSpace) {
  EXPECT_EQ(render("a\n{#- c -#}\nb"), "ab");
  EXPECT_EQ(render("a\n{# c #}\nb"), "a\nb");
}

// C15
TEST(ChatTemplateTest, LoopsHaveTheirOwnScope) {
  EXPECT_EQ(render("{% set ns = namespace(n=0) %}{% for m in [1, 2] %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}"), "2");
  EXPECT_EQ(render("{% set n = 0 %}{% for m in [1, 2] %}{% set n = n + 1 %}{% endfor %}{{ n }}"), "0");
}

// C11
TEST(ChatTemplateTest, ARefusalIsAnErrorInTheTemplatesOwnWords) {
  const auto compiled = ChatTemplate::compile(
      "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
      "{{ raise_exception('Roles must alternate!') }}{% endif %}{{ m.content }};{% endfor %}").value();
  const Message user{.role = "user", .content = "hi"}, assistant{.role = "assistant", .content = "yo"};
  const auto refused = compiled.render(std::vector{user, user});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::template_refused);
  EXPECT_EQ(refused.error().message, "Roles must alternate!");
  EXPECT_EQ(compiled.render(std::vector{user, assistant}).value().text, "hi;yo;");
}

TEST(ChatTemplateTest, MistakesNameTheirPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"a\nb {{ 1 + }}", "line 2 column 10: expected an expression, got '}}'"},
      {"\n\n{% nosuch %}", "line 3 column 4: unknown tag 'nosuch'"},
      {"{{ x|urlize }}", "line 1 column 6: the filter 'urlize' is unsupported"},
      {"{{ x is odder }}", "line 1 column 9: the test 'odder' is unsupported"},
      {"{% include 'x' %}", "line 1 column 4: the tag 'include' is unsupported"},
      {"{% if x %}\n", "line 1 column 11: the block that starts here has no endif"},
      {"x\n{{ 'abc }}", "line 2 column 4: the string is not closed"},
      {"x\n{{ nope.a }}", "line 2: 'nope' is undefined"},
      {"{{ 1 }}\n{{ 1 / 0 }}", "line 2: division by zero"},
  };
  for (const auto& [source, message] : cases) EXPECT_EQ(render(source), std::string("chat template, ") + message);
  EXPECT_EQ(ChatTemplate::compile("\xFF").error().code, ErrorCode::malformed);
  EXPECT_EQ(ChatTemplate::compile("{{ x|urlize }}").error().code, ErrorCode::unsupported);
}

TEST(ChatTemplateTest, MessagesAreChecked) {
  Error error = render_error("", {{.role = "user"}, {.role = "alien"}});
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_EQ(error.message, "message 1 has the unknown role 'alien'");
  error = render_error("", {{.role = "assistant", .tool_calls = {{"", "f", "{\"a\": "}}}});
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_EQ(error.message, "message 0: arguments of the tool call 'f': JSON is malformed at byte 6");
  error = render_error("", {{.role = "user", .extra = {{"content", "again"}}}});
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
}

TEST(ChatTemplateTest, ContentNeedNotBeUtf8) {
  const Message message{.role = "user", .content = "a\xFF\xC3"};
  const auto compiled = ChatTemplate::compile("{{ messages[0].content | trim }}{{ messages[0].content | length }}").value();
  EXPECT_EQ(compiled.render({&message, 1}).value().text, "a\xFF\xC3" "3");
}

TEST(ChatTemplateTest, NoClockMeansNoStrftime) {
  const auto compiled = ChatTemplate::compile("{{ strftime_now('%Y') if strftime_now is defined else 'none' }}").value();
  EXPECT_EQ(compiled.render({}).value().text, "none");
  RenderOptions options;
  options.clock = [] { std::tm now{}; now.tm_year = 130; return now; };
  EXPECT_EQ(compiled.render({}, options).value().text, "2030");
}

TEST(ChatTemplateTest, ThreadsShareATemplate) {
  const auto compiled = ChatTemplate::compile("{% for m in messages %}{{ m.content|upper }}{% endfor %}").value();
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      const Message message{.role = "user", .content = std::string(i + 1, 'x')};
      for (int k = 0; k < 50; ++k) results[i] = compiled.render({&message, 1}).value().text;
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i], std::string(i + 1, 'X'));
}

TEST(JsonTest, KeepsOrderAndNumbers) {
  const auto value =
      parse_json(R"({"b": [1, -2, 2.5, 1e2, 18446744073709551615, true, null, "\u00e9\ud83d\ude00"], "a": {}, "b": 7})").value();
  const JsonObject& object = *value.as_object();
  ASSERT_EQ(object.size(), 2u);
  EXPECT_EQ(object[0].name, "b");
  EXPECT_EQ(*object[0].value.as_integer(), 7);
  EXPECT_EQ(object[1].name, "a");
  const auto array = parse_json("[1, 2.5, 1e2, 18446744073709551615, \"\\u00e9\"]").value();
  EXPECT_EQ(*(*array.as_array())[0].as_integer(), 1);
  EXPECT_EQ(*(*array.as_array())[2].as_double(), 100.0);
  EXPECT_EQ(*(*array.as_array())[3].as_double(), 18446744073709551616.0);
  EXPECT_EQ(*(*array.as_array())[4].as_string(), "é");
}

TEST(JsonTest, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":}", "nan", "1 2", "\"\xFF\"", "\"\\ud800\"", "'a'"}) {
    EXPECT_EQ(parse_json(text).error().code, ErrorCode::malformed) << text;
  }
  const auto deep = parse_json(std::string(100000, '['));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, ErrorCode::limit_exceeded);
}

}  // namespace
}  // namespace rill
