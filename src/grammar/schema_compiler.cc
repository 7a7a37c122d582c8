#include "grammar/schema_compiler.h"

#include <algorithm>

#include "base/error.h"
#include "schema/formats.h"

namespace rill::grammar {
namespace {

constexpr std::int64_t kMaxListedMultiples = 1000;

Expr chars(Expressions& e, std::string_view characters) {
  ByteSet set;
  for (const char c : characters) set.add(static_cast<unsigned char>(c));
  return e.bytes(set);
}

}  // namespace

Layout Layout::of(Expressions& e, JsonWhitespace whitespace) {
  const Expr none = Expr::epsilon;
  if (whitespace == JsonWhitespace::compact) return {none, none, none, none, none, none, none};
  if (whitespace == JsonWhitespace::pretty) {
    const Expr line = e.concat(e.literal("\n"), e.repeat(e.literal(" "), 0, 40));
    return {line, line, none, none, line, none, e.literal(" ")};
  }
  const Expr space = e.repeat(chars(e, " \t\n\r"), 0, 20);
  return {space, space, space, space, space, space, space};
}

void SchemaCompiler::check_stop() const {
  if (options_.stop.stop_requested()) throw ErrorException(Error{ErrorCode::cancelled, "stopped while a schema was compiled"});
}

// Goals count like expressions: a schema whose alternatives meet in every combination has as many goals.
void SchemaCompiler::count_goal(const Goal& goal) {
  goal_literals_ += goal.size() + 1;
  if (goal_literals_ <= options_.limits.max_expressions) return;
  throw ErrorException(make_error(ErrorCode::limit_exceeded,
                                  "the schema's subschemas meet in more ways than max_expressions = {}",
                                  options_.limits.max_expressions));
}

Expr SchemaCompiler::body(const Goal& goal) {
  std::vector<Expr> choices;
  for (const Branch& branch : branches_->of(goal)) choices.push_back(of_branch(goal, branch));
  return e_.either(choices);
}

Expr SchemaCompiler::of_branch(const Goal& goal, const Branch& branch) {
  if (const auto values = listed(branch)) return listed_values(goal, *values);
  std::vector<Expr> choices;
  // Checks are asked where they can fail only: an array's at arrays.
  const auto add = [&](Expr expr, std::vector<Literal> checks) {
    checks.insert(checks.end(), branch.checks.begin(), branch.checks.end());
    std::sort(checks.begin(), checks.end());
    checks.erase(std::unique(checks.begin(), checks.end()), checks.end());
    choices.push_back(checks.empty() || expr == Expr::nothing ? expr : checked("checked", expr, std::move(checks)));
  };
  const TypeSet types = branch.types;
  if (types & schema::kNull) add(e_.literal("null"), {});
  if (types & schema::kBoolean) add(e_.either(e_.literal("true"), e_.literal("false")), {});
  const auto add_checked = [&](TypeSet type, auto make) {
    if ((types & type) == 0) return;
    std::vector<Literal> checks;
    const Expr expr = make(checks);
    add(expr, std::move(checks));
  };
  add_checked(schema::kNumber, [&](auto& checks) { return number(branch, types, checks); });
  add_checked(schema::kString, [&](auto& checks) { return string(branch, checks); });
  add_checked(schema::kArray, [&](auto& checks) { return array(goal, branch, checks); });
  add_checked(schema::kObject, [&](auto& checks) { return object(goal, branch, checks); });
  return e_.either(choices);
}

std::optional<std::span<const JsonView>> SchemaCompiler::listed(const Branch& branch) const {
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    if (s.constant) return std::span(&*s.constant, 1);
    if (s.values) return *s.values;
  }
  return std::nullopt;
}

Expr SchemaCompiler::listed_values(const Goal& goal, std::span<const JsonView> values) {
  std::vector<Expr> choices;
  for (const JsonView value : values) {
    check_stop();
    const bool reached = std::all_of(goal.begin(), goal.end(), [&](const Literal& l) { return branches_->holds(l, value); });
    if (reached) choices.push_back(literal(value));
  }
  return e_.either(choices);
}

