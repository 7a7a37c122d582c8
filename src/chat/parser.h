// Parses a template into a Program. Recursion is bounded by ChatTemplateLimits::nesting_depth.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/ast.h"
#include "chat/lexer.h"

namespace rill::chat {

class Parser {
 public:
  // `program.source` and `program.limits` are set; fills in the nodes. Throws ErrorException.
  explicit Parser(Program& program) : program_(program), lexer_(program.source) { current_ = lexer_.next(); }

  void parse();

 private:
  // Counts nested calls while it lives.
  class Depth {
   public:
    explicit Depth(Parser& parser);
    ~Depth() { --parser_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    Parser& parser_;
  };
  struct MacroUse {
    bool varargs = false, kwargs = false, caller = false;
  };

  // Tokens.
  bool at(LexemeKind kind) const noexcept { return current_.kind == kind; }
  bool at_op(std::string_view op) const noexcept { return at(LexemeKind::op) && current_.text == op; }
  bool at_name(std::string_view name) const noexcept { return at(LexemeKind::name) && current_.text == name; }
  const Lexeme& peek();
  Lexeme advance();
  bool skip_op(std::string_view op);
  bool skip_name(std::string_view name);
  void expect_op(std::string_view op);
  void expect(LexemeKind kind, std::string_view what);
  std::string expect_name();
  [[noreturn]] void error(std::string_view message) const { error_at(current_.offset, ErrorCode::malformed, message); }
  [[noreturn]] void error_at(std::size_t offset, ErrorCode code, std::string_view message) const;
  std::string describe() const;

  // Nodes.
  std::uint32_t line() const { return static_cast<std::uint32_t>(lexer_.position(current_.offset).line); }
  NodeId add(Node node);
  NodeId add(NodeKind kind, std::uint32_t line, std::vector<NodeId> kids, std::string text = {});

  // Statements (parser.cc). A body ends at one of `ends`, which is consumed and returned.
  NodeId parse_body(std::initializer_list<std::string_view> ends, std::string* end = nullptr);
  NodeId parse_block(std::initializer_list<std::string_view> ends, std::string* end);
  NodeId parse_statement();
  NodeId parse_if();
  NodeId parse_for();
  NodeId parse_set();
  NodeId parse_macro();
  NodeId parse_call_block();
  NodeId parse_filter_block();
  NodeId parse_with();
  NodeId parse_print();
  void parse_signature(Node& macro);
  void parse_macro_body(Node& macro, std::string_view end);
  NodeId parse_target(bool with_member, std::string_view end_name);
  NodeId parse_target_atom(bool with_member);

  // Expressions (parse_expression.cc).
  NodeId parse_expression(bool conditional = true);
  NodeId parse_tuple(bool conditional, bool in_parentheses, std::string_view end_name = {});
  NodeId parse_conditional();
  NodeId parse_or();
  NodeId parse_and();
  // `name` between operands, grouped to the left.
  NodeId parse_logical(std::string_view name, NodeKind kind, NodeId (Parser::*parse_operand)());
  NodeId parse_not();
  NodeId parse_compare();
  std::optional<Op> skip_comparison();
  NodeId parse_binary(int level);
  NodeId parse_unary(bool with_filter);
  NodeId parse_primary();
  NodeId parse_atom();
  NodeId parse_call(NodeId callee);
  NodeId parse_postfix(NodeId node, bool with_filter);
  NodeId parse_subscript(NodeId node);
  NodeId parse_subscribed(NodeId object);
  NodeId parse_list();
  NodeId parse_dict();
  NodeId parse_filter(NodeId input);
  NodeId parse_filter_chain(NodeId input);
  NodeId parse_test(NodeId input);
  void parse_arguments(Node& call);

  Program& program_;
  Lexer lexer_;
  Lexeme current_;
  std::vector<Lexeme> ahead_;  // at most one
  std::size_t depth_ = 0;
  std::size_t loop_depth_ = 0;  // loops around the statement, inside the innermost macro
  std::vector<MacroUse> macros_;  // around the expression
};

}  // namespace rill::chat
