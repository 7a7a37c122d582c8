// Methods of str.
#include <algorithm>

#include "chat/string_functions.h"

namespace rill::chat {
namespace {

constexpr std::size_t kNpos = std::string::npos;

// str.title: a cased letter after an uncased one starts a word.
Value title(Runtime& runtime, const Value& self, const Params&) {
  const Text& text = self.text();
  Builder out(runtime.budget());
  bool inside = false;
  for (std::size_t i = 0; i < text.bytes.size();) {
    const CodePoint c = decode(text.bytes, i);
    add_cased(out, text, i, c.length, inside ? Casing::lower : Casing::title);
    inside = is_upper(c.value) || is_lower(c.value) || is_title(c.value);
    i += c.length;
  }
  return runtime.heap().string(out.take());
}

Value lstrip(Runtime& runtime, const Value& self, const Params& params) {
  return strip_sides(runtime, self.text(), params, true, false);
}
Value rstrip(Runtime& runtime, const Value& self, const Params& params) {
  return strip_sides(runtime, self.text(), params, false, true);
}

Value replace(Runtime& runtime, const Value& self, const Params& params) {
  const bool all = !params.given(2) || params[2].is(Kind::none);
  return replace_text(runtime, self.text(), params.text(0), params.text(1), all ? -1 : params.integer(2, -1));
}

std::vector<Value> split_space(Runtime& runtime, const Text& text, std::size_t limit, bool from_right) {
  std::vector<Value> parts;
  const std::string_view bytes = text.bytes;
  std::size_t begin = 0, end = bytes.size();
  const auto skip_left = [&](bool space) {
    while (begin < end) {
      const CodePoint c = decode(bytes, begin);
      if (is_space(c.value) != space) break;
      begin += c.length;
    }
  };
  const auto skip_right = [&](bool space) {
    while (begin < end) {
      const CodePoint c = decode_before(bytes, end);
      if (is_space(c.value) != space) break;
      end -= c.length;
    }
  };
  for (;;) {
    from_right ? skip_right(true) : skip_left(true);
    if (begin == end) break;
    if (parts.size() == limit) {
      parts.push_back(piece(runtime, text, begin, end));
      break;
    }
    const std::size_t mark = from_right ? end : begin;
    from_right ? skip_right(false) : skip_left(false);
    parts.push_back(from_right ? piece(runtime, text, end, mark) : piece(runtime, text, mark, begin));
  }
  return parts;
}

std::vector<Value> split_at(Runtime& runtime, const Text& text, std::string_view separator, std::size_t limit,
                            bool from_right) {
  if (separator.empty()) fail(ErrorCode::malformed, "empty separator");
  runtime.budget().search(text.bytes.size(), separator.size());
  std::vector<Value> parts;
  std::size_t begin = 0, end = text.bytes.size();
  while (parts.size() < limit) {
    const std::string_view rest = std::string_view(text.bytes).substr(begin, end - begin);
    const std::size_t at = from_right ? rest.rfind(separator) : rest.find(separator);
    if (at == kNpos) break;
    if (from_right) {
      parts.push_back(piece(runtime, text, begin + at + separator.size(), end));
      end = begin + at;
    } else {
      parts.push_back(piece(runtime, text, begin, begin + at));
      begin += at + separator.size();
    }
  }
  parts.push_back(piece(runtime, text, begin, end));
  return parts;
}

Value split_sides(Runtime& runtime, const Value& self, const Params& params, bool from_right) {
  const std::int64_t most = params.integer(1, -1);
  const std::size_t limit = most < 0 ? kNpos : static_cast<std::size_t>(most);
  const bool by_space = !params.given(0) || params[0].is(Kind::none);
  if (by_space) runtime.budget().walk(self.view().size());
  std::vector<Value> parts = by_space ? split_space(runtime, self.text(), limit, from_right)
                                      : split_at(runtime, self.text(), params.text(0).bytes, limit, from_right);
  if (from_right) std::reverse(parts.begin(), parts.end());
  return runtime.heap().list(std::move(parts), self.text().tainted());
}

Value split(Runtime& runtime, const Value& self, const Params& params) {
  return split_sides(runtime, self, params, false);
}
Value rsplit(Runtime& runtime, const Value& self, const Params& params) {
  return split_sides(runtime, self, params, true);
}

Value splitlines(Runtime& runtime, const Value& self, const Params& params) {
  std::vector<Value> parts;
  for (const Line& line : lines_of(runtime, self.view())) {
    parts.push_back(piece(runtime, self.text(), line.begin, params.flag(0) ? line.next : line.end));
  }
  return runtime.heap().list(std::move(parts), self.text().tainted());
}

Value partition_at(Runtime& runtime, const Value& self, const Params& params, bool from_right) {
  const std::string& separator = params.text(0).bytes;
  if (separator.empty()) fail(ErrorCode::malformed, "empty separator");
  const Text& text = self.text();
  runtime.budget().search(text.bytes.size(), separator.size());
  const std::size_t at = from_right ? text.bytes.rfind(separator) : text.bytes.find(separator);
  const std::size_t size = text.bytes.size();
  std::vector<Value> parts;
  const std::size_t none = from_right ? 0 : size;
  const std::size_t begin = at == kNpos ? none : at, end = at == kNpos ? none : at + separator.size();
  parts = {piece(runtime, text, 0, begin), piece(runtime, text, begin, end), piece(runtime, text, end, size)};
  return runtime.heap().sequence(Kind::tuple, std::move(parts), text.tainted());
}
Value partition(Runtime& runtime, const Value& self, const Params& params) {
  return partition_at(runtime, self, params, false);
}
Value rpartition(Runtime& runtime, const Value& self, const Params& params) {
  return partition_at(runtime, self, params, true);
}

// The part of the text between the optional arguments `start` and `end` of find() and its kin, in bytes.
ByteRange window(Runtime& runtime, std::string_view bytes, const Params& params) {
  if (!params.given(1) && !params.given(2)) return {0, bytes.size()};
  const auto size = static_cast<std::int64_t>(count_code_points(bytes));
  runtime.budget().step(bytes.size() / 64);
  const auto clamp = [&](std::size_t i, std::int64_t otherwise) {
    std::int64_t value = !params.given(i) || params[i].is(Kind::none) ? otherwise : params.integer(i, otherwise);
    if (value < 0) value = std::max(value, -size) + size;
    return static_cast<std::size_t>(std::min(value, size));
  };
  const std::size_t begin = byte_offset(bytes, clamp(1, 0)), end = byte_offset(bytes, clamp(2, size));
  return {begin, std::max(begin, end)};
}

Value find_sides(Runtime& runtime, const Value& self, const Params& params, bool from_right, bool must) {
  const ByteRange range = window(runtime, self.view(), params);
  const std::string_view inside = self.view().substr(range.begin, range.end - range.begin);
  const std::string& sought = params.text(0).bytes;
  runtime.budget().search(inside.size(), sought.size());
  const std::size_t at = from_right ? inside.rfind(sought) : inside.find(sought);
  if (at == kNpos && must) fail(ErrorCode::malformed, "substring not found");
  if (at == kNpos) return Value::of(std::int64_t{-1});
  return Value::of(static_cast<std::int64_t>(count_code_points(self.view().substr(0, range.begin + at))));
}
Value find_text(Runtime& runtime, const Value& self, const Params& params) {
  return find_sides(runtime, self, params, false, false);
}
Value rfind_text(Runtime& runtime, const Value& self, const Params& params) {
  return find_sides(runtime, self, params, true, false);
}
Value index_text(Runtime& runtime, const Value& self, const Params& params) {
  return find_sides(runtime, self, params, false, true);
}
Value rindex_text(Runtime& runtime, const Value& self, const Params& params) {
  return find_sides(runtime, self, params, true, true);
}

Value count(Runtime& runtime, const Value& self, const Params& params) {
  const ByteRange range = window(runtime, self.view(), params);
  const std::string_view inside = self.view().substr(range.begin, range.end - range.begin);
  const std::string& sought = params.text(0).bytes;
  runtime.budget().search(inside.size(), sought.size());
  if (sought.empty()) return Value::of(static_cast<std::int64_t>(count_code_points(inside) + 1));
  std::int64_t found = 0;
  for (std::size_t at = inside.find(sought); at != kNpos; at = inside.find(sought, at + sought.size())) ++found;
  return Value::of(found);
}

Value has_affix(Runtime& runtime, const Value& self, const Params& params, bool at_end) {
  const ByteRange range = window(runtime, self.view(), params);
  const std::string_view inside = self.view().substr(range.begin, range.end - range.begin);
  const std::vector<Value> affixes = params[0].is(Kind::tuple) ? params[0].sequence().items : std::vector{params[0]};
  for (const Value& affix : affixes) {
    if (!affix.is(Kind::string)) fail(ErrorCode::malformed, "expected a string or a tuple of strings");
    if (at_end ? inside.ends_with(affix.view()) : inside.starts_with(affix.view())) return Value::of(true);
  }
  return Value::of(false);
}
Value startswith(Runtime& runtime, const Value& self, const Params& params) {
  return has_affix(runtime, self, params, false);
}
Value endswith(Runtime& runtime, const Value& self, const Params& params) {
  return has_affix(runtime, self, params, true);
}

Value removeprefix(Runtime& runtime, const Value& self, const Params& params) {
  const std::string& prefix = params.text(0).bytes;
  return piece(runtime, self.text(), self.view().starts_with(prefix) ? prefix.size() : 0, self.view().size());
}
Value removesuffix(Runtime& runtime, const Value& self, const Params& params) {
  const std::string& suffix = params.text(0).bytes;
  return piece(runtime, self.text(), 0, self.view().size() - (self.view().ends_with(suffix) ? suffix.size() : 0));
}

Value join_strings(Runtime& runtime, const Value& self, const Params& params) {
  Builder out(runtime.budget());
  bool first = true;
  for (const Value& item : runtime.items(params[0])) {
    if (!item.is(Kind::string)) fail(ErrorCode::malformed, "expected strings to join, not '{}'", type_name(item));
    if (!std::exchange(first, false)) out.add(self.text());
    out.add(item.text());
  }
  return runtime.heap().string(out.take());
}

template <bool (*kTest)(std::uint32_t)>
Value all_are(Runtime& runtime, const Value& self, const Params&) {
  const std::string_view bytes = self.view();
  runtime.budget().walk(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const CodePoint c = decode(bytes, i);
    if (!kTest(c.value)) return Value::of(false);
    i += c.length;
  }
  return Value::of(!bytes.empty());
}

bool is_alphanumeric(std::uint32_t c) { return c != '_' && is_word(c); }
bool test_space(std::uint32_t c) { return is_space(c); }
bool test_digit(std::uint32_t c) { return is_digit(c); }
bool test_decimal(std::uint32_t c) { return is_decimal(c); }
bool test_alpha(std::uint32_t c) { return is_alpha(c); }

// Whether all cased letters are of the one case, and there is one.
Value in_case(Runtime& runtime, const Value& self, bool lower_case) {
  const Value text = to_string(runtime.heap(), self);
  runtime.budget().walk(text.view().size());
  bool found = false;
  for (std::size_t i = 0; i < text.view().size();) {
    const CodePoint c = decode(text.view(), i);
    if (is_title(c.value) || (lower_case ? is_upper(c.value) : is_lower(c.value))) return Value::of(false);
    found = found || (lower_case ? is_lower(c.value) : is_upper(c.value));
    i += c.length;
  }
  return Value::of(found);
}
Value islower(Runtime& runtime, const Value& self, const Params&) { return in_case(runtime, self, true); }
Value isupper(Runtime& runtime, const Value& self, const Params&) { return in_case(runtime, self, false); }

Value format_method(Runtime& runtime, const Value& self, const Params& params) {
  return brace_format(runtime, self.text(), params.all());
}
Value ljust(Runtime& runtime, const Value& self, const Params& params) {
  return pad(runtime, self, params, Side::right);
}
Value rjust(Runtime& runtime, const Value& self, const Params& params) {
  return pad(runtime, self, params, Side::left);
}
Value center(Runtime& runtime, const Value& self, const Params& params) {
  return pad(runtime, self, params, Side::both);
}
Value zfill(Runtime& runtime, const Value& self, const Params& params) {
  const auto size = static_cast<std::int64_t>(length(runtime.budget(), self));
  const std::size_t sign = self.view().starts_with('-') || self.view().starts_with('+') ? 1 : 0;
  Builder out(runtime.budget());
  out.add(self.text(), 0, sign);
  const auto zeros = static_cast<std::size_t>(std::max<std::int64_t>(params.integer(0, 0) - size, 0));
  out.fill(zeros, '0').add(self.text(), sign, self.view().size());
  return runtime.heap().string(out.take());
}

constexpr Builtin kMethods[] = {
    {"capitalize", capitalize},
    {"center", center, {"width", "fillchar"}, 1},
    {"count", count, {"sub", "start", "end"}, 1},
    {"endswith", endswith, {"suffix", "start", "end"}, 1},
    {"find", find_text, {"sub", "start", "end"}, 1},
    {"format", format_method, {}, 0, true},
    {"index", index_text, {"sub", "start", "end"}, 1},
    {"isalnum", all_are<is_alphanumeric>},
    {"isalpha", all_are<test_alpha>},
    {"isdecimal", all_are<test_decimal>},
    {"isdigit", all_are<test_digit>},
    {"islower", islower},
    {"isspace", all_are<test_space>},
    {"isupper", isupper},
    {"join", join_strings, {"iterable"}, 1},
    {"ljust", ljust, {"width", "fillchar"}, 1},
    {"lower", lower},
    {"lstrip", lstrip, {"chars"}},
    {"partition", partition, {"sep"}, 1},
    {"removeprefix", removeprefix, {"prefix"}, 1},
    {"removesuffix", removesuffix, {"suffix"}, 1},
    {"replace", replace, {"old", "new", "count"}, 2},
    {"rfind", rfind_text, {"sub", "start", "end"}, 1},
    {"rindex", rindex_text, {"sub", "start", "end"}, 1},
    {"rjust", rjust, {"width", "fillchar"}, 1},
    {"rpartition", rpartition, {"sep"}, 1},
    {"rsplit", rsplit, {"sep", "maxsplit"}},
    {"rstrip", rstrip, {"chars"}},
    {"split", split, {"sep", "maxsplit"}},
    {"splitlines", splitlines, {"keepends"}},
    {"startswith", startswith, {"prefix", "start", "end"}, 1},
    {"strip", strip, {"chars"}},
    {"title", title},
    {"upper", upper},
    {"zfill", zfill, {"width"}, 1},
};

}  // namespace

const Builtin* find_string_method(std::string_view name) noexcept {
  const auto found =
      std::find_if(std::begin(kMethods), std::end(kMethods), [name](const Builtin& b) { return b.name == name; });
  return found != std::end(kMethods) ? found : nullptr;
}

}  // namespace rill::chat
