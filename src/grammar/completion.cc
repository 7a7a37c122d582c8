#include "grammar/completion.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace rill::grammar {
namespace {

bool is_space(std::uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }  // no other value
bool is_byte(Symbol symbol) { return static_cast<std::uint32_t>(symbol) < 256; }
Token token_of(Symbol symbol) { return static_cast<Token>(static_cast<std::uint32_t>(symbol) - 256); }

}  // namespace

CompletionWeights::Entry Completion::entry(State state) {
  if (entries_.size() <= index(state)) entries_.resize(index(state) + 64);
  auto& known = entries_[index(state)];
  if (!known) known = weights_->of(state);
  return *known;
}

// Nodes lie above those that they stand on, but for cycles: relaxed until nothing changes.
Completion::Cost Completion::below(const Parser& parser, StackNode node) {
  const Stacks& stacks = parser.stacks();
  if (below_.size() < stacks.size()) below_.resize(stacks.size(), kNotAsked);
  below_[0] = 0;
  if (below_[index(node)] != kNotAsked) return below_[index(node)];
  std::vector<StackNode> open{node};
  below_[index(node)] = kNoWay;
  for (std::size_t i = 0; i < open.size(); ++i) {
    for (const Place& place : stacks.below(open[i])) {
      if (below_[index(place.node)] != kNotAsked) continue;
      below_[index(place.node)] = kNoWay;
      open.push_back(place.node);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = open.size(); i-- > 0;) {
      Cost least = kNoWay;
      for (const Place& place : stacks.below(open[i])) least = std::min(least, cost(parser, place));
      changed |= least != below_[index(open[i])];
      below_[index(open[i])] = least;
    }
  }
  return below_[index(node)];
}

std::uint32_t Completion::bytes(const Parser& parser, const Places& from) {
  Cost least = from.complete ? 0 : kNoWay;
  for (const Place& place : from.places) least = std::min(least, cost(parser, place));
  return static_cast<std::uint32_t>(least >> 32);
}

// That of a shortest completion. It hangs on what may follow alone, not on how stack nodes are numbered.
Symbol Completion::best_symbol(const Parser& parser, std::span<const Place> from) {
  std::pair<std::uint32_t, Symbol> best{kNever, Symbol::none};
  for (const Place& place : from) {
    const auto of_state = entry(place.state);
    best = std::min(best, {plus(of_state.weight.direct, below(parser, place.node) >> 32), of_state.symbol});
  }
  return best.second;
}

const std::vector<Symbol>& Completion::lightest_text(State state) {
  const auto known = texts_.find(state);
  if (known != texts_.end()) return known->second;
  if (text_symbols_ > kMaxText) texts_.clear(), text_symbols_ = 0;
  std::vector<Symbol>& text = texts_[state];
  weights_->append(state, text);
  text_symbols_ += text.size();
  return text;
}

void Completion::append_lightest(const Parser& parser, Place place) {
  const auto lighter = [&](const Place& a, const Place& b) { return cost(parser, a) < cost(parser, b); };
  for (;;) {
    const auto& text = lightest_text(place.state);
    chosen_.insert(chosen_.end(), text.begin(), text.end());
    const auto below = parser.stacks().below(place.node);
    if (below.empty()) return;  // the root
    place = *std::min_element(below.begin(), below.end(), lighter);
  }
}

// By the expressions alone: stepping through the text would make states that nobody else may ever need.
bool Completion::choose(Parser& parser, const Places& from, std::string_view text) {
  chosen_.clear();
  const std::uint32_t least = bytes(parser, from);
  if (least > kMaxText) return false;
  if (parser.automaton().has_checks()) {
    const auto finds = [&](const Search& how) { return search(parser, from, text, how); };
    return std::any_of(kSearches.begin(), kSearches.end(), finds) || guess(parser, from, text);
  }
  if (from.complete) return true;
  std::tuple<Cost, Symbol, Place> best{kNoWay, Symbol::none, {}};
  for (const Place& place : from.places) best = std::min(best, {cost(parser, place), entry(place.state).symbol, place});
  append_lightest(parser, std::get<2>(best));
  return true;
}

// Where the innermost value begins that a check has yet to judge.
std::size_t Completion::checked_begin(const Parser& parser, const Places& at) const {
  const Stacks& stacks = parser.stacks();
  std::size_t begin = 0;
  for (const Place& place : at.places) {
    StackNode node = place.node;
    for (std::size_t steps = 0; steps < kMaxDepth; ++steps) {
      const CheckedCall& checked = stacks.checked(node);
      if (checked.check != nullptr) begin = std::max<std::size_t>(begin, checked.begin);
      if (checked.check != nullptr || stacks.below(node).empty()) break;
      node = stacks.below(node)[0].node;
    }
  }
  return begin;
}

