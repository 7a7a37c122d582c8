#include "grammar/expression.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/error.h"
#include "base/hash.h"

namespace rill::grammar {
namespace {

// Mostly they are in order already.
void sort_unique(std::vector<Expr>& exprs) {
  if (!std::is_sorted(exprs.begin(), exprs.end())) std::sort(exprs.begin(), exprs.end());
  exprs.erase(std::unique(exprs.begin(), exprs.end()), exprs.end());
}

}  // namespace

std::size_t Expressions::SetHash::operator()(const ByteSet& set) const {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : set.words()) hash = mix(hash, word);
  return hash;
}

Expressions::Expressions(std::size_t max_expressions) : max_expressions_(max_expressions), table_(64) {
  add({.kind = Kind::nothing, .nullable = false, .regular = true, .boolean = false});
  add({.kind = Kind::epsilon, .nullable = true, .regular = true, .boolean = false});
  add({.kind = Kind::complement, .nullable = true, .regular = true, .boolean = false, .first = 0});
}

std::uint64_t Expressions::hash(const Node& node, std::span<const Expr> operands) const {
  std::uint64_t value = mix(static_cast<std::uint64_t>(node.kind), node.second);
  if (operands.empty()) return mix(mix(value, node.first), node.third);
  for (const Expr operand : operands) value = mix(value, static_cast<std::uint64_t>(operand));
  return mix(value, node.third);
}

bool Expressions::same(const Node& a, const Node& b, std::span<const Expr> operands_of_b) const {
  if (a.kind != b.kind || a.second != b.second || a.third != b.third) return false;
  if (operands_of_b.empty()) return a.first == b.first;
  return std::ranges::equal(operands(a), operands_of_b);
}

void Expressions::grow_table() {
  std::vector<std::uint32_t> old(table_.size() * 2);
  old.swap(table_);
  for (const std::uint32_t entry : old) {
    if (entry == 0) continue;
    const Node& n = nodes_[entry - 1];
    std::size_t slot = hash(n, has_many(n.kind) ? operands(n) : std::span<const Expr>()) & (table_.size() - 1);
    while (table_[slot] != 0) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = entry;
  }
}

ByteSet Expressions::first_bytes_of(const Node& node) const {
  switch (node.kind) {
    case Kind::bytes: return set(node);
    case Kind::concat: {
      const auto head = static_cast<Expr>(node.first), rest = static_cast<Expr>(node.second);
      return nullable(head) ? first_bytes(head) | first_bytes(rest) : first_bytes(head);
    }
    case Kind::repeat: return first_bytes(static_cast<Expr>(node.first));
    case Kind::complement: return ByteSet::all();
    case Kind::either:
    case Kind::members: {
      ByteSet all;
      for (const Expr operand : operands(node).subspan(node.kind == Kind::members ? 1 : 0)) all = all | first_bytes(operand);
      return all;
    }
    case Kind::both: {
      ByteSet all = ByteSet::all();
      for (const Expr operand : operands(node)) all = all & first_bytes(operand);
      return all;
    }
    default: return {};
  }
}

bool Expressions::is_counted(const Node& node) const {
  const auto counted = [this](Expr expr) { return this->counted(expr); };
  switch (node.kind) {
    case Kind::repeat:
      return node.second > 1 || node.third != kUnbounded || counted(static_cast<Expr>(node.first));
    case Kind::concat: return counted(static_cast<Expr>(node.first)) || counted(static_cast<Expr>(node.second));
    case Kind::either:
    case Kind::members: return std::ranges::any_of(operands(node), counted);
    default: return false;
  }
}

bool Expressions::may_begin_other(const Node& node) const {
  if (node.regular) return false;
  const auto other = [this](Expr expr) { return this->node(expr).begins_other; };
  switch (node.kind) {
    case Kind::call:
    case Kind::token: return true;
    case Kind::repeat: return other(static_cast<Expr>(node.first));
    case Kind::concat: {
      const auto head = static_cast<Expr>(node.first);
      return other(head) || (nullable(head) && other(static_cast<Expr>(node.second)));
    }
    case Kind::either: return std::ranges::any_of(operands(node), other);
    case Kind::members: return std::ranges::any_of(operands(node).subspan(1), other);
    default: return false;
  }
}

