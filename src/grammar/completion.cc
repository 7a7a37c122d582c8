#include "grammar/completion.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace rill::grammar {
namespace {

std::uint32_t plus(std::uint64_t a, std::uint64_t b) { return static_cast<std::uint32_t>(std::min<std::uint64_t>(a + b, kNever)); }
std::uint32_t times(std::uint64_t a, std::uint64_t b) {
  return a == 0 || b == 0 ? 0 : static_cast<std::uint32_t>(std::min<std::uint64_t>(a * b, kNever));
}
Symbol token_symbol(Token token) { return static_cast<Symbol>(256 + static_cast<std::uint32_t>(token)); }
bool is_byte(Symbol symbol) { return static_cast<std::uint32_t>(symbol) < 256; }
Token token_of(Symbol symbol) { return static_cast<Token>(static_cast<std::uint32_t>(symbol) - 256); }

}  // namespace

CompletionWeights::CompletionWeights(Automaton& automaton, const Tokenizer& tokenizer,
                                     std::shared_ptr<const TokenTable> table)
    : automaton_(automaton), tokenizer_(tokenizer), table_(std::move(table)) {
  is_end_.resize(tokenizer.size());
  for (const Token token : tokenizer.end_tokens()) is_end_[static_cast<std::size_t>(token)] = true;
  first_nodes_.fill(static_cast<std::uint32_t>(table_->all.nodes.size() - 1));
  for (const TokenTrie::Node& node : table_->all.nodes) {
    if (&node == &table_->all.nodes.back() || node.depth > 0) continue;
    first_nodes_[node.byte] = static_cast<std::uint32_t>(&node - table_->all.nodes.data());
    const TokenTrie::Node& next = (&node)[1];
    if (next.first_token > node.first_token) writable_[node.byte] = true;
  }
  automaton_.with_rules([this](Rules& rules) { weigh_rules(rules); });
}

std::optional<Token> CompletionWeights::token_for(const TokenLeaf& leaf) const {
  if (!leaf.negated) return leaf.token;
  const auto leaves = automaton_.token_leaves();
  for (std::size_t i = 0; i < is_end_.size(); ++i) {
    const auto token = static_cast<Token>(i);
    const bool named = std::any_of(leaves.begin(), leaves.end(), [&](const TokenLeaf& other) { return other.token == token; });
    if (!named && !is_end_[i]) return token;
  }
  return std::nullopt;
}

// Each round finds at least one rule's least weight.
void CompletionWeights::weigh_rules(Rules& rules) {
  rules_.assign(rules.rules.size(), kNever);
  for (bool changed = true; changed;) {
    changed = false;
    is_known_.assign(rules.expressions.size(), false);
    for (std::size_t i = rules_.size(); i-- > 0;) {  // callers mostly stand first
      const std::uint32_t least = weigh(rules.expressions, rules.rules[i].body).least;
      if (least == rules_[i]) continue;
      rules_[i] = least;
      changed = true;
    }
  }
}

// From the operands up, without recursion.
Weight CompletionWeights::weigh(Expressions& expressions, Expr root) {
  std::vector<Expr> todo{root};
  while (!todo.empty()) {
    const Expr expr = todo.back();
    const std::size_t before = todo.size();
    if (!known(expr)) {
      const Kind kind = expressions.node(expr).kind;
      if (kind != Kind::both && kind != Kind::complement) {
        expressions.each_operand(expr, [&](Expr operand) {
          if (!known(operand)) todo.push_back(operand);
        });
      }
    }
    if (todo.size() > before) continue;
    todo.pop_back();
    if (known(expr)) continue;
    const Weight made = weigh_node(expressions, expr);
    if (is_known_.size() <= index(expr)) is_known_.resize(expressions.size());
    if (weights_.size() < is_known_.size()) weights_.resize(is_known_.size());
    weights_[index(expr)] = made;
    is_known_[index(expr)] = true;
  }
  return at(root);
}

Weight CompletionWeights::weigh_node(Expressions& e, Expr expr) {
  const Expressions::Node n = e.node(expr);
  switch (n.kind) {
    case Kind::nothing: return {};
    case Kind::epsilon: return {0, kNever};
    case Kind::bytes: return pick(e.set(n)) < 256 ? Weight{1, 1} : Weight{};
    case Kind::call: return {rules_[n.first], kNever};
    case Kind::token: return token_for(e.token_leaves()[n.first]) ? Weight{1, 1} : Weight{};
    case Kind::concat: {
      const Weight a = at(e.first(expr)), b = at(e.second(expr));
      const std::uint32_t direct = plus(a.direct, b.least);
      return {plus(a.least, b.least), a.least == 0 ? std::min(direct, b.direct) : direct};
    }
    case Kind::either: {
      Weight best;
      for (const Expr operand : e.operands(n)) {
        best = {std::min(best.least, at(operand).least), std::min(best.direct, at(operand).direct)};
      }
      return best;
    }
    case Kind::repeat: {
      const Weight body = at(e.first(expr));
      return {times(body.least, n.second), plus(body.direct, times(body.least, n.second == 0 ? 0 : n.second - 1))};
    }
    case Kind::members: {
      const auto members = e.operands(n);
      return weigh_members(members.subspan(1), n.third / 2, at(members[0]));
    }
    case Kind::both:
    case Kind::complement: {
      const auto& text = shortest(e, expr);
      if (!text) return {};
      const auto length = static_cast<std::uint32_t>(text->size());
      return {length, length == 0 ? kNever : length};
    }
  }
  return {};
}

