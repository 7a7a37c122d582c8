// Compares every rendering of tests/golden/chat_*.json (written by make_chat_goldens.py with jinja2) byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <sstream>
#include <string>

#include "rill/chat_template.h"
#include "support/golden.h"

namespace rill {
namespace {

using Json = nlohmann::ordered_json;

std::string text_or(const Json& json, const char* key) { return json.value(key, std::string()); }

JsonValue value_of(const Json& json) { return parse_json(json.dump()).value(); }

JsonObject object_of(const Json& json) { return json.is_null() ? JsonObject() : *value_of(json).as_object(); }

// 2024-07-06 09:05:03, a Saturday: what the script's clock says.
std::tm clock_of_goldens() {
  std::tm now{};
  now.tm_year = 124;
  now.tm_mon = 6;
  now.tm_mday = 6;
  now.tm_hour = 9;
  now.tm_min = 5;
  now.tm_sec = 3;
  now.tm_wday = 6;
  now.tm_yday = 187;
  return now;
}

std::vector<Message> messages_of(const Json& conversation) {
  std::vector<Message> messages;
  for (const Json& entry : conversation["messages"]) {
    Message message{.role = text_or(entry, "role"), .content = text_or(entry, "content")};
    message.name = text_or(entry, "name");
    message.tool_call_id = text_or(entry, "tool_call_id");
    for (const Json& call : entry.value("tool_calls", Json::array())) {
      message.tool_calls.push_back({text_or(call, "id"), text_or(call, "name"), text_or(call, "arguments")});
    }
    message.extra = object_of(entry.value("extra", Json()));
    messages.push_back(std::move(message));
  }
  return messages;
}

// What jinja2 renders and rill refuses, saying so: `unsupported` with the construct's name, or a value out of range.

struct Outcome {
  std::string text;
  std::string error;  // compile, refused, render, or empty
  Error detail;
};

Outcome render(const std::string& source, const std::vector<Message>& messages, const RenderOptions& options) {
  const auto compiled = ChatTemplate::compile(source);
  if (!compiled) return {"", "compile", compiled.error()};
  const auto rendered = compiled->render(messages, options);
  if (rendered) return {rendered->text, "", {}};
  return {"", rendered.error().code == ErrorCode::template_refused ? "refused" : "render", rendered.error()};
}

// Empty if `outcome` is what `golden` says.
std::string mismatch(const Json& golden, const Outcome& outcome) {
  const std::string expected = text_or(golden, "error");
  if (expected.empty()) {
    if (!outcome.error.empty()) return "failed: " + outcome.detail.message;
    if (outcome.text == text_or(golden, "text")) return "";
    return "got      " + Json(outcome.text).dump() + "\n  expected " + golden["text"].dump();
  }
  const std::string why = " (" + text_or(golden, "why") + ")";
  if (outcome.error.empty()) return "did not fail" + why + ": " + Json(outcome.text).dump();
  // rill finds some mistakes when it compiles that jinja2 finds when it renders; never the other way round.
  if (expected == "compile" && outcome.error != "compile") return "compiled" + why + ": " + outcome.detail.message;
  if (expected == "refused" && (outcome.error != "refused" || outcome.detail.message != text_or(golden, "why"))) {
    return "refused otherwise" + why + ": " + outcome.detail.message;
  }
  return "";
}

// What jinja2 renders and rill lacks; it must say so.
constexpr const char* kUnsupported[] = {
    "{{ 'x'.encode() }}",
    "{{ 'x'.swapcase() }}",
    "{{ lipsum() }}",
    "{{ self }}",
    "{{ 1.5.real }}",
    "{{ 1.real }}",
    "{% for x in l recursive %}{{ x }}{% endfor %}",
    "{% block x %}{% endblock %}",
    "{% autoescape true %}{% endautoescape %}",
};

TEST(ChatGoldenTest, Snippets) {
  const Json golden = test::read_golden<Json>("chat_snippets.json");
  RenderOptions options;
  options.variables = object_of(golden["variables"]);
  options.clock = clock_of_goldens;
  for (const Json& snippet : golden["snippets"]) {
    const std::string source = text_or(snippet, "source");
    const Outcome outcome = render(source, {}, options);
    if (std::find(std::begin(kUnsupported), std::end(kUnsupported), source) != std::end(kUnsupported)) {
      EXPECT_EQ(outcome.detail.code, ErrorCode::unsupported) << "in " << source;
      continue;
    }
    EXPECT_EQ(mismatch(snippet, outcome), "") << "in " << source;
  }
}

TEST(ChatGoldenTest, Templates) {
  const Json golden = test::read_golden<Json>("chat_templates.json");
  for (const Json& entry : golden["cases"]) {
    const std::string name = text_or(entry, "template");
    const auto& conversations = golden["conversations"];
    const auto conversation = std::find_if(conversations.begin(), conversations.end(), [&](const Json& c) {
      return c["name"] == entry["conversation"];
    });
    RenderOptions options;
    options.add_generation_prompt = entry["generate"].get<bool>();
    options.bos_token = "<s>";
    options.eos_token = "</s>";
    options.clock = clock_of_goldens;
    options.variables = object_of(conversation->value("variables", Json()));
    if (conversation->value("tools", false)) options.tools = *value_of(golden["tools"]).as_array();
    const Outcome outcome = render(text_or(golden["templates"], name.c_str()), messages_of(*conversation), options);
    EXPECT_EQ(mismatch(entry, outcome), "") << "in " << name << " with " << entry["conversation"];
  }
}

}  // namespace
}  // namespace rill
