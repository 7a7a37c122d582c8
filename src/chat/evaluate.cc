#include "chat/runtime.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_set>

namespace rill::chat {

Value Runtime::evaluate(NodeId id) {
  const Budget::Depth depth(budget());
  budget().step();
  const Node& n = node(id);
  line_ = n.line;
  switch (n.kind) {
    case NodeKind::none: return Value::none();
    case NodeKind::boolean: return Value::of(n.integer != 0);
    case NodeKind::integer: return Value::of(n.integer);
    case NodeKind::real: return Value::of(n.real);
    case NodeKind::string: return heap_.string(n.text);
    case NodeKind::name: return lookup(n.text);
    case NodeKind::list:
    case NodeKind::tuple: return evaluate_items(n);
    case NodeKind::dict: return evaluate_dict(n);
    case NodeKind::negate:
    case NodeKind::positive: return sign(n);
    case NodeKind::logical_not: return Value::of(!truth(evaluate(n.kids[0])));
    case NodeKind::binary:
    case NodeKind::logical_and:
    case NodeKind::logical_or: return evaluate_chain(id);
    case NodeKind::compare: return evaluate_compare(n);
    case NodeKind::attribute: return attribute(evaluate(n.kids[0]), n.text);
    case NodeKind::item: {
      const Value object = evaluate(n.kids[0]);
      return item(object, evaluate(n.kids[1]));
    }
    case NodeKind::slice: return evaluate_slice(n);
    case NodeKind::call: return evaluate_call(n, nullptr);
    case NodeKind::filter: return evaluate_filter(n);
    case NodeKind::test: return evaluate_test(n);
    case NodeKind::conditional: return evaluate_conditional(n);
    default: fail(ErrorCode::internal, "not an expression");
  }
}

Value Runtime::lookup(std::string_view name) {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    budget().step(scope->names.size() / 16);
    if (const Value* found = scope->find_local(name)) return *found;
  }
  if (const Builtin* builtin = find_global(name); builtin != nullptr && (name != "strftime_now" || clock_)) {
    return method(*builtin, Value());
  }
  if (name == "lipsum" || name == "self") fail(ErrorCode::unsupported, "'{}' is unsupported", name);
  return heap_.undefined(format("'{}' is undefined", name));
}

Value Runtime::evaluate_items(const Node& n) {
  std::vector<Value> result;
  result.reserve(n.kids.size());
  for (const NodeId kid : n.kids) result.push_back(evaluate(kid));
  return heap_.sequence(n.kind == NodeKind::list ? Kind::list : Kind::tuple, std::move(result));
}

Value Runtime::evaluate_dict(const Node& n) {
  auto* dict = heap_.make<Dict>();
  for (std::size_t i = 0; i + 1 < n.kids.size(); i += 2) {
    const Value key = evaluate(n.kids[i]);
    insert(heap_, *dict, key, evaluate(n.kids[i + 1]));
  }
  return Value::of(Kind::dict, dict);
}

Value Runtime::sign(const Node& n) {
  const Value operand = evaluate(n.kids[0]);
  if (operand.is(Kind::undefined)) undefined_error(operand);
  if (!operand.is_number()) fail(ErrorCode::malformed, "bad operand type for unary sign: '{}'", type_name(operand));
  if (operand.is(Kind::real)) {
    return Value::of(n.kind == NodeKind::negate ? -operand.real : operand.real, operand.untrusted);
  }
  const std::int64_t value = operand.as_integer();
  if (n.kind == NodeKind::positive) return Value::of(value, operand.untrusted);
  if (value == std::numeric_limits<std::int64_t>::min()) fail(ErrorCode::unsupported, "an integer exceeds 64 bits");
  return Value::of(-value, operand.untrusted);
}

// Chains such as a + b + c lean to the left and may be long: walked in a loop, not by recursion.
Value Runtime::evaluate_chain(NodeId id) {
  std::vector<const Node*> chain;
  const auto is_link = [](NodeKind kind) {
    return kind == NodeKind::binary || kind == NodeKind::logical_and || kind == NodeKind::logical_or;
  };
  for (; is_link(node(id).kind); id = node(id).kids[0]) chain.push_back(&node(id));
  budget().step(chain.size());
  Value value = evaluate(id);
  for (; !chain.empty(); chain.pop_back()) {
    const Node& link = *chain.back();
    if (link.kind == NodeKind::binary) {
      const Value right = evaluate(link.kids[1]);
      line_ = link.line;
      value = arithmetic(*this, link.op, value, right);
    } else if (truth(value) == (link.kind == NodeKind::logical_and)) {
      value = evaluate(link.kids[1]);
    }
  }
  return value;
}

