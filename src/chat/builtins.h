// Filters, tests, methods and global functions: one table entry each, all called the same way.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/value.h"

namespace rill::chat {

class Runtime;

struct Keyword {
  Text name;  // untrusted where a mapping was spread
  Value value;
};

// The arguments of one call as written.
struct Args {
  std::vector<Value> positional;
  std::vector<Keyword> named;
};

// Arguments matched to a builtin's parameters. A parameter that got none is undefined and not `given`.
class Params {
 public:
  bool given(std::size_t i) const noexcept { return given_[i]; }
  const Value& operator[](std::size_t i) const noexcept { return values_[i]; }
  const Args& all() const noexcept { return *args_; }

  bool flag(std::size_t i, bool otherwise = false) const noexcept { return given(i) ? truth(values_[i]) : otherwise; }
  std::int64_t integer(std::size_t i, std::int64_t otherwise) const;  // throws if it is no integer
  const Text& text(std::size_t i) const;                              // throws if it is no string

 private:
  friend Params bind(const struct Builtin& builtin, const Args& args);
  const Args* args_ = nullptr;
  std::array<Value, 4> values_;
  std::array<bool, 4> given_{};
};

using BuiltinFunction = Value (*)(Runtime& runtime, const Value& self, const Params& params);

struct Builtin {
  const char* name;
  BuiltinFunction call;
  std::array<const char*, 4> parameters{};
  std::size_t required = 0;
  bool variadic = false;  // takes any arguments, through Params::all()
};

// Throws malformed where Python raises TypeError.
Params bind(const Builtin& builtin, const Args& args);

const Builtin* find_filter(std::string_view name) noexcept;
const Builtin* find_test(std::string_view name) noexcept;
const Builtin* find_global(std::string_view name) noexcept;
const Builtin* find_string_method(std::string_view name) noexcept;
const Builtin* find_container_method(Kind kind, std::string_view name) noexcept;

std::span<const Builtin> string_filters() noexcept;
std::span<const Builtin> sequence_filters() noexcept;

// What `kind` has in Python but a template may not use (it would change the value), or rill lacks.
enum class Missing : std::uint8_t { no, unsafe, unsupported };
Missing missing_method(Kind kind, std::string_view name) noexcept;

// A callable in a template. For a builtin, `self` is what a method is bound to.
struct Function : Object {
  const Builtin* builtin = nullptr;
  Value self;
};

// Shared between files.
Value tojson(Runtime& runtime, const Value& self, const Params& params);
Value percent_format(Runtime& runtime, const Text& format, const Args& args);            // "..." % values
Value brace_format(Runtime& runtime, const Text& format, const Args& args);              // "...".format(values)
Value strftime_now(Runtime& runtime, const Value& self, const Params& params);
Value arithmetic(Runtime& runtime, Op op, const Value& left, const Value& right);
bool compare_values(Runtime& runtime, Op op, const Value& left, const Value& right);
Value slice_value(Runtime& runtime, const Value& object, const Value& start, const Value& stop, const Value& step);
Value escape_html(Heap& heap, const Text& text);

}  // namespace rill::chat
