#include "rill/tagged_grammar.h"

#include <algorithm>
#include <string_view>

#include "grammar/compile.h"
#include "grammar/regex.h"

namespace rill::grammar {
namespace {

bool is_empty(const Tag& tag) { return std::holds_alternative<std::string>(tag) && std::get<std::string>(tag).empty(); }

// The triggers that no other one ends before they do.
Result<std::vector<std::string>> first_triggers(const TaggedOptions& options) {
  std::vector<std::string> all = options.triggers;
  for (const TaggedStructure& structure : options.structures) {
    const auto* const text = std::get_if<std::string>(&structure.begin);
    if (text != nullptr && options.triggers.empty()) all.push_back(*text);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<std::string> first;
  for (const std::string& trigger : all) {
    if (trigger.empty()) return Error{ErrorCode::invalid_argument, "an empty trigger"};
    const bool hidden = std::any_of(all.begin(), all.end(), [&](const std::string& other) {
      return other != trigger && trigger.find(other) != std::string::npos;
    });
    if (!hidden) first.push_back(trigger);
  }
  for (const TaggedStructure& structure : options.structures) {
    const auto* const text = std::get_if<std::string>(&structure.begin);
    if (text == nullptr) continue;
    const bool begins = std::any_of(first.begin(), first.end(), [&](const auto& trigger) { return text->starts_with(trigger); });
    if (!begins) {
      return make_error(ErrorCode::invalid_argument,
                        "the tag \"{}\" cannot come about: it begins with no trigger, or holds another one", *text);
    }
  }
  for (const std::string& trigger : options.triggers) {
    const bool used = std::any_of(options.structures.begin(), options.structures.end(), [&](const TaggedStructure& structure) {
      const auto* const text = std::get_if<std::string>(&structure.begin);
      return text != nullptr && text->starts_with(trigger);
    });
    if (!used) return make_error(ErrorCode::invalid_argument, "the trigger \"{}\" begins no tag", trigger);
  }
  return first;
}

Result<void> check(const TaggedOptions& options) {
  if (options.most_calls < options.least_calls || options.most_calls == 0) {
    return make_error(ErrorCode::invalid_argument, "at least {} calls, at most {}", options.least_calls, options.most_calls);
  }
  if (options.structures.empty()) return Error{ErrorCode::invalid_argument, "no structures"};
  if (options.free_text && !options.separator.empty()) {
    return Error{ErrorCode::invalid_argument, "a separator, though between calls there is free text"};
  }
  if (!options.free_text && !options.triggers.empty()) {
    return Error{ErrorCode::invalid_argument, "triggers, though there is no free text"};
  }
  for (const TaggedStructure& structure : options.structures) {
    if (is_empty(structure.begin) || (is_empty(structure.end) && !structure.body)) {
      return Error{ErrorCode::invalid_argument, "a structure without begin, or without body and end"};
    }
  }
  return {};
}

class Builder {
 public:
  Builder(Rules& rules, const TaggedOptions& options, std::vector<std::string> triggers)
      : rules_(rules),
        e_(rules.expressions),
        options_(options),
        triggers_(std::move(triggers)),
        any_text_(parse_regex(e_, "[^]*").value()) {}

  Expr build() {
    Expr calls = Expr::nothing;
    for (const TaggedStructure& structure : options_.structures) calls = e_.either(calls, call_of(structure));
    const Expr call = e_.call(rules_.add("call", calls));
    const std::uint32_t least = options_.least_calls, most = options_.most_calls;
    if (!options_.free_text) return separated(call, least, most);
    const Expr end = free_text();
    if (!options_.stop_after_last || most == kNoLimit) return e_.concat(e_.repeat(call, least, most), end);
    const Expr all = e_.repeat(call, most, most);
    return least == most ? all : e_.either(all, e_.concat(e_.repeat(call, least, most - 1), end));
  }

 private:
  Expr tag(const Tag& tag) {
    const auto* const text = std::get_if<std::string>(&tag);
    return text != nullptr ? e_.literal(*text) : e_.token({std::get<Token>(tag), false});
  }

  // Texts with one of `marks` inside.
  Expr holding(std::span<const std::string> marks) {
    Expr any = Expr::nothing;
    for (const std::string& mark : marks) any = e_.either(any, e_.literal(mark));
    return e_.concat(Expr::anything, e_.concat(any, Expr::anything));
  }

  // Texts that end with `mark`, and in which none of `marks` has ended before.
  Expr up_to(const std::string& mark, std::span<const std::string> marks) {
    const Expr before = e_.concat(holding(marks), e_.bytes(ByteSet::all()));
    const Expr operands[] = {any_text_, e_.concat(Expr::anything, e_.literal(mark)), e_.complement(before)};
    return e_.both(operands);
  }

  Expr free_text() { return triggers_.empty() ? any_text_ : e_.both(any_text_, e_.complement(holding(triggers_))); }

  Expr begin_of(const TaggedStructure& structure) {
    if (!options_.free_text) return tag(structure.begin);
    const auto* const text = std::get_if<std::string>(&structure.begin);
    if (text == nullptr) return e_.concat(free_text(), tag(structure.begin));
    const auto trigger = std::find_if(triggers_.begin(), triggers_.end(), [&](const auto& t) { return text->starts_with(t); });
    return e_.concat(up_to(*trigger, triggers_), e_.literal(std::string_view(*text).substr(trigger->size())));
  }

  Expr body_and_end(const TaggedStructure& structure) {
    if (structure.body) return e_.concat(GrammarParts::import(rules_, *structure.body), tag(structure.end));
    const auto* const text = std::get_if<std::string>(&structure.end);
    return text != nullptr ? up_to(*text, {text, 1}) : e_.concat(any_text_, tag(structure.end));
  }

  Expr call_of(const TaggedStructure& structure) { return e_.concat(begin_of(structure), body_and_end(structure)); }

  Expr separated(Expr call, std::uint32_t least, std::uint32_t most) {
    if (options_.separator.empty()) return e_.repeat(call, least, most);
    const Expr more = e_.repeat(e_.concat(e_.literal(options_.separator), call), least == 0 ? 0 : least - 1,
                                most == kNoLimit ? most : most - 1);
    const Expr some = e_.concat(call, more);
    return least == 0 ? e_.optional(some) : some;
  }

  Rules& rules_;
  Expressions& e_;
  const TaggedOptions& options_;
  std::vector<std::string> triggers_;
  Expr any_text_;  // well-formed UTF-8
};

}  // namespace

Result<Grammar> tagged(const TaggedOptions& options) {
  RILL_TRY(check(options));
  std::vector<std::string> triggers;
  if (options.free_text) {
    RILL_ASSIGN(triggers, first_triggers(options));
  }
  return compile(options.limits, options.stop, [&](Rules& rules) {
    return start_with(rules, Builder(rules, options, std::move(triggers)).build());
  });
}

}  // namespace rill::grammar
