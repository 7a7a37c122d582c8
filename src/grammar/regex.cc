#include "grammar/regex.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "regex/pattern.h"

namespace rill::grammar {
namespace {

constexpr std::uint32_t kMaxAnchoredRepeat = 64;

// What a part of the pattern matches, by whether it begins where the text begins, and ends where the text ends:
// at[begins][ends]. Without anchors the four are equal. An empty match at a border both begins and ends there.
struct Part {
  Expr at[2][2];

  explicit Part(Expr all) : at{{all, all}, {all, all}} {}
  bool anchored() const { return at[0][0] != at[0][1] || at[0][0] != at[1][0] || at[0][0] != at[1][1]; }
};

template <typename Make>
Part make_part(Make make) {
  Part part(Expr::nothing);
  for (int begins = 0; begins < 2; ++begins) {
    for (int ends = 0; ends < 2; ++ends) part.at[begins][ends] = make(begins, ends);
  }
  return part;
}

class ExpressionBuilder {
 public:
  using Part = grammar::Part;

  ExpressionBuilder(Expressions& expressions, const RegexOptions& options) : expressions_(expressions), options_(options) {}

  Part set(const CodePoints& set) { return Part(spell(set)); }
  Part text_begin() const {
    return make_part([](int begins, int) { return begins ? Expr::epsilon : Expr::nothing; });
  }
  Part text_end() const {
    return make_part([](int, int ends) { return ends ? Expr::epsilon : Expr::nothing; });
  }
  Part sequence(const std::vector<Part>& parts);
  Part choice(const std::vector<Part>& choices);
  Result<Part> repeat(const Part& part, std::uint32_t least, std::uint32_t most, std::size_t position);

  Part join(const Part& a, const Part& b);
  Expr spell(const CodePoints& set) { return options_.spell ? options_.spell(set) : utf8_of(expressions_, set); }

 private:
  Part star(const Part& part);
  Part optional(const Part& part);

  Expressions& expressions_;
  const RegexOptions& options_;
};

// a and then b. Where what one of them matches depends on the other's being empty, the cases are kept apart.
Part ExpressionBuilder::join(const Part& a, const Part& b) {
  Expressions& e = expressions_;
  return make_part([&](int begins, int ends) {
    const Expr left = a.at[begins][0], right = b.at[0][ends];
    const Expr lone_left = a.at[begins][ends], lone_right = b.at[begins][ends];
    const bool left_open = left != lone_left, right_open = right != lone_right;
    if (!left_open && !right_open) return e.concat(left, right);
    std::vector<Expr> cases{e.concat(right_open ? e.without_epsilon(left) : left,
                                     left_open ? e.without_epsilon(right) : right)};
    if (e.nullable(left)) cases.push_back(e.nullable(lone_left) ? lone_right : e.without_epsilon(lone_right));
    if (e.nullable(right)) cases.push_back(e.nullable(lone_right) ? lone_left : e.without_epsilon(lone_left));
    if (e.nullable(lone_left) && e.nullable(lone_right)) cases.push_back(Expr::epsilon);
    return e.either(cases);
  });
}

Part ExpressionBuilder::star(const Part& part) {
  Expressions& e = expressions_;
  return make_part([&](int begins, int ends) {
    const Expr inner = e.repeat(e.without_epsilon(part.at[0][0]), 0);
    const Expr several = e.concat(e.without_epsilon(part.at[begins][0]),
                                  e.concat(inner, e.without_epsilon(part.at[0][ends])));
    const Expr cases[] = {Expr::epsilon, part.at[begins][ends], several};
    return e.either(cases);
  });
}

Part ExpressionBuilder::optional(const Part& part) {
  return make_part([&](int begins, int ends) { return expressions_.optional(part.at[begins][ends]); });
}

Result<Part> ExpressionBuilder::repeat(const Part& part, std::uint32_t least, std::uint32_t most, std::size_t position) {
  if (!part.anchored()) return Part(expressions_.repeat(part.at[0][0], least, most));
  if (std::max(least, most == kUnbounded ? 0 : most) > kMaxAnchoredRepeat) {
    return make_error(ErrorCode::unsupported, "regex: more than {} repeats of a group with an anchor, at offset {}",
                      kMaxAnchoredRepeat, position);
  }
  Part result(Expr::epsilon);
  if (most == kUnbounded) {
    result = star(part);
  } else {
    for (std::uint32_t i = least; i < most; ++i) result = optional(join(part, result));
  }
  for (std::uint32_t i = 0; i < least; ++i) result = join(part, result);
  return result;
}

Part ExpressionBuilder::sequence(const std::vector<Part>& parts) {
  if (parts.empty()) return Part(Expr::epsilon);
  Part whole = parts.back();
  for (std::size_t i = parts.size() - 1; i-- > 0;) whole = join(parts[i], whole);
  return whole;
}

Part ExpressionBuilder::choice(const std::vector<Part>& choices) {
  return make_part([&](int begins, int ends) {
    std::vector<Expr> operands;
    for (const Part& one : choices) operands.push_back(one.at[begins][ends]);
    return expressions_.either(operands);
  });
}

}  // namespace

Result<Expr> parse_regex(Expressions& expressions, std::string_view pattern, const RegexOptions& options) {
  ExpressionBuilder builder(expressions, options);
  RILL_ASSIGN(Part whole, regex::PatternParser(pattern, builder).parse());
  if (options.match == Match::search) {
    const Part anything(expressions.repeat(builder.spell(CodePoints::all()), 0));
    whole = builder.join(anything, builder.join(whole, anything));
  }
  return whole.at[1][1];
}

}  // namespace rill::grammar
