#include "chat/parser.h"

#include <algorithm>

#include "chat/builtins.h"
#include "chat/text.h"

namespace rill::chat {

Parser::Depth::Depth(Parser& parser) : parser_(parser) {
  if (parser.depth_ >= parser.program_.limits.nesting_depth) {
    parser.error_at(parser.current_.offset, ErrorCode::limit_exceeded,
                    format("nested deeper than the limit nesting_depth = {}", parser.program_.limits.nesting_depth));
  }
  ++parser.depth_;
}

void Parser::error_at(std::size_t offset, ErrorCode code, std::string_view message) const {
  const auto position = lexer_.position(offset);
  fail(code, "chat template, line {} column {}: {}", position.line, position.column, message);
}

std::string Parser::describe() const {
  switch (current_.kind) {
    case LexemeKind::end: return "the end of the template";
    case LexemeKind::block_end: return "'%}'";
    case LexemeKind::print_end: return "'}}'";
    case LexemeKind::name:
    case LexemeKind::op: return format("'{}'", current_.text);
    default: return "a literal";
  }
}

const Lexeme& Parser::peek() {
  if (ahead_.empty()) ahead_.push_back(lexer_.next());
  return ahead_.back();
}

Lexeme Parser::advance() {
  Lexeme token = std::move(current_);
  if (ahead_.empty()) {
    current_ = lexer_.next();
  } else {
    current_ = std::move(ahead_.back());
    ahead_.clear();
  }
  return token;
}

bool Parser::skip_op(std::string_view op) {
  if (!at_op(op)) return false;
  advance();
  return true;
}

bool Parser::skip_name(std::string_view name) {
  if (!at_name(name)) return false;
  advance();
  return true;
}

void Parser::expect_op(std::string_view op) {
  if (!skip_op(op)) error(format("expected '{}', got {}", op, describe()));
}

void Parser::expect(LexemeKind kind, std::string_view what) {
  if (!at(kind)) error(format("expected {}, got {}", what, describe()));
  advance();
}

std::string Parser::expect_name() {
  if (!at(LexemeKind::name)) error(format("expected a name, got {}", describe()));
  return advance().text;
}

NodeId Parser::add(Node node) {
  program_.nodes.push_back(std::move(node));
  return static_cast<NodeId>(program_.nodes.size() - 1);
}

NodeId Parser::add(NodeKind kind, std::uint32_t line, std::vector<NodeId> kids, std::string text) {
  Node node;
  node.kind = kind;
  node.line = line;
  node.kids = std::move(kids);
  node.text = std::move(text);
  return add(std::move(node));
}

void Parser::parse() { program_.root = parse_block({}, nullptr); }

// The rest of the opening tag, then statements up to a tag that is named in `ends`.
NodeId Parser::parse_body(std::initializer_list<std::string_view> ends, std::string* end) {
  skip_op(":");
  expect(LexemeKind::block_end, "'%}'");
  return parse_block(ends, end);
}

NodeId Parser::parse_block(std::initializer_list<std::string_view> ends, std::string* end) {
  const Depth depth(*this);
  const std::size_t begin = current_.offset;
  Node block;
  block.kind = NodeKind::block;
  block.line = line();
  while (!at(LexemeKind::end)) {
    const std::uint32_t at_line = line();
    if (at(LexemeKind::data)) {
      block.kids.push_back(add(NodeKind::data, at_line, {}, advance().text));
    } else if (at(LexemeKind::print_begin)) {
      advance();
      const NodeId expression = parse_tuple(true, false);
      expect(LexemeKind::print_end, "'}}'");
      block.kids.push_back(add(NodeKind::output, at_line, {expression}));
    } else {
      expect(LexemeKind::block_begin, "a tag");
      if (at(LexemeKind::name) && std::find(ends.begin(), ends.end(), current_.text) != ends.end()) {
        std::string found = advance().text;
        if (end != nullptr) *end = std::move(found);
        return add(std::move(block));
      }
      block.kids.push_back(parse_statement());
      expect(LexemeKind::block_end, "'%}'");
    }
  }
  if (ends.size() != 0) {
    error_at(begin, ErrorCode::malformed, format("the block that starts here has no {}", *(ends.end() - 1)));
  }
  return add(std::move(block));
}

NodeId Parser::parse_statement() {
  if (!at(LexemeKind::name)) error(format("expected a tag's name, got {}", describe()));
  const std::string tag = current_.text;
  const std::uint32_t at_line = line();
  if (tag == "if") return parse_if();
  if (tag == "for") return parse_for();
  if (tag == "set") return parse_set();
  if (tag == "macro") return parse_macro();
  if (tag == "call") return parse_call_block();
  if (tag == "filter") return parse_filter_block();
  if (tag == "with") return parse_with();
  if (tag == "print") return parse_print();
  if (tag == "break" || tag == "continue") {
    if (loop_depth_ == 0) error(format("'{}' outside of a loop", tag));
    advance();
    return add(tag == "break" ? NodeKind::break_loop : NodeKind::continue_loop, at_line, {});
  }
  if (tag == "generation") {  // Hugging Face's mark around what the assistant wrote: a scope, as a call block is
    advance();
    const std::size_t loops = std::exchange(loop_depth_, 0);
    const NodeId body = parse_body({"endgeneration"});
    loop_depth_ = loops;
    return add(NodeKind::scope, at_line, {body});
  }
  for (const char* known : {"block", "extends", "include", "import", "from", "autoescape", "do", "trans", "debug"}) {
    if (tag == known) error_at(current_.offset, ErrorCode::unsupported, format("the tag '{}' is unsupported", tag));
  }
  error(format("unknown tag '{}'", tag));
}

NodeId Parser::parse_if() {
  const std::uint32_t at_line = line();
  std::vector<NodeId> kids;
  std::string end = "elif";
  while (end == "elif") {
    if (kids.empty()) advance();
    kids.push_back(parse_tuple(false, false));
    kids.push_back(parse_body({"elif", "else", "endif"}, &end));
  }
  kids.push_back(end == "else" ? parse_body({"endif"}) : kNoNode);
  return add(NodeKind::if_else, at_line, std::move(kids));
}

NodeId Parser::parse_for() {
  const std::uint32_t at_line = line();
  advance();
  const NodeId target = parse_target(false, "in");
  if (!skip_name("in")) error(format("expected 'in', got {}", describe()));
  const NodeId iterable = parse_tuple(false, false, "recursive");
  const NodeId filter = skip_name("if") ? parse_expression() : kNoNode;
  if (at_name("recursive")) error_at(current_.offset, ErrorCode::unsupported, "a recursive loop is unsupported");
  std::string end;
  ++loop_depth_;
  const NodeId body = parse_body({"else", "endfor"}, &end);
  --loop_depth_;
  const NodeId otherwise = end == "else" ? parse_body({"endfor"}) : kNoNode;
  return add(NodeKind::for_loop, at_line, {target, iterable, filter, body, otherwise});
}

NodeId Parser::parse_set() {
  const std::uint32_t at_line = line();
  advance();
  const NodeId target = parse_target(true, {});
  if (skip_op("=")) {
    const NodeId value = parse_tuple(true, false);
    return add(NodeKind::set, at_line, {target, value});
  }
  const NodeId filter = parse_filter_chain(kNoNode);
  const NodeId body = parse_body({"endset"});
  return add(NodeKind::set_block, at_line, {target, filter, body});
}

// A name, a namespace's member or a tuple of such.
NodeId Parser::parse_target(bool with_member, std::string_view end_name) {
  const std::uint32_t at_line = line();
  std::vector<NodeId> items{parse_target_atom(with_member)};
  bool is_tuple = false;
  while (skip_op(",")) {
    is_tuple = true;
    if (at(LexemeKind::block_end) || at_op(")") || (!end_name.empty() && at_name(end_name))) break;
    items.push_back(parse_target_atom(with_member));
  }
  return is_tuple ? add(NodeKind::tuple, at_line, std::move(items)) : items.front();
}

NodeId Parser::parse_target_atom(bool with_member) {
  const Depth depth(*this);
  const std::uint32_t at_line = line();
  if (skip_op("(")) {
    const NodeId inner = parse_target(with_member, {});
    expect_op(")");
    return inner;
  }
  const std::size_t offset = current_.offset;
  Node node;
  node.kind = NodeKind::name;
  node.line = at_line;
  node.text = expect_name();
  for (const char* reserved : {"true", "false", "none", "True", "False", "None", "loop"}) {
    if (node.text == reserved) {
      error_at(offset, ErrorCode::malformed, format("cannot assign to '{}'", node.text));
    }
  }
  if (with_member && skip_op(".")) {
    node.kind = NodeKind::member;
    node.names.push_back(expect_name());
  }
  return add(std::move(node));
}

void Parser::parse_signature(Node& macro) {
  expect_op("(");
  while (!at_op(")")) {
    if (!macro.names.empty()) expect_op(",");
    macro.names.push_back(expect_name());
    if (skip_op("=")) {
      macro.kids.push_back(parse_expression());
    } else if (!macro.kids.empty()) {
      error("a parameter without a default follows one with a default");
    }
  }
  expect_op(")");
}

void Parser::parse_macro_body(Node& macro, std::string_view end) {
  const std::size_t loops = std::exchange(loop_depth_, 0);
  macros_.emplace_back();
  macro.kids.insert(macro.kids.begin(), parse_body({end}));
  macro.wants_varargs = macros_.back().varargs;
  macro.wants_kwargs = macros_.back().kwargs;
  macro.wants_caller = macros_.back().caller;
  macros_.pop_back();
  loop_depth_ = loops;
}

NodeId Parser::parse_macro() {
  Node macro;
  macro.kind = NodeKind::macro;
  macro.line = line();
  advance();
  macro.text = expect_name();
  parse_signature(macro);
  parse_macro_body(macro, "endmacro");
  return add(std::move(macro));
}

NodeId Parser::parse_call_block() {
  Node macro;
  macro.kind = NodeKind::macro;
  macro.line = line();
  macro.text = "caller";
  advance();
  if (at_op("(")) parse_signature(macro);
  const std::size_t offset = current_.offset;
  const NodeId call = parse_expression();
  if (program_.nodes[call].kind != NodeKind::call) error_at(offset, ErrorCode::malformed, "expected a call");
  const std::uint32_t at_line = macro.line;
  parse_macro_body(macro, "endcall");
  const NodeId body = add(std::move(macro));
  return add(NodeKind::call_block, at_line, {call, body});
}

NodeId Parser::parse_filter_block() {
  const std::uint32_t at_line = line();
  advance();
  const NodeId filter = parse_filter_chain(parse_filter(kNoNode));
  const NodeId body = parse_body({"endfilter"});
  return add(NodeKind::filter_block, at_line, {filter, body});
}

NodeId Parser::parse_with() {
  const std::uint32_t at_line = line();
  advance();
  std::vector<NodeId> kids{kNoNode};
  while (!at(LexemeKind::block_end)) {
    if (kids.size() > 1) expect_op(",");
    kids.push_back(parse_target(false, {}));
    expect_op("=");
    kids.push_back(parse_expression());
  }
  kids[0] = parse_body({"endwith"});
  return add(NodeKind::with, at_line, std::move(kids));
}

NodeId Parser::parse_print() {
  Node block;
  block.kind = NodeKind::block;
  block.line = line();
  advance();
  while (!at(LexemeKind::block_end)) {
    if (!block.kids.empty()) expect_op(",");
    const NodeId expression = parse_expression();
    block.kids.push_back(add(NodeKind::output, block.line, {expression}));
  }
  return add(std::move(block));
}

}  // namespace rill::chat
