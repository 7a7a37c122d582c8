// A parsed template: one flat array of nodes that refer to each other by index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rill/chat_template.h"

namespace rill::chat {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xFFFFFFFF;

enum class NodeKind : std::uint8_t {
  // Expressions. `kids` in the order given; kNoNode where a part is left out.
  none, boolean, integer, real, string,
  name,         // text
  list, tuple,  // items
  dict,         // key, value, key, value ...
  negate, positive, logical_not,  // operand
  binary,       // left, right; op
  logical_and, logical_or,        // left, right
  compare,      // first operand, then one a comparison; ops
  attribute,    // object; text
  item,         // object, key
  slice,        // object, start, stop, step
  call,         // callee, then arguments
  filter,       // input (kNoNode: the text of the enclosing block), then arguments; text
  test,         // input, then arguments; text
  conditional,  // condition, then, else
  // Statements.
  block,        // statements
  data,         // text
  output,       // expression
  if_else,      // condition, block, condition, block ..., else block or kNoNode
  for_loop,     // target, iterable, filter, body, else block
  set,          // target, expression
  set_block,    // target, filter, body
  member,       // assignment target: text is the namespace's name, names[0] the attribute
  macro,        // body, then the defaults of the last parameters; text is its name, names its parameters
  call_block,   // call, macro
  filter_block,  // filter, body
  with,         // body, target, expression, target, expression ...
  scope,        // body
  break_loop, continue_loop,
};

enum class Op : std::uint8_t {
  add, subtract, multiply, divide, floor_divide, modulo, power, concat,  // binary
  equal, not_equal, less, less_equal, greater, greater_equal, in, not_in,  // compare
};

struct Node {
  NodeKind kind = NodeKind::none;
  Op op = Op::add;
  bool spread_list = false;     // arguments end in *expression (before the keyword arguments' **expression)
  bool spread_dict = false;     // arguments end in **expression
  bool wants_varargs = false;   // a macro whose body reads varargs, kwargs, caller
  bool wants_kwargs = false;
  bool wants_caller = false;
  std::uint32_t line = 0;
  std::string text;
  std::int64_t integer = 0;     // also the value of a boolean
  double real = 0;
  std::vector<NodeId> kids;
  std::vector<Op> ops;
  std::vector<std::string> names;  // of keyword arguments: they are the last `names.size()` before the spreads
};

struct Program {
  std::string source;
  ChatTemplateLimits limits;
  std::vector<Node> nodes;
  NodeId root = kNoNode;
};

}  // namespace rill::chat
