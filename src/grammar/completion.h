// The completion of a text with the fewest bytes, and the fewest tokens that spell it: what a budget must leave room for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/parser.h"
#include "grammar/token_table.h"
#include "rill/tokenizer.h"

namespace rill::grammar {

// More than any budget.
inline constexpr std::uint32_t kNever = 1u << 30;

// A byte, or 256 + a token that stands in the grammar as itself.
enum class Symbol : std::uint32_t { none = 0xFFFFFFFF };

inline std::uint32_t plus(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(a + b, kNever));
}

// In bytes, a token of the grammar counting as one.
struct Weight {
  std::uint32_t least = kNever;   // of all texts
  std::uint32_t direct = kNever;  // of those whose first symbol stands here, not in a rule that is called
  std::uint32_t height = 0;       // of a lightest text: calls inside calls, the fewest that do
};
inline bool is_lighter(const Weight& a, const Weight& b) {
  return a.least != b.least ? a.least < b.least : a.height < b.height;
}

// Of one grammar, vocabulary and set of end tokens. Thread-safe: under the lock of the automaton.
class CompletionWeights {
 public:
  // `end_tokens`: ascending.
  CompletionWeights(Automaton& automaton, const Tokenizer& tokenizer, std::shared_ptr<const TokenTable> table,
                    std::span<const Token> end_tokens);

  struct Entry {
    Weight weight;
    Symbol symbol = Symbol::none;  // the first one of a `direct` text of least weight
  };
  Entry of(State state);
  // Appends a lightest text of what the state's rule goes on with, the same at each call.
  void append(State state, std::vector<Symbol>& text);

  const TokenTable& table() const { return *table_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  std::span<const Token> end_tokens() const { return end_tokens_; }
  bool is_end(Token token) const { return std::binary_search(end_tokens_.begin(), end_tokens_.end(), token); }
  bool writable(std::uint8_t byte) const { return writable_[byte]; }
  // A token that `leaf` matches, and no other leaf that stands for one token; no end token unless it is named.
  std::optional<Token> token_for(const TokenLeaf& leaf) const;

 private:
  static constexpr std::size_t kMaxSearch = 100'000;
  static constexpr std::uint32_t kNotPicked = 0xFFFFFFFF;

  void weigh_rules(Rules& rules);
  Weight weigh(Expressions& expressions, Expr root);
  Weight weigh_node(Expressions& expressions, Expr expr);
  Weight weigh_members(std::span<const Expr> members, std::size_t required, Weight separator) const;
  Expr lightest(std::span<const Expr> expressions) const;
  void append_parts(Expressions& expressions, Expr expr, std::vector<Expr>& todo) const;
  Symbol first_symbol(Expressions& expressions, Expr expr);
  std::uint32_t pick(const Expressions& expressions, const Expressions::Node& bytes);
  std::uint32_t pick(const ByteSet& set) const;
  const std::optional<std::string>& shortest(Expressions& expressions, Expr expr);
  bool known(Expr expr) const { return index(expr) < is_known_.size() && is_known_[index(expr)]; }
  Weight at(Expr expr) const { return weights_[index(expr)]; }

  Automaton& automaton_;
  Tokenizer tokenizer_;
  std::shared_ptr<const TokenTable> table_;
  std::vector<Token> end_tokens_;
  std::array<bool, 256> writable_{};  // bytes that some token is alone
  std::vector<Weight> weights_;  // by expression
  std::vector<bool> is_known_;
  std::vector<Weight> rules_;  // by rule
  std::vector<std::uint32_t> picked_;  // by set of bytes
  std::unordered_map<Expr, std::optional<std::string>> shortest_;  // of intersections and complements
};

// What one matcher asks. One thread at a time. A copy begins anew, as the rest is but remembered.
class Completion {
 public:
  explicit Completion(std::shared_ptr<CompletionWeights> weights) : weights_(std::move(weights)) {}
  Completion(const Completion& other) : Completion(other.weights_) {}
  Completion& operator=(const Completion& other) { return *this = Completion(other); }
  Completion(Completion&&) noexcept = default;
  Completion& operator=(Completion&&) noexcept = default;

  // Stack nodes may have changed since the last question.
  void forget() { below_.clear(); }
  // The least bytes to the end of the text; kNever: none is known. Where rules have value checks, it may take more.
  std::uint32_t bytes(const Parser& parser, const Places& from);
  // The fewest tokens that spell the one text of so many bytes that is chosen, and no end token among them. `text`: what
  // was read, for value checks. Adds to the parser's stacks.
  std::optional<std::vector<Token>> tokens(Parser& parser, const Places& from, std::string_view text);
  const CompletionWeights& weights() const { return *weights_; }

 private:
  // Where value checks refuse the shortest texts: how often the same places are gone on from, and how many are tried.
  struct Search {
    unsigned visits;
    std::size_t tried;
  };
  static constexpr std::array<Search, 3> kSearches = {{{2, 4'000}, {8, 20'000}, {kNever, 20'000}}};
  static constexpr std::size_t kMaxGuessed = 20'000, kMaxDepth = 1'000;
  static constexpr std::uint32_t kMostLonger = 8;  // that one guess makes a text, in bytes
  static constexpr std::uint32_t kMaxText = 1u << 22;  // symbols of a text that is written out, and of all that are kept

  // Bytes in the upper half, then rules, so that what is lightest goes nowhere twice.
  using Cost = std::uint64_t;
  static constexpr Cost kNotAsked = ~Cost{0}, kNoWay = std::uint64_t{kNever} << 32;

  CompletionWeights::Entry entry(State state);
  Cost below(const Parser& parser, StackNode node);
  Cost cost(const Parser& parser, Place place) {
    const Cost own = (Cost{entry(place.state).weight.least} << 32) + 1 + below(parser, place.node);
    return std::min(own, kNoWay);
  }
  void append_lightest(const Parser& parser, Place place);
  const std::vector<Symbol>& lightest_text(State state);
  Symbol best_symbol(const Parser& parser, std::span<const Place> from);
  bool choose(Parser& parser, const Places& from, std::string_view text);
  std::size_t checked_begin(const Parser& parser, const Places& at) const;
  bool search(Parser& parser, const Places& from, std::string_view text, const Search& how);
  bool guess(Parser& parser, const Places& from, std::string_view text);
  std::optional<std::vector<Token>> spell();
  std::optional<Token> token_at(std::uint32_t node) const;

  std::shared_ptr<CompletionWeights> weights_;
  std::vector<std::optional<CompletionWeights::Entry>> entries_;  // by state
  std::vector<Cost> below_;                                        // by stack node; kNotAsked
  std::vector<Symbol> chosen_;
  std::unordered_map<State, std::vector<Symbol>> texts_;  // what is appended, over and over; forgotten where it is too much
  std::size_t text_symbols_ = 0;

  // How the text that was spelled last is cut, from its end: by how much of it is left.
  struct Cut {
    std::uint32_t tokens = kNever;
    Token token = -1;
    std::size_t then = 0;  // left after the token
  };
  std::vector<Symbol> spelled_;  // backwards
  std::vector<Cut> cuts_;
};

}  // namespace rill::grammar
