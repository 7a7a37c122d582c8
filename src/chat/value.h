// What a template computes with. A Value is two words; strings and containers live in a Heap until the render ends, so
// that neither cycles nor deep nesting matter when they are freed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/ast.h"
#include "chat/text.h"

namespace rill::chat {

enum class Kind : std::uint8_t {
  undefined, none, boolean, integer, real, string,
  list, tuple, dict, range,
  view,        // dict.keys() and the like: sized, not indexed
  iterator,    // of map, select, reversed and the like: read once
  name_space, macro, function, loop, cycler, joiner,
};

struct Object {
  virtual ~Object() = default;
};
struct TextObject;
struct Sequence;
struct Dict;
struct Range;

struct Value {
  Kind kind = Kind::undefined;
  bool untrusted = false;  // number or container: what it prints as derives from message fields
  bool markup = false;     // string: made by `escape` or `safe`
  union {
    bool boolean;
    std::int64_t integer;
    double real;
    Object* object;  // undefined: a TextObject that says what is, or nullptr
  };

  Value() noexcept : object(nullptr) {}
  static Value none() noexcept { return of(Kind::none, nullptr); }
  static Value of(bool value, bool is_untrusted = false) noexcept;
  static Value of(std::int64_t value, bool is_untrusted = false) noexcept;
  static Value of(double value, bool is_untrusted = false) noexcept;
  static Value of(Kind kind, Object* object, bool is_untrusted = false) noexcept;

  bool is(Kind k) const noexcept { return kind == k; }
  bool is_integral() const noexcept { return kind == Kind::boolean || kind == Kind::integer; }
  bool is_number() const noexcept { return is_integral() || kind == Kind::real; }
  bool is_sequence() const noexcept { return kind == Kind::list || kind == Kind::tuple; }
  std::int64_t as_integer() const noexcept { return kind == Kind::boolean ? boolean : integer; }
  double as_real() const noexcept { return kind == Kind::real ? real : static_cast<double>(as_integer()); }
  // Only for a value of the kind in question.
  const Text& text() const noexcept;
  std::string_view view() const noexcept { return text().bytes; }
  Sequence& sequence() const noexcept;
  Dict& dict() const noexcept;
  const Range& range() const noexcept;
};

struct TextObject : Object {
  Text text;
};
struct Sequence : Object {  // list, tuple, view, iterator
  std::vector<Value> items;
  std::size_t position = 0;  // of an iterator
  const char* name = "";     // of a view or iterator, e.g. dict_keys
};
struct Dict : Object {  // dict, name_space
  std::vector<std::pair<Value, Value>> items;
};
struct Range : Object {
  std::int64_t start = 0, stop = 0, step = 1;
  std::size_t count = 0;
};

inline Value Value::of(bool value, bool is_untrusted) noexcept {
  Value v = of(Kind::boolean, nullptr, is_untrusted);
  v.boolean = value;
  return v;
}
inline Value Value::of(std::int64_t value, bool is_untrusted) noexcept {
  Value v = of(Kind::integer, nullptr, is_untrusted);
  v.integer = value;
  return v;
}
inline Value Value::of(double value, bool is_untrusted) noexcept {
  Value v = of(Kind::real, nullptr, is_untrusted);
  v.real = value;
  return v;
}
inline Value Value::of(Kind kind, Object* object, bool is_untrusted) noexcept {
  Value v;
  v.kind = kind;
  v.untrusted = is_untrusted;
  v.object = object;
  return v;
}
inline const Text& Value::text() const noexcept { return static_cast<const TextObject*>(object)->text; }
inline Sequence& Value::sequence() const noexcept { return *static_cast<Sequence*>(object); }
inline Dict& Value::dict() const noexcept { return *static_cast<Dict*>(object); }
inline const Range& Value::range() const noexcept { return *static_cast<const Range*>(object); }

// Owns every object of one render and charges them to its budget.
class Heap {
 public:
  explicit Heap(Budget& budget) noexcept : budget_(budget) {}

  template <typename T>
  T* make() {
    budget_.memory(sizeof(T) + sizeof(void*));
    return adopt(std::make_unique<T>());
  }
  template <typename T>
  T* adopt(std::unique_ptr<T> object) {
    T* result = object.get();
    objects_.push_back(std::move(object));
    return result;
  }
  Value string(Text text);  // the bytes are charged by whoever built them
  Value string(std::string_view bytes, bool is_untrusted = false);
  Value sequence(Kind kind, std::vector<Value> items, bool is_untrusted = false, const char* name = "");
  Value list(std::vector<Value> items, bool is_untrusted = false) {
    return sequence(Kind::list, std::move(items), is_untrusted);
  }
  Value iterator(std::vector<Value> items, const char* name) {
    return sequence(Kind::iterator, std::move(items), false, name);
  }
  Value undefined(std::string_view message);
  Budget& budget() noexcept { return budget_; }

 private:
  Budget& budget_;
  std::vector<std::unique_ptr<Object>> objects_;
};

// Reads a value item by item, as Python's iter() does. Throws if it cannot be.
class Cursor {
 public:
  Cursor(Heap& heap, const Value& value);
  bool next(Value& item);

 private:
  Heap& heap_;
  Value value_;
  std::size_t position_ = 0;  // index, or byte of a string
};

const char* type_name(const Value& value) noexcept;  // Python's, e.g. "str"
bool truth(const Value& value) noexcept;
bool is_iterable(const Value& value) noexcept;
bool is_sized(const Value& value) noexcept;
std::size_t length(Budget& budget, const Value& value);           // Python's len()
bool equal(Budget& budget, const Value& a, const Value& b);       // ==
int compare(Budget& budget, const Value& a, const Value& b);      // < 0, 0, > 0; throws where Python's < does
bool unordered(const Value& a, const Value& b) noexcept;          // either is NaN
bool contains(Heap& heap, const Value& container, const Value& item);
const Value* find(Budget& budget, const Dict& dict, const Value& key);
const Value* find(Budget& budget, const Dict& dict, std::string_view key);
void insert(Heap& heap, Dict& dict, const Value& key, const Value& value);  // replaces; throws if the key cannot be one
Value range_item(const Range& range, std::size_t index) noexcept;

// str() and repr().
std::string format_real(double value);
void write_string(Builder& out, const Value& value);
void write_repr(Builder& out, const Value& value);
Value to_string(Heap& heap, const Value& value);  // a string as it is, anything else through str()

}  // namespace rill::chat
