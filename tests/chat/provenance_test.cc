// Which bytes of the output count as the caller's.
#include <gtest/gtest.h>

#include <string>

#include "rill/chat_template.h"
#include "support/golden.h"

namespace rill {
namespace {

using Json = nlohmann::ordered_json;

// The text with every untrusted range between { and }; both braces are absent from the texts used here.
std::string marked(const RenderedPrompt& prompt) {
  std::string result;
  std::size_t done = 0;
  for (const ByteRange& range : prompt.untrusted) {
    result += prompt.text.substr(done, range.begin - done) + '{' + prompt.text.substr(range.begin, range.end - range.begin) + '}';
    done = range.end;
  }
  return result + prompt.text.substr(done);
}

void expect_well_formed(const RenderedPrompt& prompt) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < prompt.untrusted.size(); ++i) {
    EXPECT_TRUE(i == 0 || prompt.untrusted[i].begin > end) << "ascending, disjoint and not adjacent";
    EXPECT_LT(prompt.untrusted[i].begin, prompt.untrusted[i].end);
    end = prompt.untrusted[i].end;
  }
  EXPECT_LE(end, prompt.text.size());
}

std::string render(const std::string& source, const RenderOptions& options) {
  const auto compiled = ChatTemplate::compile(source);
  if (!compiled) return compiled.error().message;
  const Message message{.role = "user", .content = "Ab c"};
  const auto prompt = compiled->render({&message, 1}, options);
  if (!prompt) return prompt.error().message;
  expect_well_formed(*prompt);
  return marked(*prompt);
}

TEST(ProvenanceTest, NamesOfSpreadMappingsAndPunctuationOfJson) {
  RenderOptions options;
  options.variables = {{"d", JsonObject{{"k", "v"}}}, {"s", ";"}};
  for (const char* source : {"{{ dict(**d) | list | join }}", "{{ dict({}, **d) | list | join }}", "{{ dict({}, **d).keys() | join }}",
                             "{% macro f() %}{{ kwargs | list | join }}{% endmacro %}{{ f(**d) }}"}) {
    EXPECT_EQ(render(source, options), "{k}") << source;
  }
  EXPECT_EQ(render("{{ dict(own=1, **d) | list | join('-') }}", options), "own-{k}");
  EXPECT_EQ(render("{{ [1, 2] | tojson(separators=(s, ':')) }}", options), "[1{;}2]");
  EXPECT_EQ(render("{{ [1] | tojson(indent=s) }}", options), "[\n{;}1\n]");
}

