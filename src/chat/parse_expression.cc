#include <algorithm>
#include <optional>
#include <span>

#include "chat/builtins.h"
#include "chat/parser.h"

namespace rill::chat {
namespace {

struct BinaryOp {
  std::string_view text;
  Op op;
  int level = 0;  // of the binary ones: a higher level binds tighter
};
// All of them group to the left, ** too.
constexpr BinaryOp kBinary[] = {{"+", Op::add, 1},      {"-", Op::subtract, 1}, {"~", Op::concat, 2},
                                {"*", Op::multiply, 3}, {"/", Op::divide, 3},   {"//", Op::floor_divide, 3},
                                {"%", Op::modulo, 3},   {"**", Op::power, 4}};
constexpr BinaryOp kCompare[] = {{"==", Op::equal},      {"!=", Op::not_equal}, {"<", Op::less},
                                 {"<=", Op::less_equal}, {">", Op::greater},    {">=", Op::greater_equal}};

const BinaryOp* find_op(std::span<const BinaryOp> table, std::string_view text) noexcept {
  const auto found =
      std::find_if(table.begin(), table.end(), [text](const BinaryOp& entry) { return entry.text == text; });
  return found != table.end() ? &*found : nullptr;
}

}  // namespace

NodeId Parser::parse_expression(bool conditional) {
  const Depth depth(*this);
  return conditional ? parse_conditional() : parse_or();
}

// An expression, or a tuple if commas follow. `end_name` ends it like a closing mark does.
NodeId Parser::parse_tuple(bool conditional, bool in_parentheses, std::string_view end_name) {
  const std::uint32_t at_line = line();
  std::vector<NodeId> items;
  bool is_tuple = false;
  for (;;) {
    const bool at_end = at(LexemeKind::print_end) || at(LexemeKind::block_end) || at_op(")") ||
                        (!end_name.empty() && at_name(end_name));
    if (at_end) break;
    items.push_back(parse_expression(conditional));
    if (!skip_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return items.front();
  if (!is_tuple && !in_parentheses) error(format("expected an expression, got {}", describe()));
  return add(NodeKind::tuple, at_line, std::move(items));
}

NodeId Parser::parse_conditional() {
  const std::uint32_t at_line = line();
  NodeId value = parse_or();
  while (skip_name("if")) {
    const NodeId condition = parse_or();
    NodeId otherwise = kNoNode;
    if (skip_name("else")) {
      const Depth depth(*this);
      otherwise = parse_conditional();
    }
    value = add(NodeKind::conditional, at_line, {condition, value, otherwise});
  }
  return value;
}

NodeId Parser::parse_or() { return parse_logical("or", NodeKind::logical_or, &Parser::parse_and); }
NodeId Parser::parse_and() { return parse_logical("and", NodeKind::logical_and, &Parser::parse_not); }

NodeId Parser::parse_logical(std::string_view name, NodeKind kind, NodeId (Parser::*parse_operand)()) {
  const std::uint32_t at_line = line();
  NodeId left = (this->*parse_operand)();
  while (skip_name(name)) {
    const NodeId right = (this->*parse_operand)();
    left = add(kind, at_line, {left, right});
  }
  return left;
}

NodeId Parser::parse_not() {
  if (!at_name("not")) return parse_compare();
  const Depth depth(*this);
  const std::uint32_t at_line = line();
  advance();
  const NodeId operand = parse_not();
  return add(NodeKind::logical_not, at_line, {operand});
}

// The comparison at the current token, which is consumed.
std::optional<Op> Parser::skip_comparison() {
  if (skip_name("in")) return Op::in;
  if (at_name("not") && peek().kind == LexemeKind::name && peek().text == "in") {
    advance();
    advance();
    return Op::not_in;
  }
  const BinaryOp* found = at(LexemeKind::op) ? find_op(kCompare, current_.text) : nullptr;
  if (found == nullptr) return std::nullopt;
  advance();
  return found->op;
}

NodeId Parser::parse_compare() {
  const std::uint32_t at_line = line();
  std::vector<NodeId> operands{parse_binary(1)};
  std::vector<Op> ops;
  while (const auto op = skip_comparison()) {
    ops.push_back(*op);
    operands.push_back(parse_binary(1));
  }
  if (ops.empty()) return operands.front();
  const NodeId node = add(NodeKind::compare, at_line, std::move(operands));
  program_.nodes[node].ops = std::move(ops);
  return node;
}

// Operators of at least `level`.
NodeId Parser::parse_binary(int level) {
  const std::uint32_t at_line = line();
  NodeId left = parse_unary(true);
  for (;;) {
    const BinaryOp* found = at(LexemeKind::op) ? find_op(kBinary, current_.text) : nullptr;
    if (found == nullptr || found->level < level) return left;
    advance();
    const NodeId right = parse_binary(found->level + 1);
    left = add(NodeKind::binary, at_line, {left, right});
    program_.nodes[left].op = found->op;
  }
}

NodeId Parser::parse_unary(bool with_filter) {
  const std::uint32_t at_line = line();
  NodeId node;
  if (at_op("-") || at_op("+")) {
    const Depth depth(*this);
    const bool negate = advance().text == "-";
    const NodeId operand = parse_unary(false);
    node = add(negate ? NodeKind::negate : NodeKind::positive, at_line, {operand});
  } else {
    node = parse_primary();
  }
  return parse_postfix(node, with_filter);
}

NodeId Parser::parse_primary() {
  if (at_op("(")) {
    advance();
    const NodeId inner = parse_tuple(true, true);
    expect_op(")");
    return inner;
  }
  if (at_op("[")) return parse_list();
  if (at_op("{")) return parse_dict();
  return parse_atom();
}

NodeId Parser::parse_atom() {
  Node node;
  node.line = line();
  switch (current_.kind) {
    case LexemeKind::string:
      node.kind = NodeKind::string;
      while (at(LexemeKind::string)) node.text += advance().text;
      break;
    case LexemeKind::integer:
      node.kind = NodeKind::integer;
      node.integer = advance().integer;
      break;
    case LexemeKind::real:
      node.kind = NodeKind::real;
      node.real = advance().real;
      break;
    case LexemeKind::name:
      node.text = advance().text;
      if (node.text == "none" || node.text == "None") break;
      if (node.text == "true" || node.text == "True" || node.text == "false" || node.text == "False") {
        node.kind = NodeKind::boolean;
        node.integer = node.text[0] == 't' || node.text[0] == 'T';
        break;
      }
      node.kind = NodeKind::name;
      for (MacroUse& use : macros_) {
        use.varargs = use.varargs || node.text == "varargs";
        use.kwargs = use.kwargs || node.text == "kwargs";
        use.caller = use.caller || node.text == "caller";
      }
      break;
    default: error(format("expected an expression, got {}", describe()));
  }
  return add(std::move(node));
}

NodeId Parser::parse_list() {
  const std::uint32_t at_line = line();
  expect_op("[");
  std::vector<NodeId> items;
  while (!at_op("]")) {
    items.push_back(parse_expression());
    if (!skip_op(",")) break;
  }
  expect_op("]");
  return add(NodeKind::list, at_line, std::move(items));
}

NodeId Parser::parse_dict() {
  const std::uint32_t at_line = line();
  expect_op("{");
  std::vector<NodeId> items;
  while (!at_op("}")) {
    items.push_back(parse_expression());
    expect_op(":");
    items.push_back(parse_expression());
    if (!skip_op(",")) break;
  }
  expect_op("}");
  return add(NodeKind::dict, at_line, std::move(items));
}

NodeId Parser::parse_postfix(NodeId node, bool with_filter) {
  for (;;) {
    if (at_op(".") || at_op("[")) {
      node = parse_subscript(node);
    } else if (at_op("(")) {
      node = parse_call(node);
    } else {
      break;
    }
  }
  while (with_filter) {
    if (at_op("|")) {
      node = parse_filter_chain(node);
    } else if (at_name("is")) {
      node = parse_test(node);
    } else if (at_op("(")) {
      node = parse_call(node);
    } else {
      break;
    }
  }
  return node;
}

NodeId Parser::parse_call(NodeId callee) {
  Node call;
  call.kind = NodeKind::call;
  call.line = line();
  call.kids.push_back(callee);
  parse_arguments(call);
  return add(std::move(call));
}

NodeId Parser::parse_subscript(NodeId node) {
  const std::uint32_t at_line = line();
  if (skip_op(".")) {
    if (at(LexemeKind::name)) return add(NodeKind::attribute, at_line, {node}, advance().text);
    if (!at(LexemeKind::integer)) error(format("expected a name or a number, got {}", describe()));
    const NodeId key = parse_primary();
    return add(NodeKind::item, at_line, {node, key});
  }
  expect_op("[");
  const NodeId result = parse_subscribed(node);
  expect_op("]");
  return result;
}

NodeId Parser::parse_subscribed(NodeId object) {
  const std::uint32_t at_line = line();
  std::vector<NodeId> parts{object, kNoNode, kNoNode, kNoNode};
  if (!at_op(":")) {
    const NodeId key = parse_expression();
    if (!at_op(":")) {
      std::vector<NodeId> keys{key};
      while (skip_op(",")) keys.push_back(parse_expression());
      return add(NodeKind::item, at_line,
                 {object, keys.size() == 1 ? key : add(NodeKind::tuple, at_line, std::move(keys))});
    }
    parts[1] = key;
  }
  expect_op(":");
  if (!at_op(":") && !at_op("]")) parts[2] = parse_expression();
  if (skip_op(":") && !at_op("]")) parts[3] = parse_expression();
  return add(NodeKind::slice, at_line, std::move(parts));
}

void Parser::parse_arguments(Node& call) {
  expect_op("(");
  std::vector<NodeId> named;
  NodeId list = kNoNode, dict = kNoNode;
  while (!at_op(")")) {
    const bool is_named = at(LexemeKind::name) && peek().kind == LexemeKind::op && peek().text == "=";
    if (dict != kNoNode || (list != kNoNode && !is_named && !at_op("**"))) error("no argument may stand here");
    if (skip_op("*")) {
      list = parse_expression();
    } else if (skip_op("**")) {
      dict = parse_expression();
    } else if (is_named) {
      call.names.push_back(advance().text);
      advance();
      named.push_back(parse_expression());
    } else {
      if (!named.empty()) error("a positional argument follows a keyword argument");
      call.kids.push_back(parse_expression());
    }
    if (!skip_op(",")) break;
  }
  expect_op(")");
  call.kids.insert(call.kids.end(), named.begin(), named.end());
  if (list != kNoNode) call.kids.push_back(list);
  if (dict != kNoNode) call.kids.push_back(dict);
  call.spread_list = list != kNoNode;
  call.spread_dict = dict != kNoNode;
}

// One filter; the bar before it is consumed.
NodeId Parser::parse_filter(NodeId input) {
  Node node;
  node.kind = NodeKind::filter;
  node.line = line();
  node.kids.push_back(input);
  const std::size_t offset = current_.offset;
  node.text = expect_name();
  if (find_filter(node.text) == nullptr) {
    error_at(offset, ErrorCode::unsupported, format("the filter '{}' is unsupported", node.text));
  }
  if (at_op("(")) parse_arguments(node);
  return add(std::move(node));
}

NodeId Parser::parse_filter_chain(NodeId input) {
  while (skip_op("|")) input = parse_filter(input);
  return input;
}

NodeId Parser::parse_test(NodeId input) {
  Node node;
  node.kind = NodeKind::test;
  node.line = line();
  node.kids.push_back(input);
  advance();
  const bool negated = skip_name("not");
  const std::size_t offset = current_.offset;
  node.text = expect_name();
  if (find_test(node.text) == nullptr) {
    error_at(offset, ErrorCode::unsupported, format("the test '{}' is unsupported", node.text));
  }
  const bool starts_argument = at(LexemeKind::string) || at(LexemeKind::integer) || at(LexemeKind::real) ||
                               at_op("[") || at_op("{") ||
                               (at(LexemeKind::name) && !at_name("else") && !at_name("or") && !at_name("and"));
  if (at_op("(")) {
    parse_arguments(node);
  } else if (starts_argument) {
    if (at_name("is")) error("tests cannot be chained");
    node.kids.push_back(parse_postfix(parse_primary(), false));
  }
  const std::uint32_t at_line = node.line;
  const NodeId test = add(std::move(node));
  return negated ? add(NodeKind::logical_not, at_line, {test}) : test;
}

}  // namespace rill::chat