Expr Expressions::add(const Node& node, std::span<const Expr> operands) {
  std::size_t slot = hash(node, operands) & (table_.size() - 1);
  for (; table_[slot] != 0; slot = (slot + 1) & (table_.size() - 1)) {
    if (same(nodes_[table_[slot] - 1], node, operands)) return static_cast<Expr>(table_[slot] - 1);
  }
  // Operands count: a union of thousands is what a pattern that explodes looks like.
  if (nodes_.size() + operands_.size() + operands.size() >= max_expressions_) {
    throw ErrorException(make_error(ErrorCode::limit_exceeded,
                                    "the grammar needs more than max_expressions = {} expressions", max_expressions_));
  }
  if (nodes_.size() % 512 == 0 && stop_.stop_requested()) {
    throw ErrorException(make_error(ErrorCode::cancelled, "stopped while a grammar was compiled"));
  }
  Node added = node;
  if (!operands.empty()) {
    added.first = static_cast<std::uint32_t>(operands_.size());
    operands_.insert(operands_.end(), operands.begin(), operands.end());
  }
  added.counted = is_counted(added);
  added.begins_other = may_begin_other(added);
  nodes_.push_back(added);
  first_bytes_.push_back(first_bytes_of(added));
  table_[slot] = static_cast<std::uint32_t>(nodes_.size());
  if (nodes_.size() * 2 > table_.size()) grow_table();
  return static_cast<Expr>(nodes_.size() - 1);
}

Expr Expressions::bytes(const ByteSet& set) {
  if (set.empty()) return Expr::nothing;
  const auto [found, added] = set_numbers_.try_emplace(set, static_cast<std::uint32_t>(sets_.size()));
  if (added) sets_.push_back(set);
  return add({.kind = Kind::bytes, .nullable = false, .regular = true, .boolean = false,
              .first = found->second});
}

Expr Expressions::literal(std::string_view text) {
  Expr result = Expr::epsilon;
  for (std::size_t i = text.size(); i-- > 0;) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    result = concat(bytes(ByteSet::range(byte, byte)), result);
  }
  return result;
}

Expr Expressions::call(Rule rule) {
  return add({.kind = Kind::call, .nullable = false, .regular = false, .boolean = false,
              .first = static_cast<std::uint32_t>(rule)});
}

Expr Expressions::token(TokenLeaf leaf) {
  const auto found = std::find(leaves_.begin(), leaves_.end(), leaf);
  const auto at = static_cast<std::uint32_t>(found - leaves_.begin());
  if (found == leaves_.end()) leaves_.push_back(leaf);
  return add({.kind = Kind::token, .nullable = false, .regular = false, .boolean = false, .first = at});
}

// Leans to the right, so that a derivative needs to look at the first part alone.
Expr Expressions::concat(Expr a, Expr b) {
  if (a == Expr::nothing || b == Expr::nothing) return Expr::nothing;
  if (b == Expr::epsilon) return a;
  if (a == Expr::epsilon) return b;
  const auto pair = [this](Expr part, Expr rest) {
    const Node &x = node(part), &y = node(rest);
    return add({.kind = Kind::concat,
                .nullable = x.nullable && y.nullable,
                .regular = x.regular && y.regular,
                .boolean = x.boolean || y.boolean,
                .first = static_cast<std::uint32_t>(part),
                .second = static_cast<std::uint32_t>(rest)});
  };
  if (node(a).kind != Kind::concat) return pair(a, b);
  std::vector<Expr> parts;
  for (; node(a).kind == Kind::concat; a = second(a)) parts.push_back(first(a));
  b = pair(a, b);
  for (std::size_t i = parts.size(); i-- > 0;) b = pair(parts[i], b);
  return b;
}

void Expressions::flatten(Kind kind, std::span<const Expr> operands, std::vector<Expr>& flat) const {
  for (const Expr operand : operands) {
    const Node& n = node(operand);
    if (n.kind == kind) {  // its own operands are flat
      const auto inner = this->operands(n);
      flat.insert(flat.end(), inner.begin(), inner.end());
    } else {
      flat.push_back(operand);
    }
  }
  sort_unique(flat);
}