TEST(ProvenanceTest, EveryOperationKeepsTrack) {
  RenderOptions options;
  options.bos_token = "<s>";
  options.variables = {{"n", 42}, {"f", 2.5}, {"b", true}, {"l", JsonArray{"x", "y"}}, {"d", JsonObject{{"k", "v"}, {"n", 7}}},
                       {"q", "a\"b"}, {"h", "<i>"}, {"w", "  w  "}, {"lines", "p\nq"}, {"five", " 5 "}, {"e", ""}};
  const std::pair<const char*, const char*> cases[] = {
      {"[[ m ]]", "[[ m ]]"},
      {"<[ m ]>", "<[ m ]>"},
      {"@m@", "{Ab c}"},
      {"<@m@>", "<{Ab c}>"},
      {"@bos_token@", "<s>"},
      {"@'<' + m + '>'@", "<{Ab c}>"},
      {"@'<' ~ m ~ 1 ~ '>'@", "<{Ab c}1>"},
      {"@m + m@", "{Ab cAb c}"},
      {"@m * 2@", "{Ab cAb c}"},
      {"@'x' * 2@", "xx"},
      {"@m ~ n@", "{Ab c42}"},
      {"@'<' ~ n ~ '>'@", "<{42}>"},
      {"@n + 1@", "{43}"},
      {"@-n@", "{-42}"},
      {"@f@", "{2.5}"},
      {"@b@", "{True}"},
      {"@not b@", "False"},
      {"@n > 3@", "True"},
      {"@m == 'Ab c'@", "True"},
      {"@m|length@", "4"},
      {"@loop_index|default('d')@", "d"},
      {"@m[0]@", "{A}"},
      {"@m[-1]@", "{c}"},
      {"@('<' + m + '>')[0:2]@", "<{A}"},
      {"@('<' + m + '>')[::-1]@", ">{c bA}<"},
      {"@('<' + m + '>')[::2]@", "<{bc}"},
      {"@m.upper()@", "{AB C}"},
      {"@('<a' + m + 'a>')|upper@", "<A{AB C}A>"},
      {"@('z' + m)|capitalize@", "Z{ab c}"},
      {"@('z' + m)|title@", "Z{ab C}"},
      {"@(' ' + w + ' ').strip()@", "{w}"},
      {"@('<' + w).strip()@", "<{  w}"},
      {"@('<' + m).lstrip('<')@", "{Ab c}"},
      {"@m.replace('b', '!')@", "{A}!{ c}"},
      {"@'a-b'.replace('-', m)@", "a{Ab c}b"},
      {"@('<' + m + '>').replace('c>', '')@", "<{Ab }"},
      {"@m|replace(' ', '')@", "{Abc}"},
      {"@m.split(' ')[1]@", "{c}"},
      {"@'a b'.split(' ')@", "['a', 'b']"},
      {"@m.split()@", "{['Ab', 'c']}"},
      {"@m.split() | join('-')@", "{Ab}-{c}"},
      {"@['x', m] | join(', ')@", "x, {Ab c}"},
      {"@m.join(['1', '2'])@", "1{Ab c}2"},
      {"@m | list@", "{['A', 'b', ' ', 'c']}"},
      {"@m | reverse@", "{c bA}"},
      {"@m | first@", "{A}"},
      {"@['x', m] | last@", "{Ab c}"},
      {"@[1, m]@", "[1, {'Ab c'}]"},
      {"@(m,)@", "({'Ab c'},)"},
      {"@l@", "{['x', 'y']}"},
      {"@l[0]@", "{x}"},
      {"@l | map('upper') | join@", "{XY}"},
      {"@l + ['z']@", "{['x', 'y', }'z'{]}"},
      {"@[m, q] | sort | first@", "{a\"b}"},
      {"@m | tojson@", "{\"Ab c\"}"},
      {"@q | tojson@", "{\"a\\\"b\"}"},
      {"@[1, m] | tojson@", "[1, {\"Ab c\"}]"},
      {"@l | tojson@", "{[\"x\", \"y\"]}"},
      {"@l | tojson(indent=1)@", "{[\n \"x\",\n \"y\"\n]}"},
      {"@d.items() | list@", "{[('k', 'v'), ('n', 7)]}"},
      {"@d.k ~ d['n'] ~ d.get('k')@", "{v7v}"},
      {"@d | first@", "{k}"},
      {"@'%s=%d' % (m, n)@", "{Ab c}={42}"},
      {"@m % ()@", "{Ab c}"},
      {"@'%5s' % q@", "  {a\"b}"},
      {"@'<.>[]'.format(1)@", "<.>[]"},
      {"@h | e@", "{&lt;i&gt;}"},
      {"@('<' + h) | e@", "&lt;{&lt;i&gt;}"},
      {"@lines | indent(2)@", "{p}\n  {q}"},
      {"@('a b ' + m) | truncate(7, true, '~', 0)@", "a b {Ab}~"},
      {"@five | int@", "{5}"},
      {"@'5' | int@", "5"},
      {"@five | float@", "{5.0}"},
      {"@n | abs@", "{42}"},
      {"@f | round@", "{2.0}"},
      {"@[n, 1] | sum@", "{43}"},
      {"@[m, 'zz'] | max@", "zz"},
      {"@m if b else 'x'@", "{Ab c}"},
      {"@e or 'x'@", "x"},
      {"@e | default(m, true)@", "{Ab c}"},
      {"@m | string | trim@", "{Ab c}"},
      {"@m.partition(' ')@", "{('Ab', ' ', 'c')}"},
      {"@m.removeprefix('A')@", "{b c}"},
      {"@m.center(6, '-')@", "-{Ab c}-"},
      {"@'7'.zfill(3)@", "007"},
      {"@namespace(x=m).x@", "{Ab c}"},
      {"@cycler(m, 'z').next()@", "{Ab c}"},
      {"@messages[0].role@", "user"},
      {"@undefined_thing@", ""},
  };
  for (const auto& [pattern, expected] : cases) {
    std::string source = pattern;
    for (bool open = true; source.find('@') != std::string::npos; open = !open) {
      source.replace(source.find('@'), 1, open ? "{{ " : " }}");
    }
    EXPECT_EQ(render("{% set m = messages[0].content %}" + source, options), expected) << source;
  }
}

TEST(ProvenanceTest, StatementsKeepTrack) {
  const RenderOptions options;
  const std::string set = "{% set m = messages[0].content %}";
  const std::pair<const char*, const char*> cases[] = {
      {"{% set x %}<{{ m }}>{% endset %}{{ x }}", "<{Ab c}>"},
      {"{% set x | upper %}<{{ m }}>{% endset %}{{ x }}", "<{AB C}>"},
      {"{% filter upper %}a{{ m }}{% endfilter %}", "A{AB C}"},
      {"{% macro f(x, y='d') %}({{ x }}{{ y }}){% endmacro %}{{ f(m) }}{{ f('t', m) }}", "({Ab c}d)(t{Ab c})"},
      {"{% macro f() %}<{{ caller(m) }}>{% endmacro %}{% call(a) f() %}-{{ a }}-{% endcall %}", "<-{Ab c}->"},
      {"{% for c in m %}{{ c }}.{% endfor %}", "{A}.{b}.{ }.{c}."},
      {"{% for c in m.split() %}{{ loop.index }}{{ c }}{{ loop.nextitem }}{% endfor %}", "1{Abc}2{c}"},
      {"{% set ns = namespace(s='') %}{% for c in ['x', m] %}{% set ns.s = ns.s + c %}{% endfor %}{{ ns.s }}", "x{Ab c}"},
      {"{% set a, b = m.split() %}{{ b }}{{ 'a' }}", "{c}a"},
      {"{% with x = m %}{{ x }}{% endwith %}", "{Ab c}"},
      {"{% generation %}{{ m }}!{% endgeneration %}", "{Ab c}!"},
      {"{% set f = {'k': m} %}{{ f.k }}{% for k, v in f.items() %}{{ k }}{{ v }}{% endfor %}", "{Ab c}k{Ab c}"},
  };
  for (const auto& [source, expected] : cases) EXPECT_EQ(render(set + source, options), expected) << source;
}

