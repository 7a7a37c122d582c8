// The structure of a regular expression, for whoever makes something of it.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "regex/regex_reader.h"

namespace rill::regex {

// Builder::Part is what stands for a part of the pattern. The builder makes them:
//   Part set(const CodePoints&), Part text_begin(), Part text_end(), Part sequence(std::vector<Part>),
//   Part choice(std::vector<Part>), Result<Part> repeat(const Part&, least, most, position).
// Groups nest in a vector: nothing recurses. Errors: those of RegexReader and of repeat().
template <typename Builder>
class PatternParser {
 public:
  using Part = typename Builder::Part;

  PatternParser(std::string_view pattern, Builder& builder) : reader_(pattern), builder_(builder) {}

  Result<Part> parse() {
    while (!reader_.done()) RILL_TRY(step());
    if (groups_.size() > 1) {
      return reader_.malformed(groups_.back().opened, "an opening parenthesis without a closing one");
    }
    return end_group(groups_[0]);
  }

 private:
  struct Group {
    std::size_t opened = 0;  // where its parenthesis stands
    std::vector<Part> sequence = {};
    std::vector<Part> choices = {};
    bool repeatable = false;  // the last part may be repeated
    bool repeated = false;    // it is already
  };

  void append(Part part, bool repeatable) {
    groups_.back().sequence.push_back(std::move(part));
    groups_.back().repeatable = repeatable;
    groups_.back().repeated = false;
  }

  void end_choice(Group& group) {
    group.choices.push_back(builder_.sequence(std::exchange(group.sequence, {})));
    group.repeatable = group.repeated = false;
  }

  Part end_group(Group& group) {
    end_choice(group);
    return builder_.choice(std::move(group.choices));
  }

  Result<void> read_quantifier() {
    const std::size_t position = reader_.position();
    const bool plus = reader_.peek() == '+';
    RILL_ASSIGN(const auto quantifier, reader_.read_quantifier());
    if (!quantifier) {  // a brace that is no quantifier is a character
      append(builder_.set({{'{', '{'}}), true);
      reader_.skip();
      return {};
    }
    Group& group = groups_.back();
    if (!group.repeatable) {
      if (group.repeated && plus) return reader_.unsupported(position, "a possessive repeat");
      return reader_.malformed(position, "nothing to repeat");
    }
    RILL_ASSIGN(Part repeated, builder_.repeat(group.sequence.back(), quantifier->least, quantifier->most, position));
    group.sequence.back() = std::move(repeated);
    group.repeatable = false;  // a** is refused, as everywhere
    group.repeated = true;
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
        Part part = end_group(groups_.back());
        groups_.pop_back();
        append(std::move(part), true);
        return {};
      }
      case '|':
        reader_.skip();
        end_choice(groups_.back());
        return {};
      case '^':
        reader_.skip();
        append(builder_.text_begin(), false);
        return {};
      case '$':
        reader_.skip();
        append(builder_.text_end(), false);
        return {};
      case '*':
      case '+':
      case '?':
      case '{': return read_quantifier();
      default: {
        RILL_ASSIGN(const CodePoints set, reader_.read_set());
        append(builder_.set(set), true);
        return {};
      }
    }
  }

  RegexReader reader_;
  Builder& builder_;
  std::vector<Group> groups_ = std::vector<Group>(1);
};

}  // namespace rill::regex
