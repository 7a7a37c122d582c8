#include "grammar/closing.h"

#include <algorithm>

namespace rill::grammar {

Closing::Closing(std::shared_ptr<CompletionWeights> weights) : completion_(std::move(weights)) {
  const auto& texts = completion_.weights().table().trie.tokens;
  text_ends_ = std::any_of(texts.begin(), texts.end(), [&](Token token) { return completion_.weights().is_end(token); });
}

Places Closing::here(const TextMatcher& matcher) const {
  return {{matcher.places().begin(), matcher.places().end()}, matcher.complete()};
}

void Closing::accepted(Token token) {
  if (planned_ && followed_ < plan_.size() && plan_[followed_] == token) {
    ++followed_;
  } else {
    planned_ = false;
  }
}

void Closing::popped(std::size_t steps) {
  planned_ &= steps <= followed_;
  followed_ -= std::min(steps, followed_);
}

void Closing::make_plan(TextMatcher& matcher) {
  if (planned_) return;
  const StacksMark mark(matcher.parser().stacks());
  completion_.forget();
  auto tokens = completion_.tokens(matcher.parser(), here(matcher), matcher.text());
  planned_ = tokens.has_value();
  if (planned_) plan_ = std::move(*tokens);
  followed_ = 0;
}

std::size_t Closing::tokens_to_end(TextMatcher& matcher) {
  make_plan(matcher);
  return planned_ ? plan_.size() - followed_ + 1 : kNever;
}

// Where a single stack is a chain, what is below counts the same before and after a token.
bool Closing::make_key(const TextMatcher& matcher, std::size_t depth) {
  if (matcher.places().size() != 1) return false;
  key_.clear();
  Place place = matcher.places()[0];
  for (;; --depth) {
    key_.push_back(static_cast<std::uint32_t>(place.state));
    if (depth == 0) return true;
    const auto below = matcher.parser().stacks().below(place.node);
    if (below.empty()) {  // the root
      key_.push_back(static_cast<std::uint32_t>(State::unknown));
      return true;
    }
    if (below.size() > 1) return false;
    place = below[0];
  }
}

bool Closing::is_far(const TextMatcher& matcher, std::size_t budget, std::size_t bytes) {
  for (std::size_t depth = 0; depth <= kMaxDepth && make_key(matcher, depth); ++depth) {
    const auto found = growth_.find(key_);
    if (found != growth_.end() && found->second < kNever) return enough(matcher, bytes + found->second, budget);
  }
  return false;
}

// For one token and then `bytes`: each may be a token. Where value checks may refuse what is shortest, there must be more room.
bool Closing::enough(const TextMatcher& matcher, std::size_t bytes, std::size_t budget) const {
  return !text_ends_ && (matcher.parser().automaton().has_checks() ? bytes * 2 + 64 : bytes + 2) <= budget;
}

bool Closing::affordable(TextMatcher& matcher, const Places& after, std::size_t budget) {
  Parser& parser = matcher.parser();
  const std::size_t bytes = completion_.bytes(parser, after);
  if (bytes >= kNever || bytes / std::max<std::size_t>(1, completion_.weights().table().longest) >= budget) return false;
  if (enough(matcher, bytes, budget)) return true;
  if (parser.automaton().has_checks()) return false;
  const auto tokens = completion_.tokens(parser, after, {});
  return tokens && tokens->size() + 2 <= budget;
}

// Tokens that stand in the grammar as themselves, each tried, but for those that are any but one: a single one of them,
// and all the others where bytes leave no doubt, which what their text says can only lessen.
void Closing::keep_named(TextMatcher& matcher, std::size_t budget, std::span<const std::uint64_t> before,
                         std::span<std::uint64_t> words) {
  const CompletionWeights& weights = completion_.weights();
  const bool bytes_tell = !text_ends_ && !matcher.parser().automaton().has_checks();
  std::vector<TokenLeaf> leaves;
  for (const Place& place : matcher.places()) {
    for (const Automaton::Move& move : matcher.parser().automaton().token_moves(place.state)) leaves.push_back(move.leaf);
  }
  // Whether `holds` of the places behind the token.
  const auto after = [&](Token token, bool is_text, auto holds) {
    if (!matcher.push_token(token, weights.tokenizer().token_bytes(token), is_text)) return false;
    completion_.forget();
    const bool result = holds(here(matcher));
    matcher.pop(1);
    return result;
  };
  for (const TokenLeaf& leaf : leaves) {
    const auto token = weights.token_for(leaf);
    if (!token) continue;
    const auto has_room = [&](const Places& then) {
      return completion_.bytes(matcher.parser(), then) + std::size_t{2} <= budget;
    };
    if (leaf.negated && bytes_tell && after(*token, false, has_room)) {
      for (std::size_t i = 0; i < words.size(); ++i) {
        const auto own = static_cast<std::size_t>(leaf.token);
        const std::uint64_t others = own / 64 == i ? ~(std::uint64_t{1} << own % 64) : ~std::uint64_t{0};
        words[i] |= before[i] & others;
      }
      continue;
    }
    const auto word = static_cast<std::size_t>(*token) / 64;
    const std::uint64_t bit = std::uint64_t{1} << *token % 64;
    if (*token < 0 || word >= words.size() || (before[word] & bit) == 0) continue;
    const bool is_text = grammar::is_text(weights.tokenizer(), *token) && !weights.is_end(*token);
    const auto fits = [&](const Places& then) { return affordable(matcher, then, budget); };
    words[word] = after(*token, is_text, fits) ? words[word] | bit : words[word] & ~bit;
  }
  completion_.forget();
}

void Closing::restrict(TextMatcher& matcher, MaskWalk& walk, std::size_t budget, std::span<std::uint64_t> words) {
  Parser& parser = matcher.parser();
  const Automaton& automaton = parser.automaton();
  const bool names_tokens = !automaton.token_leaves().empty(), needs_plan = automaton.has_checks() || names_tokens;
  completion_.forget();
  const std::uint32_t bytes = completion_.bytes(parser, here(matcher));
  if (bytes >= kNever) return;
  if (!names_tokens && is_far(matcher, budget, bytes)) return;
  // Farther away, what the plan begins with is affordable by its bytes alone.
  if (needs_plan ? bytes * std::size_t{4} + 256 > budget : text_ends_ || bytes + std::size_t{1} > budget) make_plan(matcher);
  if (automaton.has_checks() && !planned_ && !enough(matcher, bytes, budget)) return;  // what could not be found may still be
  completion_.forget();
  const std::vector<std::uint64_t> before(words.begin(), words.end());
  std::uint32_t growth = 0;
  const std::size_t depth = walk.restrict(
      matcher, completion_.weights().table(),
      [&](const Places& after) {
        const std::uint32_t then = completion_.bytes(parser, after);
        growth = std::max(growth, then > bytes ? then - bytes : 0);
        return affordable(matcher, after, budget);
      },
      words);
  completion_.forget();
  if (names_tokens) keep_named(matcher, budget, before, words);
  if (!names_tokens && depth <= kMaxDepth && make_key(matcher, depth)) {
    if (growth_.size() == kMaxKnown) growth_.clear();
    growth_[key_] = growth;
  }
  if (planned_ && followed_ < plan_.size()) {
    const Token next = plan_[followed_];
    const std::uint64_t bit = std::uint64_t{1} << next % 64;
    if (plan_.size() - followed_ + 1 <= budget) {
      words[static_cast<std::size_t>(next) / 64] |= before[static_cast<std::size_t>(next) / 64] & bit;
    }
  }
}

}  // namespace rill::grammar
