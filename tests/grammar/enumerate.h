// The language of a small grammar over the letters a and b, by enumeration: every text of up to six letters.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace rill::grammar {

// texts[n]: bit t for the text of n letters that t spells, the first letter highest.
struct Texts {
  static constexpr std::size_t kLongest = 6;
  std::array<std::uint64_t, kLongest + 1> of{};

  bool holds(std::size_t length, std::uint64_t text) const { return (of[length] >> text & 1) != 0; }
  // Whether some text in it begins like this.
  bool begins(std::size_t length, std::uint64_t text) const {
    for (std::size_t n = length; n <= kLongest; ++n) {
      const std::size_t rest = n - length;
      const std::uint64_t all = rest == 6 ? ~std::uint64_t{0} : (std::uint64_t{1} << (std::uint64_t{1} << rest)) - 1;
      if ((of[n] >> (text << rest) & all) != 0) return true;
    }
    return false;
  }
  Texts operator|(const Texts& other) const {
    Texts result;
    for (std::size_t n = 0; n <= kLongest; ++n) result.of[n] = of[n] | other.of[n];
    return result;
  }
  Texts then(const Texts& other) const {
    Texts result;
    for (std::size_t n = 0; n <= kLongest; ++n) {
      for (std::uint64_t text = 0; text < std::uint64_t{1} << n; ++text) {
        if (!holds(n, text)) continue;
        for (std::size_t m = 0; n + m <= kLongest; ++m) result.of[n + m] |= other.of[m] << (text << m);
      }
    }
    return result;
  }
  Texts operator&(const Texts& other) const {
    Texts result;
    for (std::size_t n = 0; n <= kLongest; ++n) result.of[n] = of[n] & other.of[n];
    return result;
  }
  Texts others() const {
    Texts result;
    for (std::size_t n = 0; n <= kLongest; ++n) {
      const std::uint64_t all = n == 6 ? ~std::uint64_t{0} : (std::uint64_t{1} << (std::uint64_t{1} << n)) - 1;
      result.of[n] = ~of[n] & all;
    }
    return result;
  }
  Texts star() const {
    Texts result;
    result.of[0] = 1;
    for (Texts before; before.of != result.of;) {
      before = result;
      result = result | result.then(*this);
    }
    return result;
  }
};

// A right-hand side: a, b, e (the empty text), A, B (the rules), * ? with one operand, . | with two; without rules also
// # (two or three times), ! (the other texts) and &.
struct Tree {
  char kind;
  const Tree* first = nullptr;
  const Tree* second = nullptr;

  Texts texts(const Texts& a_rule, const Texts& b_rule) const {
    Texts result;
    switch (kind) {
      case 'a': result.of[1] = 1; return result;
      case 'b': result.of[1] = 2; return result;
      case 'e': result.of[0] = 1; return result;
      case 'A': return a_rule;
      case 'B': return b_rule;
      case '*': return first->texts(a_rule, b_rule).star();
      case '?': result.of[0] = 1; return result | first->texts(a_rule, b_rule);
      case '#': {
        const Texts one = first->texts(a_rule, b_rule), two = one.then(one);
        return two | two.then(one);
      }
      case '!': return first->texts(a_rule, b_rule).others();
      case '&': return first->texts(a_rule, b_rule) & second->texts(a_rule, b_rule);
      case '.': return first->texts(a_rule, b_rule).then(second->texts(a_rule, b_rule));
      default: return first->texts(a_rule, b_rule) | second->texts(a_rule, b_rule);
    }
  }
  std::string gbnf() const {
    switch (kind) {
      case 'a': return "\"a\"";
      case 'b': return "[b]";
      case 'e': return "\"\"";
      case 'A': return "root";
      case 'B': return "other";
      case '*':
      case '?': return "(" + first->gbnf() + ")" + kind;
      case '.': return "(" + first->gbnf() + " " + second->gbnf() + ")";
      default: return "(" + first->gbnf() + " | " + second->gbnf() + ")";
    }
  }
};

// The trees of each size, 1 to `most`.
inline std::vector<std::vector<Tree>> all_trees(const std::string& leaves, std::size_t most,
                                                const std::string& unary = "*?", const std::string& binary = ".|") {
  std::vector<std::vector<Tree>> trees(most + 1);
  for (const char leaf : leaves) trees[1].push_back({leaf});
  for (std::size_t size = 2; size <= most; ++size) {
    std::vector<Tree> made;
    for (const Tree& tree : trees[size - 1]) {
      for (const char kind : unary) made.push_back({kind, &tree});
    }
    for (std::size_t left = 1; left + 2 <= size; ++left) {
      for (const Tree& a : trees[left]) {
        for (const Tree& b : trees[size - 1 - left]) {
          for (const char kind : binary) made.push_back({kind, &a, &b});
        }
      }
    }
    trees[size] = std::move(made);
  }
  return trees;
}

// What the rules A and B hold: the least fixed point.
inline Texts language_of(const Tree& a, const Tree* b) {
  Texts a_rule, b_rule;
  for (Texts a_before, b_before;;) {
    a_before = a_rule;
    b_before = b_rule;
    a_rule = a.texts(a_before, b_before);
    if (b != nullptr) b_rule = b->texts(a_before, b_before);
    if (a_rule.of == a_before.of && b_rule.of == b_before.of) return a_rule;
  }
}

}  // namespace rill::grammar
