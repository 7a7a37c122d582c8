// The filters on text.
#include <algorithm>

#include "chat/string_functions.h"

namespace rill::chat {
namespace {

// The filter `title`: words begin after white space and one of - ( { [ <.
Value title_filter(Runtime& runtime, const Value& self, const Params&) {
  const Value source = to_string(runtime.heap(), self);
  const Text& text = source.text();
  Builder out(runtime.budget());
  bool starts = true, separator_before = false;
  for (std::size_t i = 0; i < text.bytes.size();) {
    const CodePoint c = decode(text.bytes, i);
    const bool separates =
        is_space(c.value) ||
        (c.value < 0x80 && std::string_view("-({[<").find(static_cast<char>(c.value)) != std::string_view::npos);
    if (separates != separator_before) starts = true;
    add_cased(out, text, i, c.length, starts ? Casing::upper : Casing::lower);
    starts = false;
    separator_before = separates;
    i += c.length;
  }
  return runtime.heap().string(out.take());
}

Value replace_filter(Runtime& runtime, const Value& self, const Params& params) {
  Heap& heap = runtime.heap();
  const bool all = !params.given(2) || params[2].is(Kind::none);
  const Value text = to_string(heap, self), from = to_string(heap, params[0]), to = to_string(heap, params[1]);
  return replace_text(runtime, text.text(), from.text(), to.text(), all ? -1 : params.integer(2, -1));
}

Value format_filter(Runtime& runtime, const Value& self, const Params& params) {
  if (!params.all().named.empty() && !params.all().positional.empty()) {
    fail(ErrorCode::malformed, "format takes positional or keyword arguments, not both");
  }
  return percent_format(runtime, to_string(runtime.heap(), self).text(), params.all());
}

Value center_filter(Runtime& runtime, const Value& self, const Params& params) {
  return pad(runtime, to_string(runtime.heap(), self), params, Side::both);
}

Value indent(Runtime& runtime, const Value& self, const Params& params) {
  if (self.is(Kind::undefined)) runtime.undefined_error(self);
  if (!self.is(Kind::string)) fail(ErrorCode::malformed, "indent needs a string, not '{}'", type_name(self));
  Builder margin(runtime.budget());
  if (params.given(0) && params[0].is(Kind::string)) {
    margin.add(params[0].text());
  } else {
    margin.fill(static_cast<std::size_t>(std::max<std::int64_t>(params.integer(0, 4), 0)), ' ');
  }
  Builder source(runtime.budget());
  source.add(self.text()).add("\n");  // so that a text's last line end counts as an empty line
  const Text& text = source.text();
  Builder out(runtime.budget());
  bool first_line = true;
  for (const Line& line : lines_of(runtime, text.bytes)) {
    if (!first_line) out.add("\n");
    const bool indents = first_line ? params.flag(1) : params.flag(2) || line.end > line.begin;
    if (indents) out.add(margin.text());
    out.add(text, line.begin, line.end);
    first_line = false;
  }
  return runtime.heap().string(out.take());
}

Value truncate(Runtime& runtime, const Value& self, const Params& params) {
  if (!self.is(Kind::string)) fail(ErrorCode::malformed, "truncate needs a string, not '{}'", type_name(self));
  const std::int64_t most = params.integer(0, 255), leeway = params.given(3) ? params.integer(3, 5) : 5;
  const Text end = params.given(2) ? params.text(2) : Text{"...", {}};
  const auto end_size = static_cast<std::int64_t>(count_code_points(end.bytes));
  if (most < end_size || leeway < 0) fail(ErrorCode::malformed, "truncate's length or leeway is too small");
  const auto size = static_cast<std::int64_t>(length(runtime.budget(), self));
  if (size <= leeway || size - leeway <= most) return self;
  std::size_t cut = byte_offset(self.view(), static_cast<std::size_t>(most - end_size));
  if (!params.flag(1)) cut = std::min(cut, self.view().substr(0, cut).rfind(' '));
  Builder out(runtime.budget());
  out.add(self.text(), 0, cut).add(end);
  return runtime.heap().string(out.take());
}

Value wordcount(Runtime& runtime, const Value& self, const Params&) {
  const Value text = to_string(runtime.heap(), self);
  runtime.budget().walk(text.view().size());
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.view().size();) {
    const CodePoint c = decode(text.view(), i);
    const bool word = is_word(c.value);
    words += word && !inside ? 1 : 0;
    inside = word;
    i += c.length;
  }
  return Value::of(words);
}

Value string(Runtime& runtime, const Value& self, const Params&) { return to_string(runtime.heap(), self); }

Value safe(Runtime& runtime, const Value& self, const Params&) {
  Value text = to_string(runtime.heap(), self);
  text.markup = true;
  return text;
}

Value escape(Runtime& runtime, const Value& self, const Params&) {
  if (self.markup) return self;
  return escape_html(runtime.heap(), to_string(runtime.heap(), self).text());
}

constexpr Builtin kStringFilters[] = {
    {"capitalize", capitalize},
    {"center", center_filter, {"width"}},
    {"e", escape},
    {"escape", escape},
    {"format", format_filter, {}, 0, true},
    {"indent", indent, {"width", "first", "blank"}},
    {"lower", lower},
    {"replace", replace_filter, {"old", "new", "count"}, 2},
    {"safe", safe},
    {"string", string},
    {"title", title_filter},
    {"trim", strip, {"chars"}},
    {"truncate", truncate, {"length", "killwords", "end", "leeway"}},
    {"upper", upper},
    {"wordcount", wordcount},
};

}  // namespace

Value escape_html(Heap& heap, const Text& text) {
  Builder out(heap.budget());
  for (std::size_t i = 0; i < text.bytes.size(); ++i) {
    const std::string_view entity = [c = text.bytes[i]]() -> std::string_view {
      switch (c) {
        case '&': return "&amp;";
        case '<': return "&lt;";
        case '>': return "&gt;";
        case '\'': return "&#39;";
        case '"': return "&#34;";
        default: return {};
      }
    }();
    if (entity.empty()) {
      out.add(text, i, i + 1);
    } else {
      out.add(entity, text.tainted(i, i + 1));
    }
  }
  Value result = heap.string(out.take());
  result.markup = true;
  return result;
}

std::span<const Builtin> string_filters() noexcept { return kStringFilters; }

}  // namespace rill::chat
