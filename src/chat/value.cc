#include "chat/value.h"

#include <algorithm>
#include <cmath>

#include "chat/unicode.h"

namespace rill::chat {

Value Heap::string(Text text) {
  auto* object = make<TextObject>();
  object->text = std::move(text);
  return Value::of(Kind::string, object);
}

Value Heap::string(std::string_view bytes, bool is_untrusted) {
  Builder builder(budget_);
  builder.add(bytes, is_untrusted);
  return string(builder.take());
}

Value Heap::sequence(Kind kind, std::vector<Value> items, bool is_untrusted, const char* name) {
  budget_.step(items.size() / 8);
  budget_.memory(items.size() * sizeof(Value));
  auto* object = make<Sequence>();
  object->items = std::move(items);
  object->name = name;
  return Value::of(kind, object, is_untrusted);
}

Value Heap::undefined(std::string_view message) {
  auto* object = make<TextObject>();
  object->text.append(message, false);
  return Value::of(Kind::undefined, object);
}

Cursor::Cursor(Heap& heap, const Value& value) : heap_(heap), value_(value) {
  if (!is_iterable(value)) fail(ErrorCode::malformed, "'{}' object is not iterable", type_name(value));
}

bool Cursor::next(Value& item) {
  heap_.budget().step();
  switch (value_.kind) {
    case Kind::string: {
      const Text& text = value_.text();
      if (position_ >= text.bytes.size()) return false;
      const std::size_t size = decode(text.bytes, position_).length;
      Builder builder(heap_.budget());
      builder.add(text, position_, position_ + size);
      item = heap_.string(builder.take());
      position_ += size;
      return true;
    }
    case Kind::list:
    case Kind::tuple:
    case Kind::view:
      if (position_ >= value_.sequence().items.size()) return false;
      item = value_.sequence().items[position_++];
      return true;
    case Kind::iterator: {
      Sequence& sequence = value_.sequence();
      if (sequence.position >= sequence.items.size()) return false;
      item = sequence.items[sequence.position++];
      return true;
    }
    case Kind::dict:
      if (position_ >= value_.dict().items.size()) return false;
      item = value_.dict().items[position_++].first;
      return true;
    case Kind::range:
      if (position_ >= value_.range().count) return false;
      item = range_item(value_.range(), position_++);
      return true;
    default: return false;  // undefined
  }
}

Value range_item(const Range& range, std::size_t index) noexcept {
  return Value::of(range.start + static_cast<std::int64_t>(index) * range.step);
}

const char* type_name(const Value& value) noexcept {
  switch (value.kind) {
    case Kind::undefined: return "Undefined";
    case Kind::none: return "NoneType";
    case Kind::boolean: return "bool";
    case Kind::integer: return "int";
    case Kind::real: return "float";
    case Kind::string: return "str";
    case Kind::list: return "list";
    case Kind::tuple: return "tuple";
    case Kind::dict: return "dict";
    case Kind::range: return "range";
    case Kind::view:
    case Kind::iterator: return value.sequence().name;
    case Kind::name_space: return "Namespace";
    case Kind::macro: return "Macro";
    case Kind::function: return "function";
    case Kind::loop: return "LoopContext";
    case Kind::cycler: return "Cycler";
    case Kind::joiner: return "Joiner";
  }
  return "object";
}

bool truth(const Value& value) noexcept {
  switch (value.kind) {
    case Kind::undefined:
    case Kind::none: return false;
    case Kind::boolean: return value.boolean;
    case Kind::integer: return value.integer != 0;
    case Kind::real: return value.real != 0;
    case Kind::string: return !value.view().empty();
    case Kind::list:
    case Kind::tuple:
    case Kind::view: return !value.sequence().items.empty();
    case Kind::dict: return !value.dict().items.empty();
    case Kind::range: return value.range().count != 0;
    default: return true;
  }
}

bool is_sized(const Value& value) noexcept {
  switch (value.kind) {
    case Kind::undefined:
    case Kind::string:
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
    case Kind::range:
    case Kind::view: return true;
    default: return false;
  }
}

bool is_iterable(const Value& value) noexcept { return is_sized(value) || value.is(Kind::iterator); }

std::size_t length(Budget& budget, const Value& value) {
  switch (value.kind) {
    case Kind::undefined: return 0;
    case Kind::string:
      budget.step(value.view().size() / 64);
      return count_code_points(value.view());
    case Kind::list:
    case Kind::tuple:
    case Kind::view: return value.sequence().items.size();
    case Kind::dict: return value.dict().items.size();
    case Kind::range: return value.range().count;
    default: fail(ErrorCode::malformed, "object of type '{}' has no len()", type_name(value));
  }
}

bool unordered(const Value& a, const Value& b) noexcept {
  return (a.is(Kind::real) && std::isnan(a.real)) || (b.is(Kind::real) && std::isnan(b.real));
}

namespace {

int compare_numbers(const Value& a, const Value& b) noexcept {
  if (a.is_integral() && b.is_integral()) {
    return a.as_integer() < b.as_integer() ? -1 : a.as_integer() > b.as_integer();
  }
  return a.as_real() < b.as_real() ? -1 : a.as_real() > b.as_real();
}

bool equal_items(Budget& budget, const Sequence& a, const Sequence& b) {
  if (a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!equal(budget, a.items[i], b.items[i])) return false;
  }
  return true;
}

bool equal_dicts(Budget& budget, const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const Value* other = find(budget, b, key);
    if (other == nullptr || !equal(budget, value, *other)) return false;
  }
  return true;
}

