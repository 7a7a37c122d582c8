// Filters on sequences, mappings and numbers.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

#include "chat/runtime.h"
#include "chat/unicode.h"

namespace rill::chat {
namespace {

Value length_filter(Runtime& runtime, const Value& self, const Params&) {
  if (self.is(Kind::loop)) return Value::of(static_cast<std::int64_t>(static_cast<Loop*>(self.object)->length()));
  return Value::of(static_cast<std::int64_t>(length(runtime.budget(), self)));
}

Value first(Runtime& runtime, const Value& self, const Params&) {
  Cursor cursor(runtime.heap(), self);
  Value item;
  return cursor.next(item) ? item : runtime.heap().undefined("No first item, sequence was empty.");
}

Value last(Runtime& runtime, const Value& self, const Params&) {
  if (!is_sized(self)) fail(ErrorCode::malformed, "'{}' object is not reversible", type_name(self));
  const std::vector<Value> items = runtime.items(self);
  return !items.empty() ? items.back() : runtime.heap().undefined("No last item, sequence was empty.");
}

Value join(Runtime& runtime, const Value& self, const Params& params) {
  const Value separator = params.given(0) ? to_string(runtime.heap(), params[0]) : runtime.heap().string("");
  const bool by_attribute = params.given(1) && !params[1].is(Kind::none);
  Builder out(runtime.budget());
  Cursor cursor(runtime.heap(), self);
  Value item;
  for (bool is_first = true; cursor.next(item); is_first = false) {
    if (!is_first) out.add(separator.text());
    write_string(out, by_attribute ? runtime.path(item, params[1]) : item);
  }
  return runtime.heap().string(out.take());
}

Value list(Runtime& runtime, const Value& self, const Params&) {
  const bool tainted = self.is(Kind::string) ? self.text().tainted() : self.untrusted;
  return runtime.heap().list(runtime.items(self), tainted);
}

Value reverse(Runtime& runtime, const Value& self, const Params&) {
  if (self.is(Kind::string)) {
    return slice_value(runtime, self, Value::none(), Value::none(), Value::of(std::int64_t{-1}));
  }
  std::vector<Value> items = runtime.items(self);
  std::reverse(items.begin(), items.end());
  if (self.is(Kind::iterator)) return runtime.heap().list(std::move(items));
  return runtime.heap().iterator(std::move(items), "reversed");
}

// What sort, unique, min and max compare: the item or its attribute, strings in lower case unless told otherwise.
Value sort_key(Runtime& runtime, const Value& item, const Value& attribute, bool case_sensitive) {
  Value key = attribute.is(Kind::undefined) || attribute.is(Kind::none) ? item : runtime.path(item, attribute);
  if (!case_sensitive && key.is(Kind::string)) key = runtime.call_builtin(*find_filter("lower"), key, {});
  return key;
}

struct Keyed {
  Value key, item;
};

std::vector<Value> sorted(Runtime& runtime, std::vector<Keyed> entries, bool reverse) {
  runtime.budget().memory(entries.size() * sizeof(Keyed));
  std::stable_sort(entries.begin(), entries.end(), [&](const Keyed& a, const Keyed& b) {
    const bool undefined = a.key.is(Kind::undefined) || b.key.is(Kind::undefined);
    if (undefined) runtime.undefined_error(a.key.is(Kind::undefined) ? a.key : b.key);
    const int order = compare(runtime.budget(), a.key, b.key);
    return reverse ? order > 0 : order < 0;
  });
  std::vector<Value> items;
  items.reserve(entries.size());
  for (const Keyed& entry : entries) items.push_back(entry.item);
  return items;
}

// Parameters: reverse, case_sensitive, attribute ("a,b" sorts by several).
Value sort(Runtime& runtime, const Value& self, const Params& params) {
  const bool case_sensitive = params.flag(1);
  std::vector<Value> attributes;
  if (params.given(2) && params[2].is(Kind::string)) {
    const std::string_view names = params[2].view();
    for (std::size_t begin = 0; begin <= names.size();) {
      const std::size_t end = std::min(names.find(',', begin), names.size());
      attributes.push_back(runtime.heap().string(names.substr(begin, end - begin)));
      begin = end + 1;
    }
  } else {
    attributes.push_back(params[2]);
  }
  std::vector<Keyed> entries;
  for (const Value& item : runtime.items(self)) {
    std::vector<Value> keys;
    for (const Value& attribute : attributes) keys.push_back(sort_key(runtime, item, attribute, case_sensitive));
    const Value key = keys.size() == 1 ? keys[0] : runtime.heap().list(std::move(keys));
    entries.push_back({key, item});
  }
  return runtime.heap().list(sorted(runtime, std::move(entries), params.flag(0)), self.untrusted);
}

// Parameters: case_sensitive, by, reverse.
Value dictsort(Runtime& runtime, const Value& self, const Params& params) {
  if (!self.is(Kind::dict)) fail(ErrorCode::malformed, "dictsort needs a mapping, not '{}'", type_name(self));
  const std::string by = params.given(1) ? params.text(1).bytes : "key";
  if (by != "key" && by != "value") fail(ErrorCode::malformed, "You can only sort by either \"key\" or \"value\"");
  std::vector<Keyed> entries;
  for (const auto& [key, value] : self.dict().items) {
    const Value pair = runtime.heap().sequence(Kind::tuple, {key, value}, self.untrusted);
    entries.push_back({sort_key(runtime, by == "key" ? key : value, Value(), params.flag(0)), pair});
  }
  return runtime.heap().list(sorted(runtime, std::move(entries), params.flag(2)), self.untrusted);
}

Value unique(Runtime& runtime, const Value& self, const Params& params) {
  std::vector<Value> keys, items;
  for (const Value& item : runtime.items(self)) {
    const Value key = sort_key(runtime, item, params[1], params.flag(0));
    if (key.is(Kind::list) || key.is(Kind::dict)) fail(ErrorCode::malformed, "unhashable type: '{}'", type_name(key));
    const bool seen =
        std::any_of(keys.begin(), keys.end(), [&](const Value& k) { return equal(runtime.budget(), k, key); });
    if (seen) continue;
    keys.push_back(key);
    items.push_back(item);
  }
  return runtime.heap().iterator(std::move(items), "generator");
}

Value extreme(Runtime& runtime, const Value& self, const Params& params, int sign) {
  Cursor cursor(runtime.heap(), self);
  Value best, best_key, item;
  if (!cursor.next(best)) return runtime.heap().undefined("No aggregated item, sequence was empty.");
  best_key = sort_key(runtime, best, params[1], params.flag(0));
  while (cursor.next(item)) {
    const Value key = sort_key(runtime, item, params[1], params.flag(0));
    if (compare_values(runtime, sign < 0 ? Op::less : Op::greater, key, best_key)) best = item, best_key = key;
  }
  return best;
}
Value min(Runtime& runtime, const Value& self, const Params& params) { return extreme(runtime, self, params, -1); }
Value max(Runtime& runtime, const Value& self, const Params& params) { return extreme(runtime, self, params, 1); }

Value sum(Runtime& runtime, const Value& self, const Params& params) {
  const bool by_attribute = params.given(0) && !params[0].is(Kind::none);
  Value total = params.given(1) ? params[1] : Value::of(std::int64_t{0});
  if (total.is(Kind::string)) fail(ErrorCode::malformed, "sum() can't sum strings");
  Cursor cursor(runtime.heap(), self);
  Value item;
  while (cursor.next(item)) {
    total = arithmetic(runtime, Op::add, total, by_attribute ? runtime.path(item, params[0]) : item);
  }
  return total;
}

// The arguments after the first `count`.
Args rest(const Args& args, std::size_t count) {
  Args result = args;
  result.positional.erase(result.positional.begin(), result.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return result;
}

Value map(Runtime& runtime, const Value& self, const Params& params) {
  const Args& args = params.all();
  std::vector<Value> result;
  if (args.positional.empty()) {
    Value attribute, otherwise;
    for (const auto& [name, value] : args.named) {
      if (name.bytes != "attribute" && name.bytes != "default") {
        fail(ErrorCode::malformed, "Unexpected keyword argument '{}'", name.bytes);
      }
      (name.bytes == "attribute" ? attribute : otherwise) = value;
    }
    if (attribute.is(Kind::undefined)) fail(ErrorCode::malformed, "map requires a filter argument");
    for (const Value& item : runtime.items(self)) {
      const Value found = runtime.path(item, attribute);
      const bool use_default = found.is(Kind::undefined) && !otherwise.is(Kind::undefined) && !otherwise.is(Kind::none);
      result.push_back(use_default ? otherwise : found);
    }
  } else {
    if (!args.positional[0].is(Kind::string)) fail(ErrorCode::malformed, "map needs a filter's name");
    const Builtin* filter = find_filter(args.positional[0].view());
    if (filter == nullptr) fail(ErrorCode::unsupported, "the filter '{}' is unsupported", args.positional[0].view());
    const Args inner = rest(args, 1);
    for (const Value& item : runtime.items(self)) result.push_back(runtime.call_builtin(*filter, item, inner));
  }
  return runtime.heap().iterator(std::move(result), "generator");
}

Value choose(Runtime& runtime, const Value& self, const Params& params, bool wanted, bool by_attribute) {
  std::vector<Value> result;
  if (!truth(self)) return runtime.heap().iterator({}, "generator");
  const Args& args = params.all();
  const std::size_t skip = by_attribute ? 1 : 0;
  if (args.positional.size() < skip) fail(ErrorCode::malformed, "Missing parameter for attribute name");
  const Builtin* test = nullptr;
  if (args.positional.size() > skip) {
    if (!args.positional[skip].is(Kind::string)) fail(ErrorCode::malformed, "a test's name must be a string");
    test = find_test(args.positional[skip].view());
    if (test == nullptr) fail(ErrorCode::unsupported, "the test '{}' is unsupported", args.positional[skip].view());
  }
  const Args inner = test != nullptr ? rest(args, skip + 1) : Args{};
  for (const Value& item : runtime.items(self)) {
    const Value tested = by_attribute ? runtime.path(item, args.positional[0]) : item;
    const bool passed = truth(test != nullptr ? runtime.call_builtin(*test, tested, inner) : tested);
    if (passed == wanted) result.push_back(item);
  }
  return runtime.heap().iterator(std::move(result), "generator");
}
Value select(Runtime& runtime, const Value& self, const Params& params) {
  return choose(runtime, self, params, true, false);
}
Value reject(Runtime& runtime, const Value& self, const Params& params) {
  return choose(runtime, self, params, false, false);
}
Value selectattr(Runtime& runtime, const Value& self, const Params& params) {
  return choose(runtime, self, params, true, true);
}
Value rejectattr(Runtime& runtime, const Value& self, const Params& params) {
  return choose(runtime, self, params, false, true);
}

Value batch(Runtime& runtime, const Value& self, const Params& params) {
  const std::int64_t size = params.integer(0, 1);
  std::vector<Value> batches, current;
  const auto flush = [&] { batches.push_back(runtime.heap().list(std::exchange(current, {}))); };
  for (const Value& item : runtime.items(self)) {
    if (static_cast<std::int64_t>(current.size()) == size) flush();
    current.push_back(item);
  }
  if (!current.empty()) {
    while (params.given(1) && !params[1].is(Kind::none) && static_cast<std::int64_t>(current.size()) < size) {
      runtime.budget().step();
      current.push_back(params[1]);
    }
    flush();
  }
  return runtime.heap().iterator(std::move(batches), "generator");
}

Value slice(Runtime& runtime, const Value& self, const Params& params) {
  const std::vector<Value> items = runtime.items(self);
  const std::int64_t slices = params.integer(0, 1);
  if (slices == 0) fail(ErrorCode::malformed, "division by zero");
  std::vector<Value> result;
  std::size_t begin = 0;
  for (std::int64_t i = 0; i < slices; ++i) {
    runtime.budget().step();
    const std::size_t count = static_cast<std::size_t>(slices), extra = items.size() % count;
    const bool has_extra = static_cast<std::size_t>(i) < extra;
    const std::size_t size = items.size() / count + (has_extra ? 1 : 0);
    std::vector<Value> part(items.begin() + static_cast<std::ptrdiff_t>(begin),
                            items.begin() + static_cast<std::ptrdiff_t>(begin + size));
    if (!has_extra && params.given(1) && !params[1].is(Kind::none)) part.push_back(params[1]);
    result.push_back(runtime.heap().list(std::move(part)));
    begin += size;
  }
  return runtime.heap().iterator(std::move(result), "generator");
}

Value items(Runtime& runtime, const Value& self, const Params&) {
  if (self.is(Kind::undefined)) return runtime.heap().iterator({}, "generator");
  if (!self.is(Kind::dict)) fail(ErrorCode::malformed, "Can only get item pairs from a mapping.");
  const Value view = runtime.call_builtin(*find_container_method(Kind::dict, "items"), self, {});
  return runtime.heap().iterator(view.sequence().items, "generator");
}

Value default_filter(Runtime& runtime, const Value& self, const Params& params) {
  if (!self.is(Kind::undefined) && !(params.flag(1) && !truth(self))) return self;
  return params.given(0) ? params[0] : runtime.heap().string("");
}

Value abs(Runtime&, const Value& self, const Params&) {
  if (!self.is_number()) fail(ErrorCode::malformed, "bad operand type for abs(): '{}'", type_name(self));
  if (self.is(Kind::real)) return Value::of(std::fabs(self.real), self.untrusted);
  if (self.as_integer() == std::numeric_limits<std::int64_t>::min()) {
    fail(ErrorCode::unsupported, "an integer exceeds 64 bits");
  }
  return Value::of(std::abs(self.as_integer()), self.untrusted);
}

// Numbers in text as int() and float() read them: trimmed, signed, single underscores between digits.
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(decode(text, 0).value)) text.remove_prefix(decode(text, 0).length);
  while (!text.empty() && is_space(decode_before(text, text.size()).value)) {
    text.remove_suffix(decode_before(text, text.size()).length);
  }
  return text;
}

bool drop_underscores(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out.push_back(text[i]);
      continue;
    }
    const auto alphanumeric = [&](std::size_t k) {
      return k < text.size() && std::isalnum(static_cast<unsigned char>(text[k]));
    };
    if (i == 0 || !alphanumeric(i - 1) || !alphanumeric(i + 1)) return false;
  }
  return true;
}

