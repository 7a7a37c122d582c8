// Evaluates a Program. One Runtime renders once, on one thread; recursion is bounded by recursion_depth.
#pragma once

#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/ast.h"
#include "chat/builtins.h"
#include "chat/value.h"

namespace rill::chat {

// Names bound in one block. Assignments go to the innermost, look-ups outwards.
struct Scope : Object {
  Scope* parent = nullptr;
  bool captured = false;  // by a macro, so that it may not be reused
  std::vector<std::pair<std::string_view, Value>> names;

  const Value* find_local(std::string_view name) const noexcept;
  void set(std::string_view name, const Value& value);
};

struct Macro : Object {
  const Node* node = nullptr;
  Scope* scope = nullptr;  // of its definition
};

struct Cycler : Object {
  std::vector<Value> items;
  std::size_t position = 0;
};

struct Joiner : Object {
  Value separator;
  bool used = false;
};

struct Loop;

class Runtime {
 public:
  Runtime(const Program& program, Budget& budget, std::function<std::tm()> clock);

  Heap& heap() noexcept { return heap_; }
  Budget& budget() noexcept { return heap_.budget(); }
  const std::function<std::tm()>& clock() const noexcept { return clock_; }
  void define(std::string_view name, const Value& value);
  Text render();
  std::uint32_t line() const noexcept { return line_; }  // of what is being evaluated

  // For builtins.
  Value call(const Value& callee, const Args& args);
  Value call_builtin(const Builtin& builtin, const Value& self, const Args& args);
  Value attribute(const Value& object, std::string_view name);  // object.name
  Value item(const Value& object, const Value& key);            // object[key]
  Value path(const Value& object, const Value& attribute);      // the filters' attribute="a.b.0"
  std::vector<Value> items(const Value& iterable);              // list(iterable)
  [[noreturn]] void undefined_error(const Value& undefined);

 private:
  friend struct Loop;
  enum class Flow : std::uint8_t { normal, break_loop, continue_loop };
  class ScopeGuard;

  const Node& node(NodeId id) const noexcept { return program_.nodes[id]; }

  // Statements (runtime.cc).
  Flow run(NodeId id);
  Flow run_block(const Node& block);
  Flow run_if(const Node& node);
  Flow run_for(const Node& node);
  void run_set_block(const Node& node);
  void run_filter_block(const Node& node);
  void run_with(const Node& node);
  void run_call_block(const Node& node);
  void print(const Value& value);
  void assign(NodeId target, const Value& value);
  void assign_member(const Node& target, const Value& value);
  Value capture(NodeId body);  // runs it in a scope of its own and returns what it prints
  Value filter_captured(NodeId filter, const Value& text);
  Value make_macro(const Node& node);
  Scope* new_scope(Scope* parent);

  // Expressions (evaluate.cc).
  Value evaluate(NodeId id);
  Value evaluate_items(const Node& node);
  Value evaluate_dict(const Node& node);
  Value evaluate_chain(NodeId id);
  Value evaluate_compare(const Node& node);
  Value evaluate_slice(const Node& node);
  Value evaluate_call(const Node& node, const Value* caller);
  Value evaluate_filter(const Node& node);
  Value evaluate_test(const Node& node);
  Value evaluate_conditional(const Node& node);
  Value sign(const Node& node);
  Args arguments(const Node& node);
  Value call_macro(const Macro& macro, const Args& args);
  Value lookup(std::string_view name);
  Value object_attribute(const Value& object, std::string_view name);
  Value loop_attribute(Loop& loop, std::string_view name);
  Value method(const Builtin& builtin, const Value& self);
  Value no_attribute(const Value& object, std::string_view name);

  const Program& program_;
  Heap heap_;
  std::function<std::tm()> clock_;
  Scope* scope_ = nullptr;
  Builder* out_ = nullptr;
  Value captured_;  // what a filter without an input is applied to
  std::uint32_t line_ = 0;
};

// The `loop` variable: an iteration that can look ahead.
struct Loop : Object {
  Loop(Runtime& runtime, const Node& node, const Value& iterable);

  bool advance(Value& item);
  bool peek();              // whether there is a next item, in `after`
  std::size_t length();     // reads the rest ahead if the length is not known

  Runtime& runtime;
  const Node& node;         // for_loop
  Scope* scope;             // around the loop, for the filter
  Cursor cursor;
  Value iterable;
  std::int64_t index0 = -1;
  bool has_after = false;
  Value before, current, after;
  std::vector<Value> ahead;  // read by length()
  std::size_t ahead_position = 0;
  std::size_t known_length = static_cast<std::size_t>(-1);
  bool has_changed_value = false;
  std::vector<Value> changed_value;

 private:
  bool pull(Value& item);
};

}  // namespace rill::chat
