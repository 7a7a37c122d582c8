// The texts of fewest bytes that expressions hold.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "grammar/completion.h"

namespace rill::grammar {
namespace {

Symbol token_symbol(Token token) { return static_cast<Symbol>(256 + static_cast<std::uint32_t>(token)); }

std::uint32_t times(std::uint64_t a, std::uint64_t b) {
  return a == 0 || b == 0 ? 0 : static_cast<std::uint32_t>(std::min<std::uint64_t>(a * b, kNever));
}

}  // namespace

CompletionWeights::CompletionWeights(Automaton& automaton, const Tokenizer& tokenizer,
                                     std::shared_ptr<const TokenTable> table, std::span<const Token> end_tokens)
    : automaton_(automaton),
      tokenizer_(tokenizer),
      table_(std::move(table)),
      end_tokens_(end_tokens.begin(), end_tokens.end()) {
  const TokenTrie& trie = table_->trie;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto [root, end] = trie.roots_of(static_cast<std::uint8_t>(byte));
    writable_[byte] = root < end && trie.ends_token(root);
  }
  automaton_.with_rules([this](Rules& rules) { weigh_rules(rules); });
}

std::optional<Token> CompletionWeights::token_for(const TokenLeaf& leaf) const {
  if (!leaf.negated) return leaf.token;
  const auto leaves = automaton_.token_leaves();
  for (std::size_t i = 0; i < tokenizer_.size(); ++i) {
    const auto token = static_cast<Token>(i);
    const bool named = std::any_of(leaves.begin(), leaves.end(), [&](const TokenLeaf& other) { return other.token == token; });
    if (!named && !is_end(token)) return token;
  }
  return std::nullopt;
}