bool parse_integer(std::string_view text, int base, std::int64_t& value) {
  std::string digits;
  text = trimmed(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.size() > 2 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    const int marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (marked != 0 && (base == marked || base == 0)) {
      base = marked;
      text.remove_prefix(text[2] == '_' ? 3 : 2);
    }
  }
  if (base == 0) base = 10;
  if (text.empty() || !drop_underscores(text, digits)) return false;
  if (negative) digits.insert(digits.begin(), '-');
  if (!std::isalnum(static_cast<unsigned char>(digits[negative ? 1 : 0]))) return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (end != digits.data() + digits.size()) return false;
  if (error == std::errc::result_out_of_range) fail(ErrorCode::unsupported, "an integer exceeds 64 bits");
  return error == std::errc();
}

bool parse_real(std::string_view text, double& value) {
  std::string digits;
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  if (text.empty() || !drop_underscores(text, digits)) return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size() || digits.find('(') != std::string::npos) return false;
  if (error == std::errc::result_out_of_range) {
    // Too large is infinite, too small is zero, as in Python.
    const std::size_t mark = digits.find_first_of("eE");
    const bool tiny = (mark != std::string::npos && mark + 1 < digits.size() && digits[mark + 1] == '-') ||
                      (mark == std::string::npos && digits.find('.') < 2);
    value = std::copysign(tiny ? 0.0 : std::numeric_limits<double>::infinity(), digits[0] == '-' ? -1.0 : 1.0);
    return true;
  }
  return error == std::errc();
}

