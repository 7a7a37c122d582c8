#include "regex/nfa.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "regex/regex_reader.h"

namespace rill::regex {

constexpr std::size_t kMaxInstructions = 100'000;

class NfaBuilder {
 public:
  explicit NfaBuilder(std::string_view pattern) : reader_(pattern) {}

  Result<Nfa> build() {
    while (!reader_.done()) RILL_TRY(step());
    if (groups_.size() > 1) {
      return reader_.malformed(groups_.back().opened, "an opening parenthesis without a closing one");
    }
    nfa_.code_ = end_group(groups_[0]);
    nfa_.code_.push_back({Op::match});
    return std::move(nfa_);
  }

 private:
  using Op = Nfa::Op;
  using Code = Nfa::Code;
  struct Group {
    std::size_t opened = 0;
    std::vector<Code> sequence = {};
    std::vector<Code> choices = {};
    bool repeatable = false;
  };

  static std::int32_t distance(std::size_t instructions) { return static_cast<std::int32_t>(instructions); }
  static void append(Code& to, const Code& code) { to.insert(to.end(), code.begin(), code.end()); }

  void add(Code code, bool repeatable) {
    groups_.back().sequence.push_back(std::move(code));
    groups_.back().repeatable = repeatable;
  }
  void add_set(CodePoints set) {
    add({{Op::set, static_cast<std::uint32_t>(nfa_.sets_.size())}}, true);
    nfa_.sets_.push_back(std::move(set));
  }

  void end_choice(Group& group) {
    Code whole;
    for (const Code& part : group.sequence) append(whole, part);
    group.sequence.clear();
    group.repeatable = false;
    group.choices.push_back(std::move(whole));
  }

  Code end_group(Group& group) {
    end_choice(group);
    Code whole = group.choices.back();
    for (std::size_t i = group.choices.size() - 1; i-- > 0;) {
      Code choice{{Op::split, 0, distance(group.choices[i].size() + 2)}};
      append(choice, group.choices[i]);
      choice.push_back({Op::jump, 0, distance(whole.size() + 1)});
      append(choice, whole);
      whole = std::move(choice);
    }
    return whole;
  }

  Result<Code> repeated(const Code& part, std::uint32_t least, std::uint32_t most) const {
    const bool unlimited = most == kUnbounded;
    const std::uint64_t copies = std::uint64_t{least} + (unlimited ? 1 : most - least);
    if (copies * (part.size() + 2) > kMaxInstructions) {
      return make_error(ErrorCode::limit_exceeded, "regex: counted repeats of more than {} instructions, at offset {}",
                        kMaxInstructions, reader_.position());
    }
    Code whole;
    for (std::uint32_t i = 0; i < least; ++i) append(whole, part);
    if (unlimited) {
      whole.push_back({Op::split, 0, distance(part.size() + 2)});
      append(whole, part);
      whole.push_back({Op::jump, 0, -distance(part.size() + 1)});
    } else {
      for (std::uint32_t i = least; i < most; ++i) {
        whole.push_back({Op::split, 0, distance((most - i) * (part.size() + 1))});
        append(whole, part);
      }
    }
    return whole;
  }

  Result<void> read_quantifier() {
    const std::size_t position = reader_.position();
    RILL_ASSIGN(const auto quantifier, reader_.read_quantifier());
    if (!quantifier) {  // a brace that is no quantifier is a character
      reader_.skip();
      add_set({{'{', '{'}});
      return {};
    }
    Group& group = groups_.back();
    if (!group.repeatable) return reader_.malformed(position, "nothing to repeat");
    RILL_ASSIGN(group.sequence.back(), repeated(group.sequence.back(), quantifier->least, quantifier->most));
    group.repeatable = false;
    return {};
  }

  Result<void> step() {
    const std::size_t position = reader_.position();
    switch (reader_.peek()) {
      case '(':
        RILL_TRY(reader_.read_group_open());
        groups_.push_back({.opened = position});
        return {};
      case ')': {
        if (groups_.size() == 1) return reader_.malformed(position, "a closing parenthesis without an opening one");
        reader_.skip();
        Code code = end_group(groups_.back());
        groups_.pop_back();
        add(std::move(code), true);
        return {};
      }
      case '|':
        reader_.skip();
        end_choice(groups_.back());
        return {};
      case '^':
      case '$':
        add({{reader_.peek() == '^' ? Op::text_begin : Op::text_end}}, false);
        reader_.skip();
        return {};
      case '*':
      case '+':
      case '?':
      case '{': return read_quantifier();
      default: {
        RILL_ASSIGN(CodePoints set, reader_.read_set());
        add_set(std::move(set));
        return {};
      }
    }
  }

  RegexReader reader_;
  Nfa nfa_;
  std::vector<Group> groups_ = std::vector<Group>(1);
};

Result<Nfa> Nfa::compile(std::string_view pattern) { return NfaBuilder(pattern).build(); }

bool Nfa::found_in(std::string_view text) const { return run(text, false); }
bool Nfa::matches(std::string_view text) const { return run(text, true); }

bool Nfa::run(std::string_view text, bool anchored) const {
  std::vector<std::uint32_t> now, next, todo;
  std::vector<std::size_t> reached(code_.size(), 0);  // by instruction: the position + 1 at which it was last
  bool matched = false;
  const auto reach = [&](std::vector<std::uint32_t>& into, std::uint32_t start, std::size_t position) {
    todo.assign(1, start);
    while (!todo.empty()) {
      const std::uint32_t at = todo.back();
      todo.pop_back();
      if (std::exchange(reached[at], position + 1) == position + 1) continue;
      const Instruction& instruction = code_[at];
      const auto to = static_cast<std::uint32_t>(static_cast<std::int64_t>(at) + instruction.to);
      if (instruction.op == Op::set) into.push_back(at);
      if (instruction.op == Op::match) matched |= !anchored || position == text.size();
      if (instruction.op == Op::split || instruction.op == Op::jump) todo.push_back(to);
      const bool goes_on = instruction.op == Op::split || (instruction.op == Op::text_begin && position == 0) ||
                           (instruction.op == Op::text_end && position == text.size());
      if (goes_on) todo.push_back(at + 1);
    }
  };
  reach(now, 0, 0);
  for (std::size_t position = 0; position < text.size() && !(matched && !anchored);) {
    const utf8::Character character = utf8::decode(text, position);
    position += character.length;
    next.clear();
    for (const std::uint32_t at : now) {
      const auto ranges = sets_[code_[at].set].ranges();
      const auto range = std::upper_bound(ranges.begin(), ranges.end(), character.code,
                                          [](char32_t c, const CodePoints::Range& r) { return c < r.first; });
      if (range != ranges.begin() && character.code <= std::prev(range)->last) reach(next, at + 1, position);
    }
    if (!anchored) reach(next, 0, position);
    std::swap(now, next);
  }
  return matched;
}

}  // namespace rill::regex
