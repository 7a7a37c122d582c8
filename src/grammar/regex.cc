#include "grammar/regex.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "regex/regex_reader.h"

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

class Parser {
 public:
  Parser(Expressions& expressions, std::string_view pattern, const RegexOptions& options)
      : expressions_(expressions), reader_(pattern), options_(options) {}

  Result<Expr> parse();

 private:
  struct Group {
    std::size_t opened = 0;  // where its parenthesis stands
    std::vector<Part> sequence = {};
    std::vector<Part> choices = {};
    bool repeatable = false;  // the last part may be repeated
  };

  Result<void> parse_step();
  Result<void> parse_quantifier();
  void append(Part part, bool repeatable = true);
  void append_set(const CodePoints& set) { append(Part(spell(set))); }
  Expr spell(const CodePoints& set) { return options_.spell ? options_.spell(set) : utf8_of(expressions_, set); }
  void end_choice(Group& group);
  Part end_group(Group& group);

  Part join(const Part& a, const Part& b);
  Part star(const Part& part);
  Part optional(const Part& part);
  Result<Part> repeat(const Part& part, std::uint32_t least, std::uint32_t most);

  Expressions& expressions_;
  regex::RegexReader reader_;
  const RegexOptions& options_;
  std::vector<Group> groups_ = std::vector<Group>(1);
};

// a and then b. Where what one of them matches depends on the other's being empty, the cases are kept apart.
Part Parser::join(const Part& a, const Part& b) {
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

Part Parser::star(const Part& part) {
  Expressions& e = expressions_;
  return make_part([&](int begins, int ends) {
    const Expr inner = e.repeat(e.without_epsilon(part.at[0][0]), 0);
    const Expr several = e.concat(e.without_epsilon(part.at[begins][0]),
                                  e.concat(inner, e.without_epsilon(part.at[0][ends])));
    const Expr cases[] = {Expr::epsilon, part.at[begins][ends], several};
    return e.either(cases);
  });
}

Part Parser::optional(const Part& part) {
  return make_part([&](int begins, int ends) { return expressions_.optional(part.at[begins][ends]); });
}

Result<Part> Parser::repeat(const Part& part, std::uint32_t least, std::uint32_t most) {
  if (!part.anchored()) return Part(expressions_.repeat(part.at[0][0], least, most));
  if (std::max(least, most == kUnbounded ? 0 : most) > kMaxAnchoredRepeat) {
    return make_error(ErrorCode::unsupported, "regex: more than {} repeats of a group with an anchor, at offset {}",
                      kMaxAnchoredRepeat, reader_.position());
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

void Parser::append(Part part, bool repeatable) {
  groups_.back().sequence.push_back(part);
  groups_.back().repeatable = repeatable;
}

void Parser::end_choice(Group& group) {
  Part whole(Expr::epsilon);
  for (std::size_t i = group.sequence.size(); i-- > 0;) {
    whole = i + 1 == group.sequence.size() ? group.sequence[i] : join(group.sequence[i], whole);
  }
  group.sequence.clear();
  group.repeatable = false;
  group.choices.push_back(whole);
}

Part Parser::end_group(Group& group) {
  end_choice(group);
  return make_part([&](int begins, int ends) {
    std::vector<Expr> choices;
    for (const Part& choice : group.choices) choices.push_back(choice.at[begins][ends]);
    return expressions_.either(choices);
  });
}

Result<void> Parser::parse_quantifier() {
  const std::size_t position = reader_.position();
  RILL_ASSIGN(const std::optional<regex::RegexReader::Quantifier> quantifier, reader_.read_quantifier());
  if (!quantifier) {  // a brace that is no quantifier is a character
    append_set({{'{', '{'}});
    reader_.skip();
    return {};
  }
  Group& group = groups_.back();
  if (!group.repeatable) return reader_.malformed(position, "nothing to repeat");
  RILL_ASSIGN(const Part repeated, repeat(group.sequence.back(), quantifier->least, quantifier->most));
  group.sequence.back() = repeated;
  group.repeatable = false;  // a** is refused, as everywhere
  return {};
}

Result<void> Parser::parse_step() {
  const std::size_t position = reader_.position();
  switch (reader_.peek()) {
    case '(': {
      RILL_TRY(reader_.read_group_open());
      groups_.push_back({.opened = position});
      return {};
    }
    case ')': {
      if (groups_.size() == 1) return reader_.malformed(position, "a closing parenthesis without an opening one");
      reader_.skip();
      const Part part = end_group(groups_.back());
      groups_.pop_back();
      append(part);
      return {};
    }
    case '|':
      reader_.skip();
      end_choice(groups_.back());
      return {};
    case '^':
      reader_.skip();
      append(make_part([](int begins, int) { return begins ? Expr::epsilon : Expr::nothing; }), false);
      return {};
    case '$':
      reader_.skip();
      append(make_part([](int, int ends) { return ends ? Expr::epsilon : Expr::nothing; }), false);
      return {};
    case '*':
    case '+':
    case '?':
    case '{': return parse_quantifier();
    default: {
      RILL_ASSIGN(const CodePoints set, reader_.read_set());
      append_set(set);
      return {};
    }
  }
}

Result<Expr> Parser::parse() {
  while (!reader_.done()) RILL_TRY(parse_step());
  if (groups_.size() > 1) return reader_.malformed(groups_.back().opened, "an opening parenthesis without a closing one");
  Part whole = end_group(groups_[0]);
  if (options_.match == Match::search) {
    const Part anything(expressions_.repeat(spell(CodePoints::all()), 0));
    whole = join(anything, join(whole, anything));
  }
  return whole.at[1][1];
}

}  // namespace

Result<Expr> parse_regex(Expressions& expressions, std::string_view pattern, const RegexOptions& options) {
  return Parser(expressions, pattern, options).parse();
}

}  // namespace rill::grammar