Expr SchemaCompiler::literal(JsonView root) {
  struct Step {
    JsonView value;
    std::size_t next = 0;
    std::vector<Expr> parts = {};
  };
  std::vector<Step> path{{root}};
  while (true) {
    Step& top = path.back();
    const JsonView value = top.value;
    if (top.next < value.size()) {
      path.push_back({value[top.next++]});
      continue;
    }
    Expr expr = Expr::nothing;
    switch (value.kind()) {
      case JsonKind::null: expr = e_.literal("null"); break;
      case JsonKind::boolean: expr = e_.literal(value.truth() ? "true" : "false"); break;
      case JsonKind::string: expr = text_.quoted(text_.body(value.text())); break;
      case JsonKind::number: expr = e_.either(text_.number(schema::number_of(value)), e_.literal(value.text())); break;
      case JsonKind::array:
      case JsonKind::object: {
        const bool object = value.is(JsonKind::object);
        for (std::size_t i = 0; object && i < value.size(); ++i) {
          top.parts[i] = member(text_.body(value[i].name()), top.parts[i]);
        }
        Expr inside = value.size() == 0 ? Expr::epsilon : top.parts.back();
        if (object && value.size() > 0 && options_.property_order == PropertyOrder::any) {
          inside = e_.members(comma(), top.parts, {}, Expr::nothing);
        } else {
          for (std::size_t i = value.size(); i-- > 1;) inside = e_.concat(top.parts[i - 1], e_.concat(comma(), inside));
        }
        expr = bracketed(object ? "{" : "[", value.size() == 0 ? Expr::nothing : inside, value.size() == 0, object ? "}" : "]");
        break;
      }
    }
    path.pop_back();
    if (path.empty()) return expr;
    path.back().parts.push_back(expr);
  }
}

Expr SchemaCompiler::bracketed(std::string_view open, Expr inside, bool may_be_empty, std::string_view close) {
  return opened(open, e_.concat(inside, closing(close)), may_be_empty, close);
}

// `inside` with its closing.
Expr SchemaCompiler::opened(std::string_view open, Expr inside, bool may_be_empty, std::string_view close) {
  const Expr filled = e_.concat(layout_.after_open, inside);
  const Expr empty = may_be_empty ? e_.concat(layout_.empty, e_.literal(close)) : Expr::nothing;
  return e_.concat(e_.literal(open), e_.either(filled, empty));
}

Expr SchemaCompiler::regex(const std::string& pattern, Match match) {
  const auto [known, is_new] = regexes_.try_emplace({pattern, match});
  if (!is_new) return known->second;
  const auto parsed =
      parse_regex(e_, pattern, {.match = match, .spell = [&](const CodePoints& set) { return text_.spell(set); }});
  if (!parsed) throw ErrorException(parsed.error());
  return known->second = *parsed;
}

Expr SchemaCompiler::string(const Branch& branch, std::vector<Literal>& checks) {
  return text_.quoted(string_body(branch, checks));
}

Expr SchemaCompiler::string_body(const Branch& branch, std::vector<Literal>& checks) {
  std::vector<Expr> parts;
  std::uint64_t least = 0, most = kUnbounded;
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    least = std::max(least, s.min_length.value_or(0));
    most = std::min(most, s.max_length.value_or(most));
    if (s.pattern && !validator_->is_dropped(*s.pattern)) parts.push_back(regex(*s.pattern, Match::search));
    if (s.format == schema::Format::regex) checks.push_back({id, false});
    if (s.format) {
      if (const auto pattern = schema::pattern_of(*s.format)) {
        parts.push_back(regex(pattern->pattern, Match::whole));
        if (pattern->max_length) most = std::min<std::uint64_t>(most, *pattern->max_length);
      }
    }
    const Exclusions& excluded = branches_->excluded(id);
    for (const std::string& text : excluded.strings) parts.push_back(e_.complement(text_.body(text)));
    for (const std::string& pattern : excluded.patterns) parts.push_back(e_.complement(regex(pattern, Match::search)));
  }
  if (least > most || least >= kUnbounded) return Expr::nothing;
  const Expr any = e_.repeat(text_.any_character(), static_cast<std::uint32_t>(least), static_cast<std::uint32_t>(most));
  const bool bounded = least > 0 || most != kUnbounded;
  const bool only_complements = std::all_of(parts.begin(), parts.end(), [&](Expr part) {
    return e_.node(part).kind == Kind::complement;
  });
  if (parts.empty() || bounded || only_complements) parts.push_back(any);
  return e_.both(parts);
}

