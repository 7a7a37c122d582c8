// Arithmetic, comparison and slices with Python's meaning; integers have 64 bits and overflow is an error.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "chat/runtime.h"
#include "chat/unicode.h"

namespace rill::chat {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) noexcept {
  if (b > 0 ? a > kMax - b : a < kMin - b) return std::nullopt;
  return a + b;
}

std::optional<std::int64_t> checked_subtract(std::int64_t a, std::int64_t b) noexcept {
  if (b < 0 ? a > kMax + b : a < kMin + b) return std::nullopt;
  return a - b;
}

std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) noexcept {
  if (a == 0 || b == 0) return 0;
  if ((a == -1 && b == kMin) || (b == -1 && a == kMin)) return std::nullopt;
  if (a > 0 ? (b > 0 ? a > kMax / b : b < kMin / a) : (b > 0 ? a < kMin / b : a < kMax / b)) return std::nullopt;
  return a * b;
}

std::optional<std::int64_t> checked_power(std::int64_t base, std::int64_t exponent) noexcept {
  std::int64_t result = 1;
  for (;;) {
    if (exponent & 1) {
      const auto product = checked_multiply(result, base);
      if (!product) return std::nullopt;
      result = *product;
    }
    exponent >>= 1;
    if (exponent == 0) return result;
    const auto square = checked_multiply(base, base);
    if (!square) return std::nullopt;
    base = *square;
  }
}

// Rounds towards minus infinity.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) noexcept {
  const std::int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

double modulo(double a, double b) noexcept {
  double result = std::fmod(a, b);
  if (result != 0) {
    if ((b < 0) != (result < 0)) result += b;
  } else {
    result = std::copysign(0.0, b);
  }
  return result;
}

double floor_divide(double a, double b) noexcept {
  const double exact = (a - modulo(a, b)) / b;
  const double floored = std::floor(exact);
  return exact - floored > 0.5 ? floored + 1 : floored;
}

Value integer_arithmetic(Op op, std::int64_t a, std::int64_t b, bool untrusted) {
  std::optional<std::int64_t> result;
  switch (op) {
    case Op::add: result = checked_add(a, b); break;
    case Op::subtract: result = checked_subtract(a, b); break;
    case Op::multiply: result = checked_multiply(a, b); break;
    case Op::power: result = checked_power(a, b); break;
    case Op::floor_divide:
      if (!(a == kMin && b == -1)) result = floor_divide(a, b);
      break;
    default: result = b == -1 ? 0 : a - floor_divide(a, b) * b; break;
  }
  if (!result) fail(ErrorCode::unsupported, "an integer exceeds 64 bits");
  return Value::of(*result, untrusted);
}

Value number_arithmetic(Op op, const Value& left, const Value& right) {
  const bool untrusted = left.untrusted || right.untrusted;
  const bool divides = op == Op::divide || op == Op::floor_divide || op == Op::modulo;
  if (divides && right.as_real() == 0) fail(ErrorCode::malformed, "division by zero");
  if (left.is_integral() && right.is_integral() && op != Op::divide && !(op == Op::power && right.as_integer() < 0)) {
    return integer_arithmetic(op, left.as_integer(), right.as_integer(), untrusted);
  }
  const double a = left.as_real(), b = right.as_real();
  switch (op) {
    case Op::add: return Value::of(a + b, untrusted);
    case Op::subtract: return Value::of(a - b, untrusted);
    case Op::multiply: return Value::of(a * b, untrusted);
    case Op::divide: return Value::of(a / b, untrusted);
    case Op::floor_divide: return Value::of(floor_divide(a, b), untrusted);
    case Op::modulo: return Value::of(modulo(a, b), untrusted);
    default: break;
  }
  if (a == 0 && b < 0) fail(ErrorCode::malformed, "0.0 cannot be raised to a negative power");
  if (a < 0 && b != std::floor(b)) fail(ErrorCode::unsupported, "complex numbers are unsupported");
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) fail(ErrorCode::malformed, "result too large");
  return Value::of(result, untrusted);
}

Value repeat(Runtime& runtime, const Value& value, std::int64_t times) {
  Heap& heap = runtime.heap();
  const std::size_t count = times > 0 ? static_cast<std::size_t>(times) : 0;
  runtime.budget().step(count);
  if (value.is(Kind::string)) {
    Builder builder(runtime.budget());
    for (std::size_t i = 0; i < count && !value.view().empty(); ++i) builder.add(value.text());
    return heap.string(builder.take());
  }
  const std::vector<Value>& items = value.sequence().items;
  std::vector<Value> result;
  for (std::size_t i = 0; i < count; ++i) {
    runtime.budget().memory(items.size() * sizeof(Value));
    result.insert(result.end(), items.begin(), items.end());
  }
  return heap.sequence(value.kind, std::move(result), value.untrusted);
}

Value add(Runtime& runtime, const Value& left, const Value& right) {
  Heap& heap = runtime.heap();
  if (left.is(Kind::string)) {
    const bool markup = left.markup || right.markup;
    const Value a = markup && !left.markup ? escape_html(heap, left.text()) : left;
    const Value b = markup && !right.markup ? escape_html(heap, right.text()) : right;
    Builder builder(runtime.budget());
    builder.add(a.text()).add(b.text());
    Value result = heap.string(builder.take());
    result.markup = markup;
    return result;
  }
  std::vector<Value> items = left.sequence().items;
  items.insert(items.end(), right.sequence().items.begin(), right.sequence().items.end());
  return heap.sequence(left.kind, std::move(items), left.untrusted || right.untrusted);
}

