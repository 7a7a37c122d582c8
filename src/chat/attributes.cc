// object.name and object[key], in jinja2's order: an attribute first for the one, an element first for the other.
#include <algorithm>

#include "chat/runtime.h"
#include "chat/unicode.h"

namespace rill::chat {
namespace {

std::string_view message_of(const Value& undefined) noexcept {
  return undefined.object != nullptr ? undefined.view() : std::string_view("a value is undefined");
}

// Index of element `key` counted from the start, or npos if it is outside.
std::size_t element_index(std::int64_t key, std::size_t size) noexcept {
  const auto count = static_cast<std::int64_t>(size);
  if (key < -count || key >= count) return static_cast<std::size_t>(-1);
  return static_cast<std::size_t>(key < 0 ? key + count : key);
}

}  // namespace

void Runtime::undefined_error(const Value& undefined) { fail(ErrorCode::malformed, "{}", message_of(undefined)); }

Value Runtime::method(const Builtin& builtin, const Value& self) {
  auto* function = heap_.make<Function>();
  function->builtin = &builtin;
  function->self = self;
  return Value::of(Kind::function, function);
}

Value Runtime::no_attribute(const Value& object, std::string_view name) {
  const char* type = object.is(Kind::none) ? "None" : type_name(object);
  return heap_.undefined(format("'{}{}' has no attribute '{}'", type, object.is(Kind::none) ? "" : " object", name));
}

// The attribute proper, without a fall back to elements. Undefined without an object: there is none.
Value Runtime::object_attribute(const Value& object, std::string_view name) {
  if (name.starts_with("__")) {
    return heap_.undefined(format("access to attribute '{}' of '{}' object is unsafe", name, type_name(object)));
  }
  switch (object.kind) {
    case Kind::loop: return loop_attribute(*static_cast<Loop*>(object.object), name);
    case Kind::name_space: {
      const Value* found = find(budget(), object.dict(), name);
      return found != nullptr ? *found : Value();
    }
    case Kind::cycler:
      if (name == "current") {
        const auto& cycler = *static_cast<const Cycler*>(object.object);
        return cycler.items[cycler.position];
      }
      break;
    case Kind::macro:
      if (name == "name") return heap_.string(static_cast<const Macro*>(object.object)->node->text);
      break;
    default: break;
  }
  const Builtin* builtin =
      object.is(Kind::string) ? find_string_method(name) : find_container_method(object.kind, name);
  if (builtin != nullptr) return method(*builtin, object);
  switch (missing_method(object.kind, name)) {
    case Missing::no: return Value();
    case Missing::unsafe:
      return heap_.undefined(format("access to attribute '{}' of '{}' object is unsafe", name, type_name(object)));
    case Missing::unsupported: break;
  }
  fail(ErrorCode::unsupported, "the attribute '{}' of '{}' is unsupported", name, type_name(object));
}

Value Runtime::attribute(const Value& object, std::string_view name) {
  if (object.is(Kind::undefined)) undefined_error(object);
  const Value found = object_attribute(object, name);
  if (!found.is(Kind::undefined) || found.object != nullptr) return found;
  if (object.is(Kind::dict)) {
    if (const Value* element = find(budget(), object.dict(), name)) return *element;
  }
  return no_attribute(object, name);
}

Value Runtime::item(const Value& object, const Value& key) {
  if (object.is(Kind::undefined)) undefined_error(object);
  if (object.is(Kind::dict) && !key.is(Kind::list) && !key.is(Kind::dict)) {
    if (const Value* found = find(budget(), object.dict(), key)) return *found;
  } else if (key.is_integral() && (object.is_sequence() || object.is(Kind::range) || object.is(Kind::string))) {
    const std::size_t index = element_index(key.as_integer(), length(budget(), object));
    if (index != static_cast<std::size_t>(-1)) {
      if (object.is_sequence()) return object.sequence().items[index];
      if (object.is(Kind::range)) return range_item(object.range(), index);
      const std::size_t begin = byte_offset(object.view(), index);
      Builder builder(budget());
      builder.add(object.text(), begin, begin + decode(object.view(), begin).length);
      return heap_.string(builder.take());
    }
  }
  if (key.is(Kind::string)) {
    const Value found = object_attribute(object, key.view());
    if (!found.is(Kind::undefined) || found.object != nullptr) return found;
    return no_attribute(object, key.view());
  }
  return heap_.undefined(format("{} object has no such element", type_name(object)));
}

Value Runtime::path(const Value& object, const Value& attribute) {
  if (!attribute.is(Kind::string)) return item(object, attribute);
  Value value = object;
  const std::string_view parts = attribute.view();
  for (std::size_t begin = 0; begin <= parts.size();) {
    const std::size_t end = std::min(parts.find('.', begin), parts.size());
    const std::string_view part = parts.substr(begin, end - begin);
    const bool is_index = !part.empty() && part.size() < 18 &&
                          std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    std::int64_t index = 0;
    for (const char c : is_index ? part : std::string_view()) index = index * 10 + (c - '0');
    value = item(value, is_index ? Value::of(index) : heap_.string(part));
    begin = end + 1;
  }
  return value;
}

Value Runtime::loop_attribute(Loop& loop, std::string_view name) {
  if (name == "index") return Value::of(loop.index0 + 1);
  if (name == "index0") return Value::of(loop.index0);
  if (name == "first") return Value::of(loop.index0 == 0);
  if (name == "last") return Value::of(!loop.peek());
  if (name == "length") return Value::of(static_cast<std::int64_t>(loop.length()));
  if (name == "revindex") return Value::of(static_cast<std::int64_t>(loop.length()) - loop.index0);
  if (name == "revindex0") return Value::of(static_cast<std::int64_t>(loop.length()) - loop.index0 - 1);
  if (name == "depth") return Value::of(std::int64_t{1});
  if (name == "depth0") return Value::of(std::int64_t{0});
  if (name == "previtem") return loop.index0 == 0 ? heap_.undefined("there is no previous item") : loop.before;
  if (name == "nextitem") return loop.peek() ? loop.after : heap_.undefined("there is no next item");
  if (const Builtin* builtin = find_container_method(Kind::loop, name)) {
    return method(*builtin, Value::of(Kind::loop, &loop));
  }
  return Value();
}

}  // namespace rill::chat
