// The tests of `is`, select and reject.
#include <algorithm>

#include "chat/runtime.h"

namespace rill::chat {
namespace {

template <Kind kKind>
Value is_kind(Runtime&, const Value& self, const Params&) {
  return Value::of(self.is(kKind));
}

template <Op kOp>
Value compares(Runtime& runtime, const Value& self, const Params& params) {
  return Value::of(compare_values(runtime, kOp, self, params[0]));
}

template <bool kWanted>
Value is_bool(Runtime&, const Value& self, const Params&) {
  return Value::of(self.is(Kind::boolean) && self.boolean == kWanted);
}

Value defined(Runtime&, const Value& self, const Params&) { return Value::of(!self.is(Kind::undefined)); }
Value number(Runtime&, const Value& self, const Params&) { return Value::of(self.is_number()); }
Value iterable(Runtime&, const Value& self, const Params&) {
  return Value::of(is_iterable(self) || self.is(Kind::loop));
}
Value escaped(Runtime&, const Value& self, const Params&) { return Value::of(self.markup); }
Value sequence(Runtime&, const Value& self, const Params&) {
  return Value::of(is_sized(self) && !self.is(Kind::view));
}
Value callable(Runtime&, const Value& self, const Params&) {
  return Value::of(self.is(Kind::undefined) || self.is(Kind::macro) || self.is(Kind::function) || self.is(Kind::loop) ||
                   self.is(Kind::joiner));
}
Value sameas(Runtime& runtime, const Value& self, const Params& params) {
  const Value& other = params[0];
  if (self.kind != other.kind) return Value::of(false);
  return Value::of(self.kind < Kind::string ? equal(runtime.budget(), self, other) : self.object == other.object);
}
Value lower(Runtime& runtime, const Value& self, const Params&) {
  return runtime.call_builtin(*find_string_method("islower"), to_string(runtime.heap(), self), {});
}
Value upper(Runtime& runtime, const Value& self, const Params&) {
  return runtime.call_builtin(*find_string_method("isupper"), to_string(runtime.heap(), self), {});
}
Value is_filter(Runtime&, const Value& self, const Params&) {
  return Value::of(self.is(Kind::string) && find_filter(self.view()) != nullptr);
}
Value is_test(Runtime&, const Value& self, const Params&) {
  return Value::of(self.is(Kind::string) && find_test(self.view()) != nullptr);
}

// self % divisor == remainder
Value leaves(Runtime& runtime, const Value& self, const Value& divisor, std::int64_t remainder) {
  if (self.is(Kind::string)) fail(ErrorCode::malformed, "the test needs a number, not a string");
  return Value::of(equal(runtime.budget(), arithmetic(runtime, Op::modulo, self, divisor), Value::of(remainder)));
}
Value odd(Runtime& runtime, const Value& self, const Params&) {
  return leaves(runtime, self, Value::of(std::int64_t{2}), 1);
}
Value even(Runtime& runtime, const Value& self, const Params&) {
  return leaves(runtime, self, Value::of(std::int64_t{2}), 0);
}
Value divisibleby(Runtime& runtime, const Value& self, const Params& params) {
  return leaves(runtime, self, params[0], 0);
}

constexpr Builtin kTests[] = {
    {"!=", compares<Op::not_equal>, {"other"}, 1},
    {"<", compares<Op::less>, {"other"}, 1},
    {"<=", compares<Op::less_equal>, {"other"}, 1},
    {"==", compares<Op::equal>, {"other"}, 1},
    {">", compares<Op::greater>, {"other"}, 1},
    {">=", compares<Op::greater_equal>, {"other"}, 1},
    {"boolean", is_kind<Kind::boolean>},
    {"callable", callable},
    {"defined", defined},
    {"divisibleby", divisibleby, {"num"}, 1},
    {"eq", compares<Op::equal>, {"other"}, 1},
    {"equalto", compares<Op::equal>, {"other"}, 1},
    {"escaped", escaped},
    {"even", even},
    {"false", is_bool<false>},
    {"filter", is_filter},
    {"float", is_kind<Kind::real>},
    {"ge", compares<Op::greater_equal>, {"other"}, 1},
    {"greaterthan", compares<Op::greater>, {"other"}, 1},
    {"gt", compares<Op::greater>, {"other"}, 1},
    {"in", compares<Op::in>, {"seq"}, 1},
    {"integer", is_kind<Kind::integer>},
    {"iterable", iterable},
    {"le", compares<Op::less_equal>, {"other"}, 1},
    {"lessthan", compares<Op::less>, {"other"}, 1},
    {"lower", lower},
    {"lt", compares<Op::less>, {"other"}, 1},
    {"mapping", is_kind<Kind::dict>},
    {"ne", compares<Op::not_equal>, {"other"}, 1},
    {"none", is_kind<Kind::none>},
    {"number", number},
    {"odd", odd},
    {"sameas", sameas, {"other"}, 1},
    {"sequence", sequence},
    {"string", is_kind<Kind::string>},
    {"test", is_test},
    {"true", is_bool<true>},
    {"undefined", is_kind<Kind::undefined>},
    {"upper", upper},
};

}  // namespace

const Builtin* find_test(std::string_view name) noexcept {
  const auto found =
      std::find_if(std::begin(kTests), std::end(kTests), [name](const Builtin& b) { return b.name == name; });
  return found != std::end(kTests) ? found : nullptr;
}

}  // namespace rill::chat