const char* symbol(Op op) noexcept {
  switch (op) {
    case Op::add: return "+";
    case Op::subtract: return "-";
    case Op::multiply: return "*";
    case Op::divide: return "/";
    case Op::floor_divide: return "//";
    case Op::modulo: return "%";
    case Op::power: return "**";
    default: return "~";
  }
}

}  // namespace

Value arithmetic(Runtime& runtime, Op op, const Value& left, const Value& right) {
  if (op == Op::concat) {
    Builder builder(runtime.budget());
    write_string(builder, left);
    write_string(builder, right);
    return runtime.heap().string(builder.take());
  }
  if (op == Op::modulo && left.is(Kind::string)) {
    Args args;
    args.positional = right.is(Kind::tuple) ? right.sequence().items : std::vector<Value>{right};
    if (right.is(Kind::dict)) {
      for (const auto& [key, value] : right.dict().items) {
        if (key.is(Kind::string)) args.named.push_back({key.text(), value});
      }
    }
    return percent_format(runtime, left.text(), args);
  }
  if (left.is(Kind::undefined)) runtime.undefined_error(left);
  if (right.is(Kind::undefined)) runtime.undefined_error(right);
  if (left.is_number() && right.is_number()) return number_arithmetic(op, left, right);
  const auto repeatable = [](const Value& v) { return v.is(Kind::string) || v.is_sequence(); };
  if (op == Op::add && left.kind == right.kind && repeatable(left)) return add(runtime, left, right);
  if (op == Op::multiply && repeatable(left) && right.is_integral()) return repeat(runtime, left, right.as_integer());
  if (op == Op::multiply && repeatable(right) && left.is_integral()) return repeat(runtime, right, left.as_integer());
  fail(ErrorCode::malformed, "unsupported operand type(s) for {}: '{}' and '{}'", symbol(op), type_name(left),
       type_name(right));
}

bool compare_values(Runtime& runtime, Op op, const Value& left, const Value& right) {
  Budget& budget = runtime.budget();
  switch (op) {
    case Op::equal: return equal(budget, left, right);
    case Op::not_equal: return !equal(budget, left, right);
    case Op::in: return contains(runtime.heap(), right, left);
    case Op::not_in: return !contains(runtime.heap(), right, left);
    default: break;
  }
  if (left.is(Kind::undefined)) runtime.undefined_error(left);
  if (right.is(Kind::undefined)) runtime.undefined_error(right);
  const int order = compare(budget, left, right);
  if (unordered(left, right)) return false;
  switch (op) {
    case Op::less: return order < 0;
    case Op::less_equal: return order <= 0;
    case Op::greater: return order > 0;
    default: return order >= 0;
  }
}

Value slice_value(Runtime& runtime, const Value& object, const Value& start, const Value& stop, const Value& step) {
  for (const Value* bound : {&start, &stop, &step}) {
    if (!bound->is(Kind::none) && !bound->is_integral()) {
      fail(ErrorCode::malformed, "slice indices must be integers or None");
    }
  }
  const std::int64_t stride = step.is(Kind::none) ? 1 : step.as_integer();
  if (stride == 0) fail(ErrorCode::malformed, "slice step cannot be zero");
  const bool sliceable = object.is(Kind::string) || object.is_sequence() || object.is(Kind::range);
  if (!sliceable) fail(ErrorCode::malformed, "'{}' object cannot be sliced", type_name(object));

  const auto size = static_cast<std::int64_t>(length(runtime.budget(), object));
  const std::int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? size : size - 1;
  const auto clamp = [&](const Value& bound, std::int64_t otherwise) {
    if (bound.is(Kind::none)) return otherwise;
    const std::int64_t value = bound.as_integer();
    if (value < 0) return value < -size ? low : std::max(value + size, low);
    return std::min(value, high);
  };
  const std::int64_t first = clamp(start, stride > 0 ? low : high);
  const std::int64_t last = clamp(stop, stride > 0 ? high : low);
  const std::int64_t span = stride > 0 ? last - first : first - last;
  const std::uint64_t pace = stride > 0 ? static_cast<std::uint64_t>(stride) : 0 - static_cast<std::uint64_t>(stride);
  const std::size_t count = span <= 0 ? 0 : static_cast<std::size_t>((static_cast<std::uint64_t>(span) - 1) / pace + 1);
  runtime.budget().step(count / 8);
  const auto index = [&](std::size_t k) {
    return static_cast<std::size_t>(first + static_cast<std::int64_t>(k) * stride);
  };

  Heap& heap = runtime.heap();
  if (object.is(Kind::range)) {
    auto* range = heap.make<Range>();
    range->start = object.range().start + first * object.range().step;
    range->stop = object.range().start + last * object.range().step;
    range->step = object.range().step * stride;
    range->count = count;
    return Value::of(Kind::range, range);
  }
  if (object.is_sequence()) {
    std::vector<Value> items;
    items.reserve(count);
    for (std::size_t k = 0; k < count; ++k) items.push_back(object.sequence().items[index(k)]);
    return heap.sequence(object.kind, std::move(items), object.untrusted);
  }
  const Text& text = object.text();
  Builder builder(runtime.budget());
  if (stride == 1 && count > 0) {
    const std::size_t begin = byte_offset(text.bytes, index(0));
    builder.add(text, begin, begin + byte_offset(std::string_view(text.bytes).substr(begin), count));
  } else if (count > 0) {
    std::vector<std::size_t> offsets;
    runtime.budget().memory(static_cast<std::size_t>(size) * sizeof(std::size_t));
    for (std::size_t i = 0; i < text.bytes.size(); i += decode(text.bytes, i).length) offsets.push_back(i);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t begin = offsets[index(k)];
      builder.add(text, begin, begin + decode(text.bytes, begin).length);
    }
  }
  Value result = heap.string(builder.take());
  result.markup = object.markup;
  return result;
}

}  // namespace rill::chat
