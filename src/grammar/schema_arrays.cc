#include <algorithm>
#include <vector>

#include "grammar/schema_compiler.h"

namespace rill::grammar {
namespace {

constexpr std::uint64_t kMostCounted = 4'096;  // states of counting what `contains` asks for

}  // namespace

Expr SchemaCompiler::array(const Goal& goal, const Branch& branch, std::vector<Literal>& checks) {
  std::uint64_t least = 0, most = kUnbounded;
  std::size_t prefix = 0;
  std::optional<SchemaId> contains;
  bool several_contains = false;
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    least = std::max(least, s.min_items.value_or(0));
    most = std::min(most, s.max_items.value_or(most));
    prefix = std::max(prefix, s.prefix_items.size());
  }
  const bool any_contains =
      std::any_of(branch.plain.begin(), branch.plain.end(), [&](SchemaId id) { return at(id).contains.has_value(); });
  for (const SchemaId id : branch.plain) {
    const Schema& s = at(id);
    if (s.unique_items && most > 1) checks.push_back({id, false});
    if (s.contains && !(s.min_contains == 0 && !s.max_contains)) {
      several_contains |= contains.has_value();
      contains = id;
    }
    if (s.unevaluated_items && (!decides_unevaluated(goal, branch, id) || any_contains)) checks.push_back({id, false});
  }
  if (least > most || least >= kUnbounded) return Expr::nothing;

  const auto item = [&](std::size_t position) {
    Goal of_item;
    bool evaluated = false;
    for (const SchemaId id : branch.plain) {
      const Schema& s = at(id);
      if (position < s.prefix_items.size()) {
        of_item.push_back({s.prefix_items[position], false}), evaluated = true;
      } else if (s.items) {
        of_item.push_back({*s.items, false}), evaluated = true;
      }
    }
    for (const SchemaId id : branch.plain) {
      const bool others = std::any_of(branch.plain.begin(), branch.plain.end(), [&](SchemaId other) {
        return other != id && at(other).unevaluated_items;
      });
      if (at(id).unevaluated_items && !evaluated && decides_unevaluated(goal, branch, id) && !any_contains && !others) {
        of_item.push_back({*at(id).unevaluated_items, false});
      }
    }
    return normalised(std::move(of_item));
  };
  const Expr rest = value(item(prefix));
  const Expr more = e_.concat(comma(), rest);
  if (contains) {
    const Schema& s = at(*contains);
    const std::uint64_t found = s.min_contains.value_or(1);
    if (found > s.max_contains.value_or(kUnbounded)) return Expr::nothing;
    // How many of the first `end` elements there are is told apart.
    const std::uint64_t end = most == kUnbounded ? std::max<std::uint64_t>({least, prefix, 1}) : most;
    if (!several_contains && found > 0 && end > 0 && found < kMostCounted && end < kMostCounted / (found + 1)) {
      if (s.max_contains) checks.push_back({*contains, false});
      const auto found_at = [&](std::uint64_t i) {
        Goal matching = item(std::min<std::uint64_t>(i, prefix));
        matching.push_back({*s.contains, false});
        return value(normalised(std::move(matching)));
      };
      const auto any_at = [&](std::uint64_t i) { return i < prefix ? value(item(i)) : rest; };
      // What follows `i` elements while so many are still to be found, by how many.
      std::vector<Expr> after{most == kUnbounded ? e_.repeat(more, 0) : Expr::epsilon};
      for (std::uint64_t n = 1; n <= found; ++n) {
        const Expr next = e_.concat(e_.repeat(more, 0), e_.concat(comma(), e_.concat(found_at(prefix), after[n - 1])));
        after.push_back(most == kUnbounded ? next : Expr::nothing);
      }
      for (std::uint64_t i = end; i-- > 0;) {
        const Expr any = any_at(i), one = found_at(i);
        for (std::uint64_t n = found + 1; n-- > 0;) {
          Expr next = e_.concat(any, after[n]);
          if (n > 0) next = e_.either(next, e_.concat(one, after[n - 1]));
          if (i > 0) next = e_.concat(comma(), next);
          after[n] = i > 0 && i >= least && n == 0 ? e_.optional(next) : next;
        }
      }
      return bracketed("[", after[found], false, "]");
    }
    for (const SchemaId id : branch.plain) {
      if (at(id).contains) checks.push_back({id, false});
    }
    least = std::max<std::uint64_t>(least, s.min_contains.value_or(1));
    if (least > most) return Expr::nothing;
  }
  // From the last element on: what may follow `i` elements.
  const auto repeats = [&](std::uint64_t from) {
    const std::uint64_t lo = least > from ? least - from : 0, hi = most == kUnbounded ? most : most - from;
    return e_.repeat(more, static_cast<std::uint32_t>(lo), static_cast<std::uint32_t>(hi));
  };
  const std::size_t listed = std::min<std::uint64_t>(prefix, most);
  Expr tail = Expr::nothing;
  if (listed == 0) {
    if (most == 0) return bracketed("[", Expr::nothing, true, "]");
    return bracketed("[", e_.concat(rest, repeats(1)), least == 0, "]");
  }
  tail = listed < prefix ? Expr::epsilon : repeats(listed);
  for (std::size_t i = listed; i-- > 1;) {
    tail = e_.concat(comma(), e_.concat(value(item(i)), tail));
    if (i >= least) tail = e_.optional(tail);
  }
  return bracketed("[", e_.concat(value(item(0)), tail), least == 0, "]");
}

}  // namespace rill::grammar