bool equal_ranges(const Range& a, const Range& b) noexcept {
  return a.count == b.count && (a.count == 0 || (a.start == b.start && (a.count == 1 || a.step == b.step)));
}

}  // namespace

bool equal(Budget& budget, const Value& a, const Value& b) {
  const Budget::Depth depth(budget);
  budget.step();
  if (a.is_number() && b.is_number()) return !unordered(a, b) && compare_numbers(a, b) == 0;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::undefined:
    case Kind::none: return true;
    case Kind::string:
      if (a.view().size() != b.view().size()) return false;
      budget.step(a.view().size() / 256);
      return a.view() == b.view();
    case Kind::list:
    case Kind::tuple: return equal_items(budget, a.sequence(), b.sequence());
    case Kind::dict: return equal_dicts(budget, a.dict(), b.dict());
    case Kind::range: return equal_ranges(a.range(), b.range());
    default: return a.object == b.object;
  }
}

int compare(Budget& budget, const Value& a, const Value& b) {
  const Budget::Depth depth(budget);
  budget.step();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.is(Kind::string) && b.is(Kind::string)) {
    budget.step(std::min(a.view().size(), b.view().size()) / 256);
    return a.view().compare(b.view());
  }
  if (a.is_sequence() && a.kind == b.kind) {
    const auto& x = a.sequence().items;
    const auto& y = b.sequence().items;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!equal(budget, x[i], y[i])) return compare(budget, x[i], y[i]);
    }
    return x.size() < y.size() ? -1 : x.size() > y.size();
  }
  fail(ErrorCode::malformed, "'{}' and '{}' cannot be ordered", type_name(a), type_name(b));
}

const Value* find(Budget& budget, const Dict& dict, std::string_view key) {
  budget.step(dict.items.size() / 8);
  for (const auto& [name, value] : dict.items) {
    if (name.is(Kind::string) && name.view() == key) return &value;
  }
  return nullptr;
}

const Value* find(Budget& budget, const Dict& dict, const Value& key) {
  if (key.is(Kind::string)) return find(budget, dict, key.view());
  for (const auto& [name, value] : dict.items) {
    if (equal(budget, name, key)) return &value;
  }
  return nullptr;
}

void insert(Heap& heap, Dict& dict, const Value& key, const Value& value) {
  const bool is_hashable = !key.is(Kind::list) && !key.is(Kind::dict);
  if (!is_hashable) fail(ErrorCode::malformed, "unhashable type: '{}'", type_name(key));
  if (const Value* found = find(heap.budget(), dict, key)) {
    *const_cast<Value*>(found) = value;
    return;
  }
  heap.budget().memory(2 * sizeof(Value));
  dict.items.emplace_back(key, value);
}

bool contains(Heap& heap, const Value& container, const Value& item) {
  Budget& budget = heap.budget();
  if (container.is(Kind::string)) {
    if (!item.is(Kind::string)) {
      fail(ErrorCode::malformed, "'in <string>' requires string as left operand, not {}", type_name(item));
    }
    budget.search(container.view().size(), item.view().size());
    return container.view().find(item.view()) != std::string_view::npos;
  }
  if (container.is(Kind::dict)) {
    if (item.is(Kind::list) || item.is(Kind::dict)) {
      fail(ErrorCode::malformed, "unhashable type: '{}'", type_name(item));
    }
    return find(budget, container.dict(), item) != nullptr;
  }
  Cursor cursor(heap, container);
  Value element;
  while (cursor.next(element)) {
    const bool same_object = element.object == item.object && element.kind == item.kind && element.kind > Kind::string;
    if (same_object || equal(budget, element, item)) return true;
  }
  return false;
}

}  // namespace rill::chat
