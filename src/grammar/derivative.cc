// Derivatives of expressions, and by how many bytes they are the same.
#include <vector>

#include "grammar/expression.h"

namespace rill::grammar {

// One derivative by one letter. What cannot begin with the letter is not looked at, nor is what begins like a literal.
class Expressions::Derivation {
 public:
  Derivation(Expressions& expressions, Letter letter) : e_(expressions), letter_(letter) {}

  Expr of(Expr root) {
    if (!begins(root) || is_literal(root)) return rest_of(root);
    if (e_.node(root).kind != Kind::either) return compute(root);
    std::vector<Expr> parts;
    for (std::size_t i = 0; i < e_.node(root).second; ++i) {
      const Expr operand = e_.operands(e_.node(root))[i];
      if (begins(operand)) parts.push_back(is_literal(operand) ? rest_of(operand) : compute(operand));
    }
    return e_.either(parts);
  }
  // Bytes of which the same is true in all that was asked.
  const ByteSet& alike() const { return alike_; }

 private:
  bool by_byte() const { return letter_.kind == Kind::bytes; }

  bool begins(Expr expr) {
    if (!by_byte()) return e_.node(expr).begins_other;
    const ByteSet& bytes = e_.first_bytes(expr);
    const bool begins = bytes.contains(letter_.value);
    if (!begins) {
      alike_ = alike_ & ~bytes;
    } else if (is_literal(expr)) {
      alike_ = alike_ & bytes;
    }
    return begins;
  }

  bool is_literal(Expr expr) const {
    const Node& n = e_.node(expr);
    return by_byte() && (n.kind == Kind::bytes || (n.kind == Kind::concat && e_.node(e_.first(expr)).kind == Kind::bytes));
  }

  Expr rest_of(Expr expr) {
    if (!begins(expr)) return Expr::nothing;
    if (!is_literal(expr)) return e_.done(expr);
    return e_.node(expr).kind == Kind::bytes ? Expr::epsilon : e_.second(expr);
  }

  Expr compute(Expr root) {
    return e_.fold(
        root, [this](Expr expr, auto need) { each_part(expr, need); }, [this](Expr expr) { return make(expr); });
  }

  // What must be derived first.
  template <typename Need>
  void each_part(Expr expr, Need need) {
    const auto need_if_begins = [&](Expr part) {
      if (begins(part) && !is_literal(part)) need(part);
    };
    const Node& n = e_.node(expr);
    switch (n.kind) {
      case Kind::concat:
        need_if_begins(e_.first(expr));
        if (e_.nullable(e_.first(expr))) need_if_begins(e_.second(expr));
        break;
      case Kind::either:
      case Kind::both:
        for (const Expr operand : e_.operands(n)) need_if_begins(operand);
        break;
      case Kind::members:
        for (const Expr operand : e_.operands(n).subspan(1)) need_if_begins(operand);
        break;
      case Kind::complement:
      case Kind::repeat: need_if_begins(e_.first(expr)); break;
      default: break;
    }
  }

  Expr make(Expr expr) {
    const Node n = e_.node(expr);
    switch (n.kind) {
      case Kind::call:
      case Kind::token: return letter_.kind == n.kind && letter_.value == n.first ? Expr::epsilon : Expr::nothing;
      case Kind::concat: {
        const Expr head = e_.concat(rest_of(e_.first(expr)), e_.second(expr));
        return e_.nullable(e_.first(expr)) ? e_.either(head, rest_of(e_.second(expr))) : head;
      }
      case Kind::either:
      case Kind::both: {
        std::vector<Expr> parts;
        for (const Expr operand : e_.operands(n)) {
          const Expr rest = rest_of(operand);
          if (n.kind == Kind::both && rest == Expr::nothing) return rest;
          if (rest != Expr::nothing) parts.push_back(rest);
        }
        return n.kind == Kind::either ? e_.either(parts) : e_.both(parts);
      }
      case Kind::members: {
        std::vector<Expr> parts;
        for (std::size_t i = 1; i < n.second; ++i) {
          const Expr rest = rest_of(e_.operands(n)[i]);
          if (rest != Expr::nothing) parts.push_back(e_.concat(rest, e_.after_member(n, i)));
        }
        return e_.either(parts);
      }
      case Kind::complement: return by_byte() ? e_.complement(rest_of(e_.first(expr))) : Expr::nothing;
      case Kind::repeat: {
        const std::uint32_t most = n.third == kUnbounded ? kUnbounded : n.third - 1;
        const Expr one = rest_of(e_.first(expr));
        if (one == Expr::nothing) return one;
        return e_.concat(one, e_.repeat(e_.first(expr), n.second == 0 ? 0 : n.second - 1, most));
      }
      default: return Expr::nothing;
    }
  }

  Expressions& e_;
  Letter letter_;
  ByteSet alike_ = ByteSet::all();
};

Expr Expressions::derivative(Expr root, Letter letter, ByteSet* alike) {
  Derivation derivation(*this, letter);
  const Expr rest = derivation.of(root);
  if (alike != nullptr) *alike = derivation.alike();
  return rest;
}

// What may follow when the member `taken` has ended.
Expr Expressions::after_member(const Node& n, std::size_t taken) {
  std::vector<Expr> rest(operands(n).begin(), operands(n).end());
  const Expr separator = rest[0];
  std::uint32_t third = n.third;
  const bool is_others = third % 2 == 1 && taken + 1 == rest.size();
  if (!is_others) rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(taken));
  if (taken <= third / 2) third -= 2;
  const Expr more = concat(separator, members_of(rest, third));
  return third / 2 == 0 ? optional(more) : more;
}

}  // namespace rill::grammar