Value Runtime::evaluate_compare(const Node& n) {
  Value left = evaluate(n.kids[0]);
  for (std::size_t i = 0; i < n.ops.size(); ++i) {
    const Value right = evaluate(n.kids[i + 1]);
    if (!compare_values(*this, n.ops[i], left, right)) return Value::of(false);
    left = right;
  }
  return Value::of(true);
}

Value Runtime::evaluate_conditional(const Node& n) {
  if (truth(evaluate(n.kids[0]))) return evaluate(n.kids[1]);
  if (n.kids[2] != kNoNode) return evaluate(n.kids[2]);
  return heap_.undefined("the inline if-expression evaluated to false and has no else");
}

Value Runtime::evaluate_slice(const Node& n) {
  const Value object = evaluate(n.kids[0]);
  Value bounds[3] = {Value::none(), Value::none(), Value::none()};
  for (std::size_t i = 0; i < 3; ++i) {
    if (n.kids[i + 1] != kNoNode) bounds[i] = evaluate(n.kids[i + 1]);
  }
  if (object.is(Kind::undefined)) undefined_error(object);
  return slice_value(*this, object, bounds[0], bounds[1], bounds[2]);
}

Args Runtime::arguments(const Node& n) {
  Args args;
  const std::size_t spreads = (n.spread_list ? 1u : 0u) + (n.spread_dict ? 1u : 0u);
  const std::size_t end = n.kids.size() - spreads;
  const std::size_t first_named = end - n.names.size();
  for (std::size_t i = 1; i < first_named; ++i) args.positional.push_back(evaluate(n.kids[i]));
  for (std::size_t i = first_named; i < end; ++i) {
    args.named.push_back({{n.names[i - first_named], {}}, evaluate(n.kids[i])});
  }
  if (n.spread_list) {
    for (const Value& value : items(evaluate(n.kids[end]))) args.positional.push_back(value);
  }
  if (n.spread_dict) {
    const Value dict = evaluate(n.kids.back());
    if (!dict.is(Kind::dict)) {
      fail(ErrorCode::malformed, "argument after ** must be a mapping, not {}", type_name(dict));
    }
    for (const auto& [key, value] : dict.dict().items) {
      if (!key.is(Kind::string)) fail(ErrorCode::malformed, "keywords must be strings");
      budget().memory(key.view().size());
      args.named.push_back({key.text(), value});
    }
  }
  budget().step(args.positional.size() + args.named.size());
  std::unordered_set<std::string_view> names;
  for (const Keyword& keyword : args.named) {
    if (n.spread_dict && !names.insert(keyword.name.bytes).second) {
      fail(ErrorCode::malformed, "multiple values for the keyword argument '{}'", keyword.name.bytes);
    }
  }
  return args;
}

Value Runtime::evaluate_call(const Node& n, const Value* caller) {
  const Value callee = evaluate(n.kids[0]);
  Args args = arguments(n);
  if (caller != nullptr) args.named.push_back({{"caller", {}}, *caller});
  line_ = n.line;
  return call(callee, args);
}

Value Runtime::evaluate_filter(const Node& n) {
  const Value input = n.kids[0] == kNoNode ? captured_ : evaluate(n.kids[0]);
  const Args args = arguments(n);
  line_ = n.line;
  return call_builtin(*find_filter(n.text), input, args);
}

Value Runtime::evaluate_test(const Node& n) {
  const Value input = evaluate(n.kids[0]);
  const Args args = arguments(n);
  line_ = n.line;
  return call_builtin(*find_test(n.text), input, args);
}

Value Runtime::call_builtin(const Builtin& builtin, const Value& self, const Args& args) {
  const Budget::Depth depth(budget());
  budget().step();
  return builtin.call(*this, self, bind(builtin, args));
}

Value Runtime::call(const Value& callee, const Args& args) {
  switch (callee.kind) {
    case Kind::undefined: undefined_error(callee);
    case Kind::macro: return call_macro(*static_cast<const Macro*>(callee.object), args);
    case Kind::function: {
      const auto& function = *static_cast<const Function*>(callee.object);
      return call_builtin(*function.builtin, function.self, args);
    }
    case Kind::joiner: {
      auto& joiner = *static_cast<Joiner*>(callee.object);
      return std::exchange(joiner.used, true) ? joiner.separator : heap_.string("");
    }
    default: fail(ErrorCode::malformed, "'{}' object is not callable", type_name(callee));
  }
}

}  // namespace rill::chat