Value truncate_real(double value, bool untrusted) {
  if (std::isnan(value)) fail(ErrorCode::malformed, "cannot convert float NaN to integer");
  if (std::isinf(value)) fail(ErrorCode::malformed, "cannot convert float infinity to integer");
  if (std::fabs(value) >= 9223372036854775808.0) fail(ErrorCode::unsupported, "an integer exceeds 64 bits");
  return Value::of(static_cast<std::int64_t>(value), untrusted);
}

// Parameters: default, base.
Value to_integer(Runtime& runtime, const Value& self, const Params& params) {
  const Value otherwise = params.given(0) ? params[0] : Value::of(std::int64_t{0});
  if (self.is(Kind::undefined)) runtime.undefined_error(self);
  if (self.is_integral()) return Value::of(self.as_integer(), self.untrusted);
  if (self.is(Kind::real)) return std::isnan(self.real) ? otherwise : truncate_real(self.real, self.untrusted);
  if (!self.is(Kind::string)) return otherwise;
  runtime.budget().walk(self.view().size());
  const std::int64_t base = params.integer(1, 10);
  const bool tainted = self.text().tainted();
  std::int64_t integer = 0;
  if ((base == 0 || (base >= 2 && base <= 36)) && parse_integer(self.view(), static_cast<int>(base), integer)) {
    return Value::of(integer, tainted);
  }
  double real = 0;
  return parse_real(self.view(), real) && std::isfinite(real) ? truncate_real(real, tainted) : otherwise;
}