Expr Expressions::combined(Kind kind, std::vector<Expr> flat) {
  sort_unique(flat);
  if (flat.size() == 1) return flat[0];
  Node result{.kind = kind, .nullable = kind == Kind::both, .regular = true, .boolean = kind == Kind::both};
  result.second = static_cast<std::uint32_t>(flat.size());
  for (const Expr operand : flat) {
    const Node& n = node(operand);
    result.nullable = kind == Kind::both ? result.nullable && n.nullable : result.nullable || n.nullable;
    result.regular &= n.regular;
    result.boolean |= n.boolean;
  }
  return add(result, flat);
}

Expr Expressions::either(Expr a, Expr b) {
  if (a == Expr::nothing || a == b) return b;
  if (b == Expr::nothing) return a;
  const Expr operands[] = {a, b};
  return either(operands);
}

// x{a,b} r | x{c,d} r is x{min,max} r where the counts touch: keeps nested counters from piling up.
void Expressions::merge_counts(std::vector<Expr>& flat) {
  struct Counted {
    Expr body, rest;
    std::uint32_t least, most;
  };
  std::vector<Counted> counted;
  std::erase_if(flat, [&](Expr expr) {
    const bool chain = node(expr).kind == Kind::concat;
    const Expr head = chain ? first(expr) : expr;
    const Node& n = node(head);
    if (n.kind != Kind::repeat) return false;
    counted.push_back({static_cast<Expr>(n.first), chain ? second(expr) : Expr::epsilon, n.second, n.third});
    return true;
  });
  std::sort(counted.begin(), counted.end(), [](const Counted& a, const Counted& b) {
    return std::tie(a.body, a.rest, a.least, a.most) < std::tie(b.body, b.rest, b.least, b.most);
  });
  for (std::size_t i = 0; i < counted.size();) {
    Counted all = counted[i++];
    while (i < counted.size() && counted[i].body == all.body && counted[i].rest == all.rest &&
           (all.most == kUnbounded || counted[i].least <= all.most + 1)) {
      all.most = std::max(all.most, counted[i++].most);
    }
    flat.push_back(concat(repeat(all.body, all.least, all.most), all.rest));
  }
}

Expr Expressions::either(std::span<const Expr> operands) {
  if (operands.size() == 1) return operands[0];
  std::vector<Expr> flat;
  flatten(Kind::either, operands, flat);
  ByteSet set;
  std::size_t repeats = 0;
  bool anything = false;
  std::erase_if(flat, [&](Expr expr) {
    const Node& n = node(expr);
    anything |= expr == Expr::anything;
    if (n.kind == Kind::bytes) set = set | this->set(n);
    repeats += n.kind == Kind::repeat || (n.kind == Kind::concat && node(first(expr)).kind == Kind::repeat) ? 1 : 0;
    return n.kind == Kind::bytes || expr == Expr::nothing;
  });
  if (anything && std::all_of(flat.begin(), flat.end(), [&](Expr expr) { return node(expr).regular; })) {
    return Expr::anything;
  }
  if (repeats > 1) merge_counts(flat);
  if (!set.empty()) flat.push_back(bytes(set));
  if (flat.empty()) return Expr::nothing;
  if (flat.size() > 1 && std::find(flat.begin(), flat.end(), Expr::epsilon) != flat.end()) {
    // The empty string is left out where another operand holds it; x{1,n} takes it in.
    std::erase(flat, Expr::epsilon);
    if (flat.size() == 1 && node(flat[0]).kind == Kind::repeat && node(flat[0]).second == 1) {
      return repeat(first(flat[0]), 0, node(flat[0]).third);
    }
    if (std::none_of(flat.begin(), flat.end(), [&](Expr expr) { return nullable(expr); })) {
      flat.push_back(Expr::epsilon);
    }
  }
  return combined(Kind::either, std::move(flat));
}

Expr Expressions::both(Expr a, Expr b) {
  const Expr operands[] = {a, b};
  return both(operands);
}