// The same where value checks have a say: best first, by total weight, then the longest. Where a check refuses what is best,
// what else that value may be comes before all other ways. Places that were come to often enough are not gone on from.
bool Completion::search(Parser& parser, const Places& from, std::string_view text, const Search& how) {
  struct Node {
    Places places;
    std::size_t parent;
    Symbol symbol;
    std::uint32_t length, rest;  // before and, at least, after it
    std::size_t end;             // of the text so far
    Symbol best = Symbol::none;  // tried already
  };
  using Entry = std::tuple<std::uint32_t, std::uint32_t, std::size_t>;  // total, then the longest, then the first made
  struct Scope {
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue = {};
    std::map<std::vector<Place>, unsigned> seen = {};
    std::size_t tried = 0;
  };
  std::vector<Node> nodes{{from, 0, Symbol::none, 0, bytes(parser, from), text.size()}};
  std::vector<Scope> scopes;
  std::set<std::size_t> roots;
  const auto push = [&](Scope& scope, std::size_t node) {
    scope.queue.push({plus(nodes[node].length, nodes[node].rest), kNever - nodes[node].length, node});
  };
  const auto open_scope = [&](std::size_t root) {
    if (!roots.insert(root).second) return;
    push(scopes.emplace_back(), root);
    nodes[root].best = Symbol::none;
  };
  open_scope(0);
  std::string so_far;
  // The rest that a symbol leaves.
  const auto try_symbol = [&](Scope& scope, std::size_t at, Symbol symbol) {
    Places next;
    const bool byte = is_byte(symbol);
    if (byte) {
      so_far += static_cast<char>(symbol);
      parser.step(nodes[at].places.places, static_cast<std::uint8_t>(symbol), so_far, next);
      so_far.pop_back();
    } else {
      parser.step_token(nodes[at].places.places, token_of(symbol), so_far, next);
    }
    const std::uint32_t rest = bytes(parser, next);
    if (rest >= kNever || (!next.complete && ++scope.seen[next.places] > how.visits)) return rest;
    nodes.push_back({std::move(next), at, symbol, nodes[at].length + 1, rest, nodes[at].end + (byte ? 1 : 0)});
    push(scope, nodes.size() - 1);
    return rest;
  };
  while (!scopes.empty() && nodes.size() < how.tried) {
    const std::size_t current = scopes.size() - 1;
    if (scopes[current].queue.empty() || ++scopes[current].tried > how.tried / 2) {
      scopes.pop_back();
      continue;
    }
    const std::size_t at = std::get<2>(scopes[current].queue.top());
    chosen_.clear();
    for (std::size_t i = at; i != 0; i = nodes[i].parent) chosen_.push_back(nodes[i].symbol);
    std::reverse(chosen_.begin(), chosen_.end());
    if (nodes[at].places.complete) return true;
    so_far = text;
    for (const Symbol symbol : chosen_) {
      if (is_byte(symbol)) so_far += static_cast<char>(symbol);
    }
    if (nodes[at].best == Symbol::none) {  // all others later, should it come to that
      nodes[at].best = best_symbol(parser, nodes[at].places.places);
      const std::uint32_t least = nodes[at].rest;
      if (nodes[at].best != Symbol::none && try_symbol(scopes[current], at, nodes[at].best) + 1 == least) continue;
      const std::size_t begin = checked_begin(parser, nodes[at].places);
      std::size_t root = at;
      while (nodes[root].end > begin && root != 0) root = nodes[root].parent;
      open_scope(root);
      if (nodes[at].best != Symbol::none) continue;
    }
    scopes[current].queue.pop();
    for (const std::uint8_t byte : parser.automaton().class_bytes()) {
      if (!is_space(byte) && weights_->writable(byte) && static_cast<Symbol>(byte) != nodes[at].best) {
        try_symbol(scopes[current], at, static_cast<Symbol>(byte));
      }
    }
  }
  return false;
}