Value to_real(Runtime& runtime, const Value& self, const Params& params) {
  if (self.is(Kind::undefined)) runtime.undefined_error(self);
  if (self.is_number()) return Value::of(self.as_real(), self.untrusted);
  if (self.is(Kind::string)) runtime.budget().walk(self.view().size());
  double real = 0;
  if (self.is(Kind::string) && parse_real(self.view(), real)) return Value::of(real, self.text().tainted());
  return params.given(0) ? params[0] : Value::of(0.0);
}

double round_common(double value, std::int64_t precision) {
  if (!std::isfinite(value) || precision > 300) return value;
  if (precision >= 0) {
    const std::string digits = format("{:.{}f}", value, precision);
    double rounded = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), rounded);
    return rounded;
  }
  if (precision < -400) return 0.0 * value;
  const double unit = std::pow(10.0, static_cast<double>(-precision));
  return std::isfinite(unit) ? std::nearbyint(value / unit) * unit : 0.0 * value;
}

// Parameters: precision, method.
Value round(Runtime& runtime, const Value& self, const Params& params) {
  if (self.is(Kind::undefined)) runtime.undefined_error(self);
  if (!self.is_number()) fail(ErrorCode::malformed, "type {} cannot be rounded", type_name(self));
  const std::int64_t precision = params.integer(0, 0);
  const std::string method = params.given(1) ? params.text(1).bytes : "common";
  if (method == "common") {
    if (self.is(Kind::real)) return Value::of(round_common(self.real, precision), self.untrusted);
    if (precision >= 0) return Value::of(self.as_integer(), self.untrusted);
    return truncate_real(round_common(self.as_real(), precision), self.untrusted);
  }
  if (method != "ceil" && method != "floor") fail(ErrorCode::malformed, "method must be common, ceil or floor");
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double scaled = self.as_real() * unit;
  return Value::of((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit, self.untrusted);
}

constexpr Builtin kSequenceFilters[] = {
    {"abs", abs},
    {"batch", batch, {"linecount", "fill_with"}, 1},
    {"count", length_filter},
    {"d", default_filter, {"default_value", "boolean"}},
    {"default", default_filter, {"default_value", "boolean"}},
    {"dictsort", dictsort, {"case_sensitive", "by", "reverse"}},
    {"first", first},
    {"float", to_real, {"default"}},
    {"int", to_integer, {"default", "base"}},
    {"items", items},
    {"join", join, {"d", "attribute"}},
    {"last", last},
    {"length", length_filter},
    {"list", list},
    {"map", map, {}, 0, true},
    {"max", max, {"case_sensitive", "attribute"}},
    {"min", min, {"case_sensitive", "attribute"}},
    {"reject", reject, {}, 0, true},
    {"rejectattr", rejectattr, {}, 0, true},
    {"reverse", reverse},
    {"round", round, {"precision", "method"}},
    {"select", select, {}, 0, true},
    {"selectattr", selectattr, {}, 0, true},
    {"slice", slice, {"slices", "fill_with"}, 1},
    {"sort", sort, {"reverse", "case_sensitive", "attribute"}},
    {"sum", sum, {"attribute", "start"}},
    {"tojson", tojson, {"ensure_ascii", "indent", "separators", "sort_keys"}},
    {"unique", unique, {"case_sensitive", "attribute"}},
};

}  // namespace

std::span<const Builtin> sequence_filters() noexcept { return kSequenceFilters; }

}  // namespace rill::chat