Expr Expressions::both(std::span<const Expr> operands) {
  std::vector<Expr> flat;
  flatten(Kind::both, operands, flat);
  std::erase(flat, Expr::anything);
  if (flat.empty()) return Expr::anything;
  if (flat[0] == Expr::nothing) return Expr::nothing;
  ByteSet set = ByteSet::all();
  bool has_set = false, has_epsilon = false, all_nullable = true;
  for (const Expr operand : flat) {
    const Node& n = node(operand);
    has_epsilon |= operand == Expr::epsilon;
    all_nullable &= n.nullable;
    if (n.kind != Kind::bytes) continue;
    set = set & this->set(n);
    has_set = true;
  }
  if (has_epsilon) return all_nullable ? Expr::epsilon : Expr::nothing;
  if (has_set) {
    std::erase_if(flat, [&](Expr expr) { return node(expr).kind == Kind::bytes; });
    flat.push_back(bytes(set));
    if (set.empty()) return Expr::nothing;
  }
  // x and not x: the most common dead end of differences.
  for (const Expr operand : flat) {
    if (node(operand).kind != Kind::complement) continue;
    if (std::find(flat.begin(), flat.end(), first(operand)) != flat.end()) return Expr::nothing;
  }
  return combined(Kind::both, std::move(flat));
}

Expr Expressions::complement(Expr expr) {
  if (expr == Expr::nothing) return Expr::anything;
  const Node& n = node(expr);
  if (n.kind == Kind::complement) return first(expr);
  return add({.kind = Kind::complement, .nullable = !n.nullable, .regular = n.regular, .boolean = true,
              .first = static_cast<std::uint32_t>(expr)});
}

Expr Expressions::without_epsilon(Expr expr) {
  if (!nullable(expr)) return expr;
  if (expr == Expr::epsilon) return Expr::nothing;
  const Node n = node(expr);
  if (n.kind == Kind::repeat && !nullable(first(expr))) return repeat(first(expr), 1, n.third);
  if (n.kind == Kind::either) {
    std::vector<Expr> rest;
    const auto all = operands(n);
    const bool simple = std::all_of(all.begin(), all.end(), [&](Expr operand) {
      const Node& o = node(operand);
      return operand == Expr::epsilon || !o.nullable || (o.kind == Kind::repeat && !nullable(first(operand)));
    });
    if (simple) {
      const std::vector<Expr> copy(all.begin(), all.end());
      for (const Expr operand : copy) rest.push_back(without_epsilon(operand));  // one level deep
      return either(rest);
    }
  }
  return both(expr, complement(Expr::epsilon));
}

Expr Expressions::repeat(Expr expr, std::uint32_t least, std::uint32_t most) {
  if (most == 0 || expr == Expr::epsilon) return Expr::epsilon;
  if (expr == Expr::nothing) return least == 0 ? Expr::epsilon : Expr::nothing;
  const Node& n = node(expr);
  if (n.nullable) least = 0;
  if (least == 1 && most == 1) return expr;
  if (n.nullable && most == 1) return expr;
  if (n.kind == Kind::repeat) {
    // x{a,b} taken `least` to `most` times is one counter if the counts of neighbours touch.
    const std::uint64_t a = n.second, b = n.third;
    const bool unbounded = n.third == kUnbounded || most == kUnbounded;
    const std::uint64_t low = a * least;
    const std::uint64_t high = unbounded ? kUnbounded : b * most;
    const bool touching = least == most || (least == 0 || n.third == kUnbounded
                                                ? least > 0 || a <= 1
                                                : (least + std::uint64_t{1}) * a <= least * b + 1);
    if (touching && low < kUnbounded && (unbounded || high < kUnbounded)) {
      return repeat(first(expr), static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high));
    }
  }
  if (n.kind == Kind::either && least == 0 && most == kUnbounded && operands(n)[0] == Expr::epsilon) {
    const std::vector<Expr> rest(operands(n).begin() + 1, operands(n).end());
    return repeat(either(rest), 0);
  }
  return add({.kind = Kind::repeat, .nullable = least == 0, .regular = n.regular, .boolean = n.boolean,
              .first = static_cast<std::uint32_t>(expr), .second = least, .third = most});
}

Expr Expressions::members(Expr separator, std::span<const Expr> required, std::span<const Expr> optional, Expr others) {
  std::vector<Expr> all{separator};
  all.insert(all.end(), required.begin(), required.end());
  std::copy_if(optional.begin(), optional.end(), std::back_inserter(all), [](Expr e) { return e != Expr::nothing; });
  if (others != Expr::nothing) all.push_back(others);
  return members_of(all, static_cast<std::uint32_t>(required.size() * 2 + (others != Expr::nothing ? 1 : 0)));
}

