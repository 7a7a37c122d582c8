// A model that calls functions of this program: its calls are parsed, answered, and told to it.
//
//   tools MODEL.gguf QUESTION [--must-call]
//
// The grammar leaves the model free to reason until it writes <tool_call>; from there on it can only write a call of a function
// that exists, with arguments of its schema. With --must-call the first answer is a call and nothing else.
#include <rill/rill.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Tool {
  std::string name, description;
  std::string parameters;  // JSON schema of its arguments
  std::function<std::string(const rill::JsonValue& arguments)> run;
};

// The schema has made sure that it is there.
const rill::JsonValue& member(const rill::JsonValue& object, std::string_view name) {
  for (const auto& member : *object.as_object()) {
    if (member.name == name) return member.value;
  }
  throw std::runtime_error("no member " + std::string(name));
}

double number(const rill::JsonValue& value) {
  return value.as_integer() != nullptr ? static_cast<double>(*value.as_integer()) : *value.as_double();
}

std::string calculate(const rill::JsonValue& arguments) {
  const std::string& operation = *member(arguments, "operation").as_string();
  const double a = number(member(arguments, "a")), b = number(member(arguments, "b"));
  const double result = operation == "add" ? a + b : operation == "subtract" ? a - b : operation == "multiply" ? a * b : a / b;
  if (!std::isfinite(result)) return R"({"error":"not a number"})";
  std::ostringstream text;
  text << R"({"result":)" << std::setprecision(15) << result << '}';
  return text.str();
}

std::string clock(const rill::JsonValue& arguments) {
  const auto there = std::chrono::system_clock::now() + std::chrono::hours(*member(arguments, "utc_offset").as_integer());
  const auto day = std::chrono::floor<std::chrono::days>(there);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::minutes>(there - day));
  std::ostringstream text;
  text << R"({"time":")" << std::setfill('0') << std::setw(2) << time.hours().count() << ':' << std::setw(2)
       << time.minutes().count() << R"("})";
  return text.str();
}

const std::vector<Tool> kTools = {
    {"calculate", "Does arithmetic with two numbers",
     R"({"type":"object","properties":{"operation":{"enum":["add","subtract","multiply","divide"]},"a":{"type":"number"},)"
     R"("b":{"type":"number"}},"required":["operation","a","b"],"additionalProperties":false})",
     calculate},
    {"clock", "Tells the time of day",
     R"({"type":"object","properties":{"utc_offset":{"type":"integer","minimum":-12,"maximum":14}},"required":["utc_offset"],)"
     R"("additionalProperties":false})",
     clock},
};

constexpr std::string_view kBegin = "<tool_call>", kEnd = "</tool_call>";

// Some vocabularies have the tags as tokens that no text stands for.
rill::grammar::Tag tag(const rill::Tokenizer& tokenizer, std::string_view text) {
  const auto token = tokenizer.find(text);
  if (token && tokenizer.is_control(*token)) return *token;
  return std::string(text);
}

rill::Grammar answers(const rill::Tokenizer& tokenizer, bool must_call) {
  std::string calls;
  for (const Tool& tool : kTools) {
    calls += (calls.empty() ? "" : ",") +
             (R"({"type":"object","properties":{"name":{"const":")" + tool.name + R"("},"arguments":)") + tool.parameters +
             R"(},"required":["name","arguments"],"additionalProperties":false})";
  }
  const rill::Grammar line = rill::grammar::literal("\n").value();
  const rill::Grammar call = rill::Grammar::json_schema(R"({"anyOf":[)" + calls + "]}").value();
  const rill::Grammar parts[] = {line, call, line};
  const rill::grammar::TaggedStructure structure{tag(tokenizer, kBegin), rill::grammar::sequence(parts).value(),
                                                 tag(tokenizer, kEnd)};
  if (must_call)
    return rill::grammar::tagged({.structures = {structure}, .least_calls = 1, .most_calls = 1, .free_text = false}).value();
  return rill::grammar::tagged({.structures = {structure}}).value();
}

// What stands between the tags, in their order.
std::vector<std::string> calls_in(std::string_view text) {
  std::vector<std::string> calls;
  for (auto begin = text.find(kBegin); begin != text.npos; begin = text.find(kBegin, begin)) {
    begin += kBegin.size();
    const auto end = text.find(kEnd, begin);
    calls.emplace_back(text.substr(begin, end - begin));
  }
  return calls;
}

std::string answer_call(const std::string& call) {
  const rill::JsonValue value = rill::parse_json(call).value();
  for (const Tool& tool : kTools) {
    if (tool.name == *member(value, "name").as_string()) return tool.run(member(value, "arguments"));
  }
  throw std::runtime_error("no function of that name");  // which the grammar rules out
}

// As chat templates want them.
std::string definitions() {
  std::string text;
  for (const Tool& tool : kTools) {
    text += (text.empty() ? "" : ",") + (R"({"type":"function","function":{"name":")" + tool.name + R"(","description":")") +
            tool.description + R"(","parameters":)" + tool.parameters + "}}";
  }
  return "[" + text + "]";
}

rill::Conversation start(const std::shared_ptr<const rill::Model>& model) {
  const bool template_knows_tools = model->chat_template().value()->source().find("tools") != std::string::npos;
  rill::ConversationOptions options;
  if (template_knows_tools) options.render.tools = *rill::parse_json(definitions()).value().as_array();
  auto conversation = rill::Conversation::create(rill::Session::create(model).value(), options).value();
  if (!template_knows_tools) {
    conversation.add(
        {.role = "system",
         .content = "You can call these functions:\n<tools>" + definitions() +
                    "</tools>\nA call looks like this:\n<tool_call>\n{\"name\": NAME, \"arguments\": {...}}\n</tool_call>\n"
                    "You are then told what it returned."});
  }
  return conversation;
}

int run(const char* model_path, const char* question, bool must_call) {
  constexpr int kMostRounds = 4;
  const auto model = rill::Model::load(model_path).value();
  auto conversation = start(model);
  conversation.add({.role = "user", .content = question});
  for (int round = 0; round < kMostRounds; ++round) {
    auto answer = conversation.respond({.max_tokens = 150, .sampling = rill::presets::tool_call(),
                                        .grammar = answers(model->tokenizer(), must_call && round == 0),
                                        .show_special = true}).value();
    while (auto chunk = answer.next()) std::cout << chunk->text << std::flush;
    std::cout << '\n';
    const auto calls = calls_in(answer.result().value().text);
    if (calls.empty()) return 0;
    for (const std::string& call : calls) {
      const std::string returned = answer_call(call);
      std::cout << "[returned " << returned << "]\n";
      conversation.add({.role = "tool", .content = returned});
    }
  }
  std::cerr << "still calling functions after " << kMostRounds << " answers\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool must_call = argc == 4 && std::string_view(argv[3]) == "--must-call";
    if (argc == 3 || must_call) return run(argv[1], argv[2], must_call);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  std::cerr << "usage: tools MODEL.gguf QUESTION [--must-call]\n";
  return 2;
}