Weight CompletionWeights::weigh_members(std::span<const Expr> members, std::size_t required,
                                        Weight separator) const {
  Weight best;
  std::uint32_t all = times(separator.least, required == 0 ? 0 : required - 1);
  for (std::size_t i = 0; i < required; ++i) all = plus(all, at(members[i]).least);
  for (const Expr member : required == 0 ? members : members.first(required)) {
    const Weight own = at(member);
    if (own.least == kNever) continue;
    const std::uint32_t others = required == 0 ? 0 : all - own.least;
    best = {std::min(best.least, plus(own.least, others)), std::min(best.direct, plus(own.direct, others))};
  }
  return all == kNever ? Weight{} : best;
}

// The byte that a completion takes of `set`; 256 if no token writes any. Letters first: they make long tokens.
std::uint32_t CompletionWeights::pick(const ByteSet& set) const {
  for (const auto& [first, last] : {std::pair{'a', 'z'}, {'0', '9'}, {'A', 'Z'}, {' ', '~'}}) {
    for (auto byte = static_cast<std::uint32_t>(first); byte <= static_cast<std::uint32_t>(last); ++byte) {
      if (set.contains(byte) && writable_[byte]) return byte;
    }
  }
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    if (set.contains(byte) && writable_[byte]) return byte;
  }
  return 256;
}

// Searches the derivatives for one that holds the empty string, nearest first.
const std::optional<std::string>& CompletionWeights::shortest(Expressions& expressions, Expr expr) {
  const auto [found, is_new] = shortest_.try_emplace(expr);
  if (!is_new) return found->second;
  struct Reached {
    Expr expr;
    std::size_t from;
    char byte;
  };
  std::vector<Reached> queue{{expr, 0, 0}};
  std::unordered_map<Expr, bool> seen{{expr, true}};
  for (std::size_t at = 0; at < queue.size() && queue.size() < kMaxSearch; ++at) {
    if (expressions.nullable(queue[at].expr)) {
      std::string text;
      for (std::size_t i = at; i != 0; i = queue[i].from) text += queue[i].byte;
      std::reverse(text.begin(), text.end());
      return found->second = std::move(text);
    }
    std::array<bool, 256> tried{};
    for (const auto first : {'a', '0', 'A', ' ', '\0'}) {
      for (unsigned i = 0; i < 256; ++i) {
        const unsigned byte = (static_cast<unsigned>(first) + i) % 256;
        if (!writable_[byte] || std::exchange(tried[automaton_.class_of(static_cast<std::uint8_t>(byte))], true)) continue;
        const Expr next = expressions.derivative(queue[at].expr, {Kind::bytes, byte});
        if (next == Expr::nothing || !seen.emplace(next, true).second) continue;
        queue.push_back({next, at, static_cast<char>(byte)});
      }
    }
  }
  return found->second;
}

// Follows where `direct` comes from.
Symbol CompletionWeights::first_symbol(Expressions& e, Expr expr) {
  for (;;) {
    const Expressions::Node n = e.node(expr);
    if (at(expr).direct >= kNever) return Symbol::none;
    const auto best_of = [&](std::span<const Expr> operands, auto weight) {
      return *std::min_element(operands.begin(), operands.end(), [&](Expr a, Expr b) { return weight(a) < weight(b); });
    };
    switch (n.kind) {
      case Kind::bytes: return static_cast<Symbol>(pick(e.set(n)));
      case Kind::token: return token_symbol(*token_for(e.token_leaves()[n.first]));
      case Kind::concat: {
        const Weight a = at(e.first(expr)), b = at(e.second(expr));
        expr = a.least == 0 && b.direct <= plus(a.direct, b.least) ? e.second(expr) : e.first(expr);
        break;
      }
      case Kind::either: expr = best_of(e.operands(n), [&](Expr x) { return at(x).direct; }); break;
      case Kind::repeat: expr = e.first(expr); break;
      case Kind::members: {
        const auto members = e.operands(n).subspan(1);
        const std::size_t required = n.third / 2;
        expr = required == 0 ? best_of(members, [&](Expr x) { return at(x).direct; })
                             : best_of(members.first(required), [&](Expr x) { return at(x).direct - at(x).least; });
        break;
      }
      case Kind::both:
      case Kind::complement: return static_cast<Symbol>(static_cast<std::uint8_t>(shortest(e, expr)->front()));
      default: return Symbol::none;
    }
  }
}

CompletionWeights::Entry CompletionWeights::of(State state) {
  return automaton_.with_rules([&](Rules& rules) {
    const Expr expr = automaton_.expression(state);
    Entry entry{weigh(rules.expressions, expr), Symbol::none};
    entry.symbol = first_symbol(rules.expressions, expr);
    return entry;
  });
}