// Where much has to differ from what is shortest, as in a row of equal names: values at random, each until its check accepts it.
bool Completion::guess(Parser& parser, const Places& from, std::string_view text) {
  struct Step {
    Places places;
    Symbol symbol;
  };
  std::vector<Step> path{{from, Symbol::none}};
  std::string so_far(text);
  std::minstd_rand random(1);  // the same everywhere
  unsigned boldness = 0;
  const auto other_byte = [&](const Places& now) {  // printable, where one of a few draws may follow
    for (int draw = 0; draw < 16; ++draw) {
      const auto byte = static_cast<std::uint8_t>('!' + random() % ('~' - ' '));
      const auto reads = [&](const Place& place) { return parser.automaton().next(place.state, byte) != State::dead; };
      if (weights_->writable(byte) && std::any_of(now.places.begin(), now.places.end(), reads)) return static_cast<Symbol>(byte);
    }
    return Symbol::none;
  };
  for (std::size_t tried = 0; tried < kMaxGuessed; ++tried) {
    const Places& now = path.back().places;
    if (now.complete) {
      chosen_.clear();
      for (const Step& step : std::span(path).subspan(1)) chosen_.push_back(step.symbol);
      return true;
    }
    const std::uint32_t least = bytes(parser, now);
    const Symbol best = best_symbol(parser, now.places);
    const Symbol other = random() % 4 < boldness ? other_byte(now) : Symbol::none;
    const bool differs = other != Symbol::none;
    const Symbol symbol = differs ? other : best;
    if (symbol != Symbol::none && !is_byte(symbol)) return false;
    Places next;
    std::uint32_t rest = kNever;
    if (symbol != Symbol::none) {
      so_far += static_cast<char>(symbol);
      parser.step(now.places, static_cast<std::uint8_t>(symbol), so_far, next);
      rest = bytes(parser, next);
    }
    if (differs ? rest <= least + kMostLonger : rest + 1 == least) {
      path.push_back({std::move(next), symbol});
    } else if (differs) {
      so_far.pop_back();
    } else {  // refused: this value anew
      const std::size_t begin = std::max(checked_begin(parser, now), text.size());
      path.resize(begin - text.size() + 1);
      so_far.resize(begin);
      boldness = boldness % 3 + 1;
    }
  }
  return false;
}

std::optional<Token> Completion::token_at(std::uint32_t node) const {
  const TokenTrie& trie = weights_->table().trie;
  for (std::uint32_t t = trie.nodes[node].first_token; t < trie.nodes[node + 1].first_token; ++t) {
    if (!weights_->is_end(trie.tokens[t])) return trie.tokens[t];
  }
  return std::nullopt;
}

// Cuts each run of bytes into the fewest tokens, from its end: so a rest never takes more than what it is the rest of, and
// what two texts end with in common is cut once.
std::optional<std::vector<Token>> Completion::spell() {
  const TokenTrie& trie = weights_->table().trie;
  const std::size_t length = chosen_.size();
  std::size_t known = 0;
  while (known < std::min(length, spelled_.size()) && spelled_[known] == chosen_[length - 1 - known]) ++known;
  spelled_.assign(chosen_.rbegin(), chosen_.rend());
  cuts_.resize(known + 1);
  cuts_[0] = {0, -1, 0};
  for (std::size_t rest = known + 1; rest <= length; ++rest) {
    Cut best;
    const auto try_cut = [&](Token token, std::size_t then) {
      const std::uint32_t tokens = plus(1, cuts_[then].tokens);
      if (tokens < best.tokens) best = {tokens, token, then};
    };
    if (!is_byte(spelled_[rest - 1])) try_cut(token_of(spelled_[rest - 1]), rest - 1);
    TokenTrie::Siblings next{};
    for (std::size_t at = rest; at > 0 && is_byte(spelled_[at - 1]); --at) {
      const auto byte = static_cast<std::uint8_t>(spelled_[at - 1]);
      if (at == rest) next = trie.roots_of(byte);
      const std::uint32_t node = trie.find(next, byte);
      if (node == next.end) break;
      if (const auto token = token_at(node)) try_cut(*token, at - 1);
      next = trie.below(node);
    }
    cuts_.push_back(best);
  }
  if (cuts_[length].tokens >= kNever) return std::nullopt;
  std::vector<Token> tokens;
  for (std::size_t rest = length; rest > 0; rest = cuts_[rest].then) tokens.push_back(cuts_[rest].token);
  return tokens;
}

std::optional<std::vector<Token>> Completion::tokens(Parser& parser, const Places& from, std::string_view text) {
  if (!choose(parser, from, text)) return std::nullopt;
  return spell();
}

}  // namespace rill::grammar
