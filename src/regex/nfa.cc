#include "regex/nfa.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "regex/pattern.h"

namespace rill::regex {

constexpr std::size_t kMaxInstructions = 100'000;
constexpr std::size_t kMaxPattern = std::size_t{1} << 16;

class NfaBuilder {
 public:
  using Part = Nfa::Code;

  explicit NfaBuilder(Nfa& nfa) : nfa_(nfa) {}

  Part set(const CodePoints& set) {
    nfa_.sets_.push_back(set);
    return {{Op::set, static_cast<std::uint32_t>(nfa_.sets_.size() - 1)}};
  }
  Part text_begin() const { return {{Op::text_begin}}; }
  Part text_end() const { return {{Op::text_end}}; }

  Part sequence(std::vector<Part> parts) const {
    if (parts.empty()) return {};
    Part whole = std::move(parts[0]);
    for (std::size_t i = 1; i < parts.size(); ++i) append(whole, parts[i]);
    return whole;
  }

  Part choice(std::vector<Part> choices) const {
    if (choices.size() == 1) return std::move(choices[0]);
    std::size_t size = 2 * (choices.size() - 1);
    for (const Part& one : choices) size += one.size();
    Part whole;
    whole.reserve(size);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const bool last = i + 1 == choices.size();
      if (!last) whole.push_back({Op::split, 0, distance(choices[i].size() + 2)});
      append(whole, choices[i]);
      if (!last) whole.push_back({Op::jump, 0, distance(size - whole.size())});
    }
    return whole;
  }

  Result<Part> repeat(const Part& part, std::uint32_t least, std::uint32_t most, std::size_t position) const {
    const bool unlimited = most == kUnbounded;
    const std::uint64_t copies = std::uint64_t{least} + (unlimited ? 1 : most - least);
    if (copies * (part.size() + 2) > kMaxInstructions) {
      return make_error(ErrorCode::limit_exceeded, "regex: counted repeats of more than {} instructions, at offset {}",
                        kMaxInstructions, position);
    }
    Part whole;
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

 private:
  using Op = Nfa::Op;

  static std::int32_t distance(std::size_t instructions) { return static_cast<std::int32_t>(instructions); }
  static void append(Part& to, const Part& part) { to.insert(to.end(), part.begin(), part.end()); }

  Nfa& nfa_;
};

Result<Nfa> Nfa::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPattern) {
    return make_error(ErrorCode::limit_exceeded, "regex: a pattern of {} bytes, at most {} are read", pattern.size(),
                      kMaxPattern);
  }
  Nfa nfa;
  NfaBuilder builder(nfa);
  RILL_ASSIGN(nfa.code_, PatternParser(pattern, builder).parse());
  nfa.code_.push_back({Op::match});
  return nfa;
}

bool Nfa::found_in(std::string_view text) const {
  StepBudget unlimited;
  return found_in(text, unlimited);
}

bool Nfa::found_in(std::string_view text, StepBudget& budget) const {
  std::vector<std::uint32_t> now, next, todo;
  std::vector<std::size_t> reached(code_.size(), 0);  // by instruction: the position + 1 at which it was last
  bool matched = false;
  budget.spend(code_.size());
  const auto reach = [&](std::vector<std::uint32_t>& into, std::uint32_t start, std::size_t position) {
    todo.assign(1, start);
    while (!todo.empty()) {
      const std::uint32_t at = todo.back();
      todo.pop_back();
      if (std::exchange(reached[at], position + 1) == position + 1) continue;
      budget.spend(1);
      const Instruction& instruction = code_[at];
      const auto to = static_cast<std::uint32_t>(static_cast<std::int64_t>(at) + instruction.to);
      if (instruction.op == Op::set) into.push_back(at);
      matched |= instruction.op == Op::match;
      if (instruction.op == Op::split || instruction.op == Op::jump) todo.push_back(to);
      const bool goes_on = instruction.op == Op::split || (instruction.op == Op::text_begin && position == 0) ||
                           (instruction.op == Op::text_end && position == text.size());
      if (goes_on) todo.push_back(at + 1);
    }
  };
  reach(now, 0, 0);
  for (std::size_t position = 0; position < text.size() && !matched;) {
    const utf8::Character character = utf8::decode(text, position);
    position += character.length;
    next.clear();
    for (const std::uint32_t at : now) {
      const auto ranges = sets_[code_[at].set].ranges();
      const auto range = std::upper_bound(ranges.begin(), ranges.end(), character.code,
                                          [](char32_t c, const CodePoints::Range& r) { return c < r.first; });
      if (range != ranges.begin() && character.code <= std::prev(range)->last) reach(next, at + 1, position);
    }
    reach(next, 0, position);
    std::swap(now, next);
  }
  return matched;
}

}  // namespace rill::regex
