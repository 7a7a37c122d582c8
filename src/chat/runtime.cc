#include "chat/runtime.h"

#include <algorithm>
#include <optional>

namespace rill::chat {

const Value* Scope::find_local(std::string_view name) const noexcept {
  for (const auto& [known, value] : names) {
    if (known == name) return &value;
  }
  return nullptr;
}

void Scope::set(std::string_view name, const Value& value) {
  if (const Value* found = find_local(name)) {
    *const_cast<Value*>(found) = value;
  } else {
    names.emplace_back(name, value);
  }
}

// Makes a scope current while it lives.
class Runtime::ScopeGuard {
 public:
  ScopeGuard(Runtime& runtime, Scope* scope) noexcept : runtime_(runtime), outer_(runtime.scope_) {
    runtime.scope_ = scope;
  }
  ~ScopeGuard() { runtime_.scope_ = outer_; }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Runtime& runtime_;
  Scope* outer_;
};

Runtime::Runtime(const Program& program, Budget& budget, std::function<std::tm()> clock)
    : program_(program), heap_(budget), clock_(std::move(clock)) {
  scope_ = new_scope(nullptr);
}

Scope* Runtime::new_scope(Scope* parent) {
  Scope* scope = heap_.make<Scope>();
  scope->parent = parent;
  return scope;
}

void Runtime::define(std::string_view name, const Value& value) { scope_->set(name, value); }

Text Runtime::render() {
  Builder out(budget());
  out_ = &out;
  scope_ = new_scope(scope_);
  run(program_.root);
  return out.take();
}

Runtime::Flow Runtime::run_block(const Node& block) {
  for (const NodeId id : block.kids) {
    const Flow flow = run(id);
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Runtime::Flow Runtime::run(NodeId id) {
  const Budget::Depth depth(budget());
  budget().step();
  const Node& n = node(id);
  line_ = n.line;
  switch (n.kind) {
    case NodeKind::block: return run_block(n);
    case NodeKind::data:
      budget().output(out_->text().bytes.size() + n.text.size());
      out_->add(n.text);
      break;
    case NodeKind::output: print(evaluate(n.kids[0])); break;
    case NodeKind::if_else: return run_if(n);
    case NodeKind::for_loop: return run_for(n);
    case NodeKind::set: assign(n.kids[0], evaluate(n.kids[1])); break;
    case NodeKind::set_block: run_set_block(n); break;
    case NodeKind::macro: scope_->set(n.text, make_macro(n)); break;
    case NodeKind::call_block: run_call_block(n); break;
    case NodeKind::filter_block: run_filter_block(n); break;
    case NodeKind::with: run_with(n); break;
    case NodeKind::scope: print(capture(n.kids[0])); break;
    case NodeKind::break_loop: return Flow::break_loop;
    case NodeKind::continue_loop: return Flow::continue_loop;
    default: fail(ErrorCode::internal, "not a statement");
  }
  return Flow::normal;
}

void Runtime::print(const Value& value) {
  write_string(*out_, value);
  budget().output(out_->text().bytes.size());
}

Runtime::Flow Runtime::run_if(const Node& n) {
  std::size_t i = 0;
  for (; i + 1 < n.kids.size(); i += 2) {
    if (truth(evaluate(n.kids[i]))) return run(n.kids[i + 1]);
  }
  return n.kids[i] != kNoNode ? run(n.kids[i]) : Flow::normal;
}

Runtime::Flow Runtime::run_for(const Node& n) {
  const Value iterable = evaluate(n.kids[1]);
  budget().memory(sizeof(Loop) + sizeof(void*));
  // The heap owns it, as a macro defined in the body may keep it.
  Loop& loop = *heap_.adopt(std::make_unique<Loop>(*this, n, iterable));
  Scope* outer = scope_;
  Scope* scope = nullptr;
  bool completed = false;  // one iteration without break or continue: that is what jinja2's else looks at
  Value item;
  while (loop.advance(item)) {
    if (scope == nullptr || scope->captured) scope = new_scope(outer);
    scope->names.clear();
    const ScopeGuard guard(*this, scope);
    assign(n.kids[0], item);
    scope->set("loop", Value::of(Kind::loop, &loop));
    const Flow flow = run(n.kids[3]);
    if (flow == Flow::break_loop) break;
    completed = completed || flow == Flow::normal;
  }
  if (completed || n.kids[4] == kNoNode) return Flow::normal;
  const ScopeGuard guard(*this, new_scope(outer));
  return run(n.kids[4]);
}

Value Runtime::capture(NodeId body) {
  Builder builder(budget());
  Builder* outer = std::exchange(out_, &builder);
  {
    const ScopeGuard guard(*this, new_scope(scope_));
    run(body);
  }
  out_ = outer;
  return heap_.string(builder.take());
}

Value Runtime::filter_captured(NodeId filter, const Value& text) {
  const Value outer = std::exchange(captured_, text);
  const Value result = evaluate(filter);
  captured_ = outer;
  return result;
}

void Runtime::run_set_block(const Node& n) {
  Value text = capture(n.kids[2]);
  if (n.kids[1] != kNoNode) text = filter_captured(n.kids[1], text);
  assign(n.kids[0], text);
}

void Runtime::run_filter_block(const Node& n) { print(filter_captured(n.kids[0], capture(n.kids[1]))); }

void Runtime::run_with(const Node& n) {
  Scope* inner = new_scope(scope_);
  for (std::size_t i = 1; i + 1 < n.kids.size(); i += 2) {
    const Value value = evaluate(n.kids[i + 1]);
    const ScopeGuard guard(*this, inner);
    assign(n.kids[i], value);
  }
  const ScopeGuard guard(*this, inner);
  run(n.kids[0]);
}

Value Runtime::make_macro(const Node& n) {
  auto* macro = heap_.make<Macro>();
  macro->node = &n;
  macro->scope = scope_;
  for (Scope* scope = scope_; scope != nullptr && !scope->captured; scope = scope->parent) scope->captured = true;
  return Value::of(Kind::macro, macro);
}

void Runtime::run_call_block(const Node& n) {
  const Value caller = make_macro(node(n.kids[1]));
  print(evaluate_call(node(n.kids[0]), &caller));
}

Value Runtime::call_macro(const Macro& macro, const Args& args) {
  const Node& n = *macro.node;
  const std::size_t count = n.names.size();
  Scope* scope = new_scope(macro.scope);
  std::vector<Keyword> named = args.named;
  const auto take = [&named](std::string_view name) -> std::optional<Value> {
    const auto found =
        std::find_if(named.begin(), named.end(), [name](const Keyword& keyword) { return keyword.name.bytes == name; });
    if (found == named.end()) return std::nullopt;
    const Value value = found->value;
    named.erase(found);
    return value;
  };
  const ScopeGuard guard(*this, scope);
  const std::size_t first_default = count + 1 - n.kids.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::optional<Value> value = i < args.positional.size() ? args.positional[i] : take(n.names[i]);
    if (!value && i >= first_default) value = evaluate(n.kids[i - first_default + 1]);
    if (!value) value = heap_.undefined(format("parameter '{}' was not provided", n.names[i]));
    scope->set(n.names[i], *value);
  }
  if (n.wants_caller) {
    if (const auto caller = take("caller")) {
      scope->set("caller", *caller);
    } else if (scope->find_local("caller") == nullptr) {
      scope->set("caller", heap_.undefined("No caller defined"));
    }
  }
  if (n.wants_kwargs) {
    auto* kwargs = heap_.make<Dict>();
    for (const auto& [name, value] : named) insert(heap_, *kwargs, heap_.string(name), value);
    scope->set("kwargs", Value::of(Kind::dict, kwargs));
  } else if (!named.empty()) {
    fail(ErrorCode::malformed, "macro '{}' takes no keyword argument '{}'", n.text, named.front().name.bytes);
  }
  const std::size_t used = std::min(count, args.positional.size());
  if (n.wants_varargs) {
    scope->set("varargs", heap_.sequence(Kind::tuple, {args.positional.begin() + static_cast<std::ptrdiff_t>(used),
                                                       args.positional.end()}));
  } else if (args.positional.size() > count) {
    fail(ErrorCode::malformed, "macro '{}' takes not more than {} argument(s)", n.text, count);
  }
  return capture(n.kids[0]);
}

void Runtime::assign(NodeId target, const Value& value) {
  const Node& n = node(target);
  if (n.kind == NodeKind::name) return scope_->set(n.text, value);
  if (n.kind == NodeKind::member) return assign_member(n, value);
  const std::vector<Value> values = items(value);
  if (values.size() != n.kids.size()) {
    fail(ErrorCode::malformed, "cannot unpack {} values into {} names", values.size(), n.kids.size());
  }
  for (std::size_t i = 0; i < values.size(); ++i) assign(n.kids[i], values[i]);
}

void Runtime::assign_member(const Node& target, const Value& value) {
  const Value object = lookup(target.text);
  if (!object.is(Kind::name_space)) fail(ErrorCode::malformed, "cannot assign attribute on non-namespace object");
  if (target.names[0].starts_with('_')) {
    fail(ErrorCode::malformed, "a namespace's attribute may not begin with an underscore: '{}'", target.names[0]);
  }
  insert(heap_, object.dict(), heap_.string(target.names[0]), value);
}

std::vector<Value> Runtime::items(const Value& iterable) {
  std::vector<Value> result;
  Cursor cursor(heap_, iterable);
  Value item;
  while (cursor.next(item)) {
    budget().memory(sizeof(Value));
    result.push_back(item);
  }
  return result;
}

Loop::Loop(Runtime& owner, const Node& loop, const Value& over)
    : runtime(owner), node(loop), scope(owner.scope_), cursor(owner.heap_, over), iterable(over) {}

// The next item that the loop's filter lets through.
bool Loop::pull(Value& item) {
  const NodeId filter = node.kids[2];
  while (cursor.next(item)) {
    if (filter == kNoNode) return true;
    const Runtime::ScopeGuard guard(runtime, runtime.new_scope(scope));
    runtime.assign(node.kids[0], item);
    if (truth(runtime.evaluate(filter))) return true;
  }
  return false;
}

bool Loop::peek() {
  if (has_after) return true;
  if (ahead_position < ahead.size()) {
    after = ahead[ahead_position++];
    return has_after = true;
  }
  return has_after = pull(after);
}

bool Loop::advance(Value& item) {
  if (!peek()) return false;
  has_after = false;
  item = after;
  ++index0;
  before = current;
  current = item;
  return true;
}

std::size_t Loop::length() {
  if (known_length != static_cast<std::size_t>(-1)) return known_length;
  if (node.kids[2] == kNoNode && is_sized(iterable)) {
    return known_length = chat::length(runtime.budget(), iterable);
  }
  Value item;
  while (pull(item)) {
    runtime.budget().memory(sizeof(Value));
    ahead.push_back(item);
  }
  return known_length = ahead.size() + static_cast<std::size_t>(index0 + 1) + (has_after ? 1 : 0);
}

}  // namespace rill::chat
