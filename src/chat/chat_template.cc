#include "rill/chat_template.h"

#include <algorithm>

#include "base/utf8.h"
#include "chat/parser.h"
#include "chat/runtime.h"

namespace rill {
namespace {

using chat::Dict;
using chat::Heap;
using chat::Kind;
using chat::Runtime;
using chat::Value;

constexpr std::string_view kRoles[] = {"system", "user", "assistant", "tool", "developer"};
constexpr std::string_view kFields[] = {"role", "content", "name", "tool_calls", "tool_call_id"};

Result<void> check_limits(const ChatTemplateLimits& limits) {
  if (limits.nesting_depth < 1 || limits.nesting_depth > 250) {
    return make_error(ErrorCode::invalid_argument, "nesting_depth = {} is not in 1..250", limits.nesting_depth);
  }
  if (limits.recursion_depth < 1 || limits.recursion_depth > 1000) {
    return make_error(ErrorCode::invalid_argument, "recursion_depth = {} is not in 1..1000", limits.recursion_depth);
  }
  return {};
}

// Builds what the template sees of messages, tools and variables.
class Importer {
 public:
  Importer(Heap& heap, const RenderOptions& options) : heap_(heap), options_(options) {}

  Value import(const JsonValue& json, std::size_t depth = 0) {
    if (depth > 100) chat::fail(ErrorCode::limit_exceeded, "a JSON value is nested deeper than 100");
    if (const bool* value = json.as_bool()) return Value::of(*value, true);
    if (const std::int64_t* value = json.as_integer()) return Value::of(*value, true);
    if (const double* value = json.as_double()) return Value::of(*value, true);
    if (const std::string* value = json.as_string()) return heap_.string(*value, true);
    if (const JsonArray* array = json.as_array()) {
      std::vector<Value> items;
      for (const JsonValue& item : *array) items.push_back(import(item, depth + 1));
      return heap_.list(std::move(items), true);
    }
    if (const JsonObject* object = json.as_object()) {
      auto* dict = heap_.make<Dict>();
      heap_.budget().memory(object->size() * 2 * sizeof(Value));
      for (const JsonMember& member : *object) {
        dict->items.emplace_back(heap_.string(member.name, true), import(member.value, depth + 1));
      }
      return Value::of(Kind::dict, dict, true);
    }
    Value none = Value::none();
    none.untrusted = true;
    return none;
  }

  Value import(const Message& message, std::size_t index) {
    const bool listed = std::find(std::begin(kRoles), std::end(kRoles), message.role) != std::end(kRoles) ||
                        std::find(options_.extra_roles.begin(), options_.extra_roles.end(), message.role) !=
                            options_.extra_roles.end();
    if (!listed && !options_.any_role) {
      chat::fail(ErrorCode::invalid_argument, "message {} has the unknown role '{}'", index, message.role);
    }
    auto* dict = heap_.make<Dict>();
    add(*dict, "role", heap_.string(message.role, !listed));
    add(*dict, "content", heap_.string(message.content, true));
    if (!message.name.empty()) add(*dict, "name", heap_.string(message.name, true));
    if (!message.tool_calls.empty()) {
      std::vector<Value> calls;
      for (const ToolCall& call : message.tool_calls) calls.push_back(import(call, index));
      add(*dict, "tool_calls", heap_.list(std::move(calls), true));
    }
    if (!message.tool_call_id.empty()) add(*dict, "tool_call_id", heap_.string(message.tool_call_id, true));
    for (const JsonMember& member : message.extra) {
      if (std::find(std::begin(kFields), std::end(kFields), member.name) != std::end(kFields)) {
        chat::fail(ErrorCode::invalid_argument, "message {}: extra field '{}' is a field of its own", index,
                   member.name);
      }
      dict->items.emplace_back(heap_.string(member.name, true), import(member.value));
    }
    return Value::of(Kind::dict, dict, true);
  }

 private:
  void add(Dict& dict, std::string_view name, const Value& value) {
    dict.items.emplace_back(heap_.string(name), value);
  }

  Value import(const ToolCall& call, std::size_t index) {
    const auto arguments = parse_json(call.arguments);
    if (!arguments) {
      chat::fail(ErrorCode::invalid_argument, "message {}: arguments of the tool call '{}': {}", index, call.name,
                 arguments.error().message);
    }
    auto* function = heap_.make<Dict>();
    add(*function, "name", heap_.string(call.name, true));
    add(*function, "arguments", import(*arguments));
    auto* dict = heap_.make<Dict>();
    add(*dict, "type", heap_.string("function"));
    if (!call.id.empty()) add(*dict, "id", heap_.string(call.id, true));
    add(*dict, "function", Value::of(Kind::dict, function, true));
    return Value::of(Kind::dict, dict, true);
  }

  Heap& heap_;
  const RenderOptions& options_;
};

void define_variables(Runtime& runtime, std::span<const Message> messages, const RenderOptions& options) {
  Heap& heap = runtime.heap();
  Importer importer(heap, options);
  std::vector<Value> list;
  for (std::size_t i = 0; i < messages.size(); ++i) list.push_back(importer.import(messages[i], i));
  runtime.define("messages", heap.list(std::move(list), true));
  runtime.define("tools", options.tools.empty() ? Value::none() : importer.import(JsonValue(options.tools)));
  runtime.define("documents", Value::none());
  runtime.define("add_generation_prompt", Value::of(options.add_generation_prompt));
  if (!options.bos_token.empty()) runtime.define("bos_token", heap.string(options.bos_token));
  if (!options.eos_token.empty()) runtime.define("eos_token", heap.string(options.eos_token));
  for (const JsonMember& variable : options.variables) runtime.define(variable.name, importer.import(variable.value));
}

}  // namespace

Result<ChatTemplate> ChatTemplate::compile(std::string source, const ChatTemplateLimits& limits) {
  return guarded([&]() -> Result<ChatTemplate> {
    RILL_TRY(check_limits(limits));
    if (source.size() > limits.source_bytes) {
      return make_error(ErrorCode::limit_exceeded, "chat template: {} bytes exceed the limit source_bytes = {}",
                        source.size(), limits.source_bytes);
    }
    if (!utf8::is_valid(source)) return make_error(ErrorCode::malformed, "chat template: it is not UTF-8");
    auto program = std::make_shared<chat::Program>();
    program->source = chat::normalize_lines(source);
    program->limits = limits;
    chat::Parser(*program).parse();
    return ChatTemplate(std::move(program));
  });
}

Result<RenderedPrompt> ChatTemplate::render(std::span<const Message> messages, const RenderOptions& options) const {
  return guarded([&]() -> Result<RenderedPrompt> {
    chat::Budget budget(program_->limits);
    Runtime runtime(*program_, budget, options.clock);
    define_variables(runtime, messages, options);
    try {
      chat::Text text = runtime.render();
      return RenderedPrompt{std::move(text.bytes), std::move(text.untrusted)};
    } catch (const ErrorException& exception) {
      const Error& error = exception.error();
      if (error.code == ErrorCode::template_refused) return error;  // the template's own words, nothing added
      return make_error(error.code, "chat template, line {}: {}", runtime.line(), error.message);
    }
  });
}

const std::string& ChatTemplate::source() const noexcept { return program_->source; }

}  // namespace rill