TEST(ProvenanceTest, FieldsOfMessagesAndTools) {
  const Message message{.role = "assistant", .content = "c", .name = "n", .tool_calls = {{"i", "f", "{\"a\": 1}"}},
                        .tool_call_id = "t", .extra = {{"x", "y"}}};
  const auto text = [&](const std::string& source, RenderOptions options = {}) {
    return marked(ChatTemplate::compile(source).value().render({&message, 1}, options).value());
  };
  EXPECT_EQ(text("{% set m = messages[0] %}<{{ m.name }}|{{ m.tool_call_id }}|{{ m.x }}|{{ m.tool_calls[0].id }}|"
                 "{{ m.tool_calls[0].function.name }}|{{ m.tool_calls[0].function.arguments.a }}>"),
            "<{n}|{t}|{y}|{i}|{f}|{1}>");
  EXPECT_EQ(text("{% for k in messages[0].tool_calls[0].function.arguments %}<{{ k }}>{% endfor %}"), "<{a}>");
  RenderOptions tools;
  tools.tools = {JsonObject{{"name", "g"}}};
  EXPECT_EQ(text("<{{ tools[0].name }}{% for k in tools[0] %}{{ k }}{% endfor %}>", tools), "<{gname}>");

  const auto compiled = ChatTemplate::compile("<|{{ messages[0].role }}|>").value();
  const Message other{.role = "narrator", .content = ""};
  EXPECT_EQ(marked(compiled.render({&message, 1}).value()), "<|assistant|>");
  EXPECT_EQ(marked(compiled.render({&other, 1}, {.extra_roles = {"narrator"}}).value()), "<|narrator|>");
  EXPECT_EQ(marked(compiled.render({&other, 1}, {.any_role = true}).value()), "<|{narrator}|>");
}

// Over all templates and conversations of the goldens: with contents made of letters that no template has, every one of
// these letters in the output is untrusted, and what the template itself writes stays as it was.
TEST(ProvenanceTest, ContentIsNeverTrusted) {
  const auto golden = test::read_golden<Json>("chat_templates.json");
  std::size_t rendered = 0, found = 0;
  for (const auto& [name, source] : golden["templates"].items()) {
    const auto compiled = ChatTemplate::compile(source.get<std::string>()).value();
    for (const Json& conversation : golden["conversations"]) {
      std::vector<Message> messages;
      for (const Json& entry : conversation["messages"]) {
        Message message{.role = entry["role"].get<std::string>(), .content = "§¤ §\n<|im_end|>¤"};
        message.name = "§name";
        if (entry.contains("tool_calls")) message.tool_calls = {{"¤¤¤¤¤§§§§", "§fn", "{\"§k\": [\"¤v\", 1]}"}};
        if (entry.contains("tool_call_id")) message.tool_call_id = "¤¤¤¤¤§§§§";
        messages.push_back(std::move(message));
      }
      RenderOptions options{.bos_token = "<s>", .eos_token = "</s>"};
      if (conversation.value("tools", false)) {
        options.tools = {JsonObject{{"type", "function"}, {"function", JsonObject{{"name", "§t"}, {"description", "¤ <|im_end|>"},
            {"parameters", JsonObject{{"type", "object"}, {"properties", JsonObject{{"§p", JsonObject{{"type", "¤"}}}}}}}}}}};
      }
      const auto prompt = compiled.render(messages, options);
      if (!prompt) continue;  // refused for its roles
      ++rendered;
      expect_well_formed(*prompt);
      std::string trusted;
      std::size_t done = 0;
      for (const ByteRange& range : prompt->untrusted) {
        trusted += prompt->text.substr(done, range.begin - done) + "\n";
        done = range.end;
        found += prompt->text.substr(range.begin, range.end - range.begin).find('\xA4') != std::string::npos ? 1 : 0;
      }
      trusted += prompt->text.substr(done);
      for (const char* letter : {"§", "¤"}) EXPECT_EQ(trusted.find(letter), std::string::npos) << name << "\n" << trusted;
    }
  }
  EXPECT_GT(rendered, 150u);
  EXPECT_GT(found, 300u);
}

}  // namespace
}  // namespace rill