Expr SchemaCompiler::number(const Branch& branch, TypeSet types, std::vector<Literal>& checks) {
  NumberBounds bounds{.integer = (types & schema::kNumber) == schema::kInteger};
  const auto raise = [&](const std::optional<Decimal>& value, bool exclusive) {
    if (!value) return;
    const auto order = bounds.least ? compare(*value, bounds.least->value) : std::strong_ordering::greater;
    if (order > 0 || (order == 0 && exclusive)) bounds.least = {*value, exclusive};
  };
  const auto lower = [&](const std::optional<Decimal>& value, bool exclusive) {
    if (!value) return;
    const auto order = bounds.most ? compare(*value, bounds.most->value) : std::strong_ordering::less;
    if (order < 0 || (order == 0 && exclusive)) bounds.most = {*value, exclusive};
  };
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    raise(s.minimum, false), raise(s.exclusive_minimum, true);
    lower(s.maximum, false), lower(s.exclusive_maximum, true);
    if (s.multiple_of && s.multiple_of->is_integer()) bounds.integer = true;
  }
  if (bounds.least && bounds.most && compare(bounds.least->value, bounds.most->value) > 0) return Expr::nothing;
  std::vector<Expr> parts{text_.number(bounds)};
  if ((types & schema::kNumber) == schema::kFraction) {
    parts.push_back(e_.complement(text_.number({.integer = true})));
    parts[0] = text_.number({.least = bounds.least, .most = bounds.most});
    // With an exponent it may still be an integer.
    const Expr any = e_.repeat(e_.bytes(ByteSet::all()), 0);
    parts.push_back(e_.complement(e_.concat(any, e_.concat(chars(e_, "eE"), any))));
  }
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    if (s.multiple_of) {
      if (const auto exact = multiples(*s.multiple_of, bounds)) {
        parts.push_back(*exact);
      } else {
        checks.push_back({id, false});
      }
    }
    for (const Decimal& value : branches_->excluded(id).numbers) parts.push_back(e_.complement(text_.number(value)));
  }
  return e_.both(parts);
}

// The numbers within bounds that are multiples of `of`, where they are a regular language that is not large.
std::optional<Expr> SchemaCompiler::multiples(const Decimal& of, const NumberBounds& bounds) {
  const Expr digits = e_.repeat(chars(e_, "0123456789"), 0), sign = e_.optional(e_.literal("-"));
  if (of.digits == "1") {
    const auto places = static_cast<std::uint32_t>(std::min<std::int64_t>(of.exponent < 0 ? -of.exponent : of.exponent, 1000));
    if (of.exponent < 0) {
      const Expr fraction = e_.concat(e_.literal("."), e_.concat(e_.repeat(chars(e_, "0123456789"), 0, places),
                                                                 e_.repeat(e_.literal("0"), 0)));
      return e_.concat(sign, e_.concat(digits, e_.optional(fraction)));
    }
    const Expr zeros = e_.repeat(e_.literal("0"), places, places);
    const Expr whole = e_.either(e_.literal("0"), e_.concat(digits, zeros));
    return e_.concat(sign, e_.concat(whole, e_.optional(e_.literal(".0"))));
  }
  const auto small = [](const Decimal& value) -> std::optional<std::int64_t> {
    const std::string text = value.integer_part();
    if (!value.is_integer() || text.size() > 9) return std::nullopt;
    return value.negative ? -std::stoll(text) : std::stoll(text);
  };
  if (!bounds.least || !bounds.most) return std::nullopt;
  const auto step = small(of), first = small(bounds.least->value), last = small(bounds.most->value);
  if (!step || !first || !last || (*last - *first) / *step > kMaxListedMultiples) return std::nullopt;
  std::vector<Expr> choices;
  for (std::int64_t k = *first / *step - 1; k * *step <= *last; ++k) {
    if (k * *step >= *first) choices.push_back(text_.number(*Decimal::parse(std::to_string(k * *step))));
  }
  return e_.either(choices);
}

}  // namespace rill::grammar