// Each round finds at least one rule's least weight.
void CompletionWeights::weigh_rules(Rules& rules) {
  rules_.assign(rules.rules.size(), {});
  for (bool changed = true; changed;) {
    changed = false;
    is_known_.assign(rules.expressions.size(), false);
    for (std::size_t i = rules_.size(); i-- > 0;) {  // callers mostly stand first
      const Weight made = weigh(rules.expressions, rules.rules[i].body);
      if (!is_lighter(made, rules_[i])) continue;
      rules_[i] = made;
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
    case Kind::epsilon: return {0, kNever, 0};
    case Kind::bytes: return pick(e, n) < 256 ? Weight{1, 1, 0} : Weight{};
    case Kind::call: return {rules_[n.first].least, kNever, rules_[n.first].height + 1};
    case Kind::token: return token_for(e.token_leaves()[n.first]) ? Weight{1, 1, 0} : Weight{};
    case Kind::concat: {
      const Weight a = at(e.first(expr)), b = at(e.second(expr));
      const std::uint32_t direct = plus(a.direct, b.least);
      return {plus(a.least, b.least), a.least == 0 ? std::min(direct, b.direct) : direct, std::max(a.height, b.height)};
    }
    case Kind::either: {
      Weight best = at(lightest(e.operands(n)));
      for (const Expr operand : e.operands(n)) best.direct = std::min(best.direct, at(operand).direct);
      return best;
    }
    case Kind::repeat: {
      const Weight body = at(e.first(expr));
      return {times(body.least, n.second), plus(body.direct, times(body.least, n.second == 0 ? 0 : n.second - 1)),
              n.second == 0 ? 0 : body.height};
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
      return {length, length == 0 ? kNever : length, 0};
    }
  }
  return {};
}

Weight CompletionWeights::weigh_members(std::span<const Expr> members, std::size_t required,
                                        Weight separator) const {
  Weight all = required == 0 ? at(lightest(members)) : Weight{times(separator.least, required - 1), kNever, separator.height};
  for (const Expr member : members.first(required)) {
    all.least = plus(all.least, at(member).least);
    all.height = std::max(all.height, at(member).height);
  }
  if (all.least == kNever) return {};
  all.direct = kNever;
  for (const Expr member : required == 0 ? members : members.first(required)) {
    const Weight own = at(member);
    if (own.least < kNever) all.direct = std::min(all.direct, plus(own.direct, required == 0 ? 0 : all.least - own.least));
  }
  return all;
}

std::uint32_t CompletionWeights::pick(const Expressions& e, const Expressions::Node& bytes) {
  if (picked_.size() <= bytes.first) picked_.resize(e.sets().size(), kNotPicked);
  std::uint32_t& known = picked_[bytes.first];
  if (known == kNotPicked) known = pick(e.set(bytes));
  return known;
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
  std::unordered_set<Expr> seen{expr};
  for (std::size_t at = 0; at < queue.size() && queue.size() < kMaxSearch; ++at) {
    if (expressions.nullable(queue[at].expr)) {
      std::string text;
      for (std::size_t i = at; i != 0; i = queue[i].from) text += queue[i].byte;
      std::reverse(text.begin(), text.end());
      return found->second = std::move(text);
    }
    ByteSet tried;
    for (const auto first : {'a', '0', 'A', ' ', '\0'}) {
      for (unsigned i = 0; i < 256; ++i) {
        const unsigned byte = (static_cast<unsigned>(first) + i) % 256;
        if (!writable_[byte] || tried.contains(byte)) continue;
        ByteSet alike;
        const Expr next = expressions.derivative(queue[at].expr, {Kind::bytes, byte}, &alike);
        tried = tried | alike;
        if (next != Expr::nothing && seen.insert(next).second) queue.push_back({next, at, static_cast<char>(byte)});
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
      case Kind::bytes: return static_cast<Symbol>(pick(e, n));
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

Expr CompletionWeights::lightest(std::span<const Expr> expressions) const {
  return *std::min_element(expressions.begin(), expressions.end(), [this](Expr a, Expr b) { return is_lighter(at(a), at(b)); });
}

// What a lightest text of `expr` is made of, the last part first.
void CompletionWeights::append_parts(Expressions& e, Expr expr, std::vector<Expr>& todo) const {
  const Expressions::Node n = e.node(expr);
  switch (n.kind) {
    case Kind::concat: todo.insert(todo.end(), {e.second(expr), e.first(expr)}); break;
    case Kind::either: todo.push_back(lightest(e.operands(n))); break;
    case Kind::repeat: todo.insert(todo.end(), n.second, e.first(expr)); break;
    case Kind::members: {
      const auto members = e.operands(n).subspan(1);
      const std::size_t required = n.third / 2;
      if (required == 0) todo.push_back(lightest(members));
      for (std::size_t i = required; i-- > 0;) {
        todo.push_back(members[i]);
        if (i > 0) todo.push_back(e.operands(n)[0]);
      }
      break;
    }
    default: break;
  }
}

void CompletionWeights::append(State state, std::vector<Symbol>& text) {
  automaton_.with_rules([&](Rules& rules) {
    Expressions& e = rules.expressions;
    const Expr root = automaton_.expression(state);
    weigh(e, root);
    std::vector<Expr> todo{root};
    while (!todo.empty()) {
      const Expr expr = todo.back();
      todo.pop_back();
      if (at(expr).least == 0) continue;
      const Expressions::Node n = e.node(expr);
      switch (n.kind) {
        case Kind::bytes: text.push_back(static_cast<Symbol>(pick(e, n))); break;
        case Kind::token: text.push_back(token_symbol(*token_for(e.token_leaves()[n.first]))); break;
        case Kind::call: todo.push_back(rules.rules[n.first].body); break;
        case Kind::both:
        case Kind::complement:
          for (const char byte : *shortest(e, expr)) text.push_back(static_cast<Symbol>(static_cast<std::uint8_t>(byte)));
          break;
        default: append_parts(e, expr, todo);
      }
    }
  });
}

CompletionWeights::Entry CompletionWeights::of(State state) {
  return automaton_.with_rules([&](Rules& rules) {
    const Expr expr = automaton_.expression(state);
    Entry entry{weigh(rules.expressions, expr), Symbol::none};
    entry.symbol = first_symbol(rules.expressions, expr);
    return entry;
  });
}

}  // namespace rill::grammar