// operands: the separator, the required members, the optional ones, and the others if third is odd.
Expr Expressions::members_of(std::span<const Expr> operands, std::uint32_t third) {
  const auto required = operands.subspan(1, third / 2);
  if (operands.size() == 1 || std::find(required.begin(), required.end(), Expr::nothing) != required.end()) {
    return Expr::nothing;
  }
  Node made{.kind = Kind::members, .nullable = false, .regular = true, .boolean = false};
  made.second = static_cast<std::uint32_t>(operands.size());
  made.third = third;
  for (const Expr operand : operands) {
    made.regular &= node(operand).regular;
    made.boolean |= node(operand).boolean;
  }
  return add(made, operands);
}

void Expressions::begin_walk(Expr root) {
  ++stamp_;
  if (stamps_.size() < nodes_.size()) {
    stamps_.resize(nodes_.size());
    memo_.resize(nodes_.size());
  }
  work_.assign(1, root);
}

std::size_t Expressions::count(Expr root, std::size_t most) {
  begin_walk(root);
  std::size_t found = 0;
  while (!work_.empty() && found < most) {
    const Expr expr = work_.back();
    work_.pop_back();
    if (std::exchange(stamps_[index(expr)], stamp_) == stamp_) continue;
    ++found;
    each_operand(expr, [this](Expr operand) { work_.push_back(operand); });
  }
  return found;
}

std::vector<Letter> Expressions::front(Expr root) {
  std::vector<Letter> letters;
  if (!node(root).begins_other) return letters;
  fold(
      root,
      [this](Expr expr, auto need) {
        const Node& n = node(expr);
        const auto need_if_other = [&](Expr operand) {
          if (node(operand).begins_other) need(operand);
        };
        if (n.kind == Kind::concat) {
          need_if_other(first(expr));
          if (nullable(first(expr))) need_if_other(second(expr));
        } else if (n.kind == Kind::repeat) {
          need_if_other(first(expr));
        } else if (has_many(n.kind)) {
          for (const Expr operand : operands(n).subspan(n.kind == Kind::members ? 1 : 0)) need_if_other(operand);
        }
      },
      [&](Expr expr) {
        const Node& n = node(expr);
        if (n.kind == Kind::call || n.kind == Kind::token) letters.push_back({n.kind, n.first});
        return expr;
      });
  return letters;
}

Expr Expressions::rebuilt(Expr expr, Expressions& target) const {
  const Node n = node(expr);
  switch (n.kind) {
    case Kind::concat: return target.concat(done(first(expr)), done(second(expr)));
    case Kind::either:
    case Kind::both: {
      std::vector<Expr> parts;
      for (const Expr operand : operands(n)) parts.push_back(done(operand));
      return n.kind == Kind::either ? target.either(parts) : target.both(parts);
    }
    case Kind::members: {
      // What has become nothing is left out where it is optional.
      std::vector<Expr> parts;
      std::uint32_t third = n.third;
      for (std::size_t i = 0; i < n.second; ++i) {
        const Expr part = done(operands(n)[i]);
        if (part != Expr::nothing || i <= n.third / 2) parts.push_back(part);
        if (part == Expr::nothing && n.third % 2 == 1 && i + 1 == n.second) --third;
      }
      return target.members_of(parts, third);
    }
    case Kind::complement: return target.complement(done(first(expr)));
    case Kind::repeat: return target.repeat(done(first(expr)), n.second, n.third);
    default: return expr;  // nothing and epsilon have the same ids everywhere
  }
}

Expr Expressions::clamp_counts(Expr root, std::uint32_t most, std::size_t original) {
  const auto changes = [&](Expr expr) { return counted(expr) && index(expr) >= original; };
  return rebuild_outer(root, changes, [&](Expr expr) {
    const Node n = node(expr);
    if (n.kind != Kind::repeat || !changes(expr)) return expr;
    return repeat(first(expr), std::min(n.second, most), n.third > most ? kUnbounded : n.third);
  });
}

}  // namespace rill::grammar
