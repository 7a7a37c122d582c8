#include "chat/builtins.h"

#include <algorithm>

#include "chat/runtime.h"

namespace rill::chat {
namespace {

template <typename Table>
const Builtin* find_in(const Table& table, std::string_view name) noexcept {
  const auto found =
      std::find_if(std::begin(table), std::end(table), [name](const Builtin& b) { return b.name == name; });
  return found != std::end(table) ? &*found : nullptr;
}

Value range(Runtime& runtime, const Value&, const Params& params) {
  auto* range = runtime.heap().make<Range>();
  const std::int64_t first = params.integer(0, 0);
  range->stop = params.given(1) ? params.integer(1, 0) : first;
  range->start = params.given(1) ? first : 0;
  range->step = params.integer(2, 1);
  if (range->step == 0) fail(ErrorCode::malformed, "range() arg 3 must not be zero");
  const bool up = range->step > 0;
  if (up ? range->start < range->stop : range->start > range->stop) {
    const auto low = static_cast<std::uint64_t>(up ? range->start : range->stop);
    const auto high = static_cast<std::uint64_t>(up ? range->stop : range->start);
    const std::uint64_t pace =
        up ? static_cast<std::uint64_t>(range->step) : 0 - static_cast<std::uint64_t>(range->step);
    const std::uint64_t count = (high - low - 1) / pace + 1;
    const std::size_t limit = runtime.budget().limits().range_items;
    if (count > limit) Budget::exceeded("range_items", limit);
    range->count = static_cast<std::size_t>(count);
  }
  return Value::of(Kind::range, range);
}

// dict(mapping, **names), also for namespace().
Dict* make_dict(Runtime& runtime, const Args& args) {
  auto* dict = runtime.heap().make<Dict>();
  if (args.positional.size() > 1) fail(ErrorCode::malformed, "dict expected at most 1 argument");
  if (!args.positional.empty()) {
    const Value& source = args.positional[0];
    if (source.is(Kind::dict)) {
      for (const auto& [key, value] : source.dict().items) insert(runtime.heap(), *dict, key, value);
    } else {
      for (const Value& entry : runtime.items(source)) {
        const std::vector<Value> pair = runtime.items(entry);
        if (pair.size() != 2) fail(ErrorCode::malformed, "a pair of a dict has {} elements", pair.size());
        insert(runtime.heap(), *dict, pair[0], pair[1]);
      }
    }
  }
  for (const auto& [name, value] : args.named) insert(runtime.heap(), *dict, runtime.heap().string(name), value);
  return dict;
}

Value dict(Runtime& runtime, const Value&, const Params& params) {
  return Value::of(Kind::dict, make_dict(runtime, params.all()));
}

Value name_space(Runtime& runtime, const Value&, const Params& params) {
  Dict* attributes = make_dict(runtime, params.all());
  for (const auto& [key, value] : attributes->items) {
    if (key.is(Kind::string) && key.view().starts_with('_')) {
      fail(ErrorCode::malformed, "a namespace's attribute may not begin with an underscore: '{}'", key.view());
    }
  }
  return Value::of(Kind::name_space, attributes);
}

Value cycler(Runtime& runtime, const Value&, const Params& params) {
  if (params.all().positional.empty()) fail(ErrorCode::malformed, "at least one item has to be provided");
  auto* cycler = runtime.heap().make<Cycler>();
  cycler->items = params.all().positional;
  return Value::of(Kind::cycler, cycler);
}

Value cycler_next(Runtime&, const Value& self, const Params&) {
  auto& cycler = *static_cast<Cycler*>(self.object);
  const Value current = cycler.items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.size();
  return current;
}

Value cycler_reset(Runtime&, const Value& self, const Params&) {
  static_cast<Cycler*>(self.object)->position = 0;
  return Value::none();
}

Value joiner(Runtime& runtime, const Value&, const Params& params) {
  auto* joiner = runtime.heap().make<Joiner>();
  joiner->separator = params.given(0) ? params[0] : runtime.heap().string(", ");
  return Value::of(Kind::joiner, joiner);
}

Value raise_exception(Runtime& runtime, const Value&, const Params& params) {
  fail(ErrorCode::template_refused, "{}", to_string(runtime.heap(), params[0]).view());
}

constexpr Builtin kGlobals[] = {
    {"range", range, {"start", "stop", "step"}, 1},
    {"dict", dict, {}, 0, true},
    {"namespace", name_space, {}, 0, true},
    {"cycler", cycler, {}, 0, true},
    {"joiner", joiner, {"sep"}},
    {"raise_exception", raise_exception, {"message"}, 1},
    {"strftime_now", strftime_now, {"format"}, 1},
};

Value dict_get(Runtime& runtime, const Value& self, const Params& params) {
  const Value* found = find(runtime.budget(), self.dict(), params[0]);
  if (found != nullptr) return *found;
  return params.given(1) ? params[1] : Value::none();
}

Value dict_keys(Runtime& runtime, const Value& self, const Params&) {
  std::vector<Value> keys;
  for (const auto& entry : self.dict().items) keys.push_back(entry.first);
  return runtime.heap().sequence(Kind::view, std::move(keys), self.untrusted, "dict_keys");
}

Value dict_values(Runtime& runtime, const Value& self, const Params&) {
  std::vector<Value> values;
  for (const auto& entry : self.dict().items) values.push_back(entry.second);
  return runtime.heap().sequence(Kind::view, std::move(values), self.untrusted, "dict_values");
}

Value dict_items(Runtime& runtime, const Value& self, const Params&) {
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict().items) {
    items.push_back(runtime.heap().sequence(Kind::tuple, {key, value}, self.untrusted));
  }
  return runtime.heap().sequence(Kind::view, std::move(items), self.untrusted, "dict_items");
}

constexpr Builtin kDictMethods[] = {
    {"get", dict_get, {"key", "default"}, 1},
    {"keys", dict_keys},
    {"values", dict_values},
    {"items", dict_items},
};

Value list_index(Runtime& runtime, const Value& self, const Params& params) {
  const auto& items = self.sequence().items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (equal(runtime.budget(), items[i], params[0])) return Value::of(static_cast<std::int64_t>(i));
  }
  fail(ErrorCode::malformed, "the value is not in the list");
}