CompletionWeights::Entry Completion::entry(State state) {
  if (entries_.size() <= index(state)) entries_.resize(index(state) + 64);
  auto& known = entries_[index(state)];
  if (!known) known = weights_->of(state);
  return *known;
}

// Nodes lie above those that they stand on, but for cycles: relaxed until nothing changes.
std::uint32_t Completion::below(const Parser& parser, StackNode node) {
  const Stacks& stacks = parser.stacks();
  if (below_.size() < stacks.size()) below_.resize(stacks.size());
  if (below_.empty()) return kNever;
  below_[0] = 1;
  if (below_[index(node)] != 0) return below_[index(node)] - 1;
  std::vector<StackNode> open{node};
  below_[index(node)] = kNever + 1;
  for (std::size_t i = 0; i < open.size(); ++i) {
    for (const Place& place : stacks.below(open[i])) {
      if (below_[index(place.node)] != 0) continue;
      below_[index(place.node)] = kNever + 1;
      open.push_back(place.node);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = open.size(); i-- > 0;) {
      std::uint32_t least = kNever;
      for (const Place& place : stacks.below(open[i])) {
        least = std::min(least, plus(entry(place.state).weight.least, below_[index(place.node)] - 1));
      }
      changed |= least + 1 != below_[index(open[i])];
      below_[index(open[i])] = least + 1;
    }
  }
  return below_[index(node)] - 1;
}

std::uint32_t Completion::bytes(const Parser& parser, const Places& from) {
  std::uint32_t least = from.complete ? 0 : kNever;
  for (const Place& place : from.places) {
    least = std::min(least, plus(entry(place.state).weight.least, below(parser, place.node)));
  }
  return least;
}

// That of a shortest completion. It hangs on what may follow alone, not on how stack nodes are numbered.
Symbol Completion::best_symbol(const Parser& parser, std::span<const Place> from) {
  std::pair<std::uint32_t, Symbol> best{kNever, Symbol::none};
  for (const Place& place : from) {
    const auto of_state = entry(place.state);
    best = std::min(best, {plus(of_state.weight.direct, below(parser, place.node)), of_state.symbol});
  }
  return best.second;
}

bool Completion::choose(Parser& parser, const Places& from, std::string_view text) {
  chosen_.clear();
  if (parser.automaton().has_checks()) {
    return search(parser, from, text, kManyVisits, kFewTried) || search(parser, from, text, kFewVisits, kManyTried);
  }
  Places now = from, next;
  while (!now.complete) {
    const Symbol symbol = best_symbol(parser, now.places);
    if (symbol == Symbol::none) return false;
    if (is_byte(symbol)) {
      parser.step(now.places, static_cast<std::uint8_t>(symbol), {}, next);
    } else {
      parser.step_token(now.places, token_of(symbol), {}, next);
    }
    chosen_.push_back(symbol);
    std::swap(now, next);
  }
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
// what else that value may be comes before all other ways. Places that were come to `visits` times are not gone on from.
bool Completion::search(Parser& parser, const Places& from, std::string_view text, unsigned visits, std::size_t most) {
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
    if (rest >= kNever || (!next.complete && ++scope.seen[next.places] > visits)) return rest;
    nodes.push_back({std::move(next), at, symbol, nodes[at].length + 1, rest, nodes[at].end + (byte ? 1 : 0)});
    push(scope, nodes.size() - 1);
    return rest;
  };
  while (!scopes.empty() && nodes.size() < most) {
    const std::size_t current = scopes.size() - 1;
    if (scopes[current].queue.empty() || ++scopes[current].tried > most / 4) {
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
      const bool space = byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';  // makes no value another one
      if (!space && weights_->writable(byte) && static_cast<Symbol>(byte) != nodes[at].best) {
        try_symbol(scopes[current], at, static_cast<Symbol>(byte));
      }
    }
  }
  return false;
}

std::optional<Token> Completion::token_at(std::uint32_t node) const {
  const TokenTrie& trie = weights_->table().all;
  for (std::uint32_t t = trie.nodes[node].first_token; t < trie.nodes[node + 1].first_token; ++t) {
    if (!std::binary_search(end_tokens_.begin(), end_tokens_.end(), trie.tokens[t])) return trie.tokens[t];
  }
  return std::nullopt;
}

// Cuts each run of bytes into the fewest tokens, from its end: so a rest never takes more than what it is the rest of, and
// what two texts end with in common is cut once.
std::optional<std::vector<Token>> Completion::spell() {
  const TokenTrie& trie = weights_->table().all;
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
    std::uint32_t node = 0, end = static_cast<std::uint32_t>(trie.nodes.size() - 1);
    for (std::size_t at = rest; at > 0 && is_byte(spelled_[at - 1]); --at) {
      const auto byte = static_cast<std::uint8_t>(spelled_[at - 1]);
      if (at == rest) node = weights_->first_node(byte);
      while (node < end && trie.nodes[node].byte != byte) node = trie.nodes[node].end;
      if (node >= end) break;
      if (const auto token = token_at(node)) try_cut(*token, at - 1);
      end = trie.nodes[node].end;
      ++node;
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