Value list_count(Runtime& runtime, const Value& self, const Params& params) {
  std::int64_t count = 0;
  for (const Value& item : self.sequence().items) count += equal(runtime.budget(), item, params[0]) ? 1 : 0;
  return Value::of(count);
}

constexpr Builtin kListMethods[] = {
    {"index", list_index, {"value"}, 1},
    {"count", list_count, {"value"}, 1},
};

Value loop_cycle(Runtime&, const Value& self, const Params& params) {
  const auto& items = params.all().positional;
  if (items.empty()) fail(ErrorCode::malformed, "no items for cycling given");
  return items[static_cast<std::size_t>(static_cast<const Loop*>(self.object)->index0) % items.size()];
}

Value loop_changed(Runtime& runtime, const Value& self, const Params& params) {
  auto& loop = *static_cast<Loop*>(self.object);
  const auto& now = params.all().positional;
  bool same = loop.has_changed_value && loop.changed_value.size() == now.size();
  for (std::size_t i = 0; same && i < now.size(); ++i) same = equal(runtime.budget(), loop.changed_value[i], now[i]);
  loop.has_changed_value = true;
  loop.changed_value = now;
  return Value::of(!same);
}

constexpr Builtin kLoopMethods[] = {
    {"cycle", loop_cycle, {}, 0, true},
    {"changed", loop_changed, {}, 0, true},
};

constexpr Builtin kCyclerMethods[] = {
    {"next", cycler_next},
    {"reset", cycler_reset},
};

bool listed(std::string_view names, std::string_view name) noexcept {
  for (std::size_t at = names.find(name); at != std::string_view::npos; at = names.find(name, at + 1)) {
    const bool starts = at == 0 || names[at - 1] == ' ';
    const std::size_t end = at + name.size();
    if (starts && (end == names.size() || names[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

std::int64_t Params::integer(std::size_t i, std::int64_t otherwise) const {
  if (!given(i)) return otherwise;
  if (!values_[i].is_integral()) fail(ErrorCode::malformed, "expected an integer, not '{}'", type_name(values_[i]));
  return values_[i].as_integer();
}

const Text& Params::text(std::size_t i) const {
  if (!values_[i].is(Kind::string)) fail(ErrorCode::malformed, "expected a string, not '{}'", type_name(values_[i]));
  return values_[i].text();
}

Params bind(const Builtin& builtin, const Args& args) {
  Params params;
  params.args_ = &args;
  if (builtin.variadic) return params;
  const auto& names = builtin.parameters;
  const auto count = static_cast<std::size_t>(std::find(names.begin(), names.end(), nullptr) - names.begin());
  if (args.positional.size() > count) {
    fail(ErrorCode::malformed, "{}() takes at most {} argument(s), {} were given", builtin.name, count,
         args.positional.size());
  }
  for (std::size_t i = 0; i < args.positional.size(); ++i) {
    params.values_[i] = args.positional[i];
    params.given_[i] = true;
  }
  for (const auto& [name, value] : args.named) {
    const auto at = static_cast<std::size_t>(
        std::find_if(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count),
                     [&name = name.bytes](const char* known) { return name == known; }) - names.begin());
    if (at == count || params.given_[at]) {
      fail(ErrorCode::malformed, "{}() got an unexpected argument '{}'", builtin.name, name.bytes);
    }
    params.values_[at] = value;
    params.given_[at] = true;
  }
  for (std::size_t i = 0; i < builtin.required; ++i) {
    if (!params.given_[i]) fail(ErrorCode::malformed, "{}() misses its argument '{}'", builtin.name, names[i]);
  }
  return params;
}

const Builtin* find_filter(std::string_view name) noexcept {
  const Builtin* found = find_in(string_filters(), name);
  return found != nullptr ? found : find_in(sequence_filters(), name);
}

const Builtin* find_global(std::string_view name) noexcept { return find_in(kGlobals, name); }

const Builtin* find_container_method(Kind kind, std::string_view name) noexcept {
  switch (kind) {
    case Kind::dict: return find_in(kDictMethods, name);
    case Kind::list:
    case Kind::tuple: return find_in(kListMethods, name);
    case Kind::loop: return find_in(kLoopMethods, name);
    case Kind::cycler: return find_in(kCyclerMethods, name);
    default: return nullptr;
  }
}

Missing missing_method(Kind kind, std::string_view name) noexcept {
  std::string_view unsafe, unsupported;
  switch (kind) {
    case Kind::dict:
      unsafe = "clear pop popitem setdefault update";
      unsupported = "copy fromkeys";
      break;
    case Kind::list:
      unsafe = "append clear pop reverse insert sort extend remove";
      unsupported = "copy";
      break;
    case Kind::string:
      unsupported =
          "casefold encode expandtabs format_map isascii isidentifier isnumeric isprintable istitle maketrans swapcase "
          "translate";
      break;
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
      unsupported =
          "real imag numerator denominator conjugate bit_length bit_count as_integer_ratio to_bytes from_bytes "
          "is_integer "
          "hex fromhex";
      break;
    case Kind::range: unsupported = "start stop step index count"; break;
    case Kind::view: unsupported = "mapping isdisjoint"; break;
    case Kind::macro: unsupported = "arguments catch_kwargs catch_varargs caller explicit_caller"; break;
    case Kind::cycler: unsupported = "items pos"; break;
    case Kind::joiner: unsupported = "sep used"; break;
    default: break;
  }
  if (listed(unsafe, name)) return Missing::unsafe;
  return listed(unsupported, name) ? Missing::unsupported : Missing::no;
}

}  // namespace rill::chat
