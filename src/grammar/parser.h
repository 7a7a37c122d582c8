// All parses of a text at once, byte by byte: a set of places, each a state inside a rule on a stack of what follows it.
// Stacks that share their lower part share its nodes (Tomita, "Efficient Parsing for Natural Language", 1985; Scott and
// Johnstone, "GLL Parsing", 2010), so that ambiguous, left-recursive and nullable rules cost what they must and no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/automaton.h"

namespace rill::grammar {

enum class StackNode : std::uint32_t { root = 0 };
constexpr std::size_t index(StackNode node) { return static_cast<std::size_t>(node); }

// Where a parse may stand: inside a rule, and what is on the stack below that rule. On the stack: where it goes on when
// the rule above has ended.
struct Place {
  State state;
  StackNode node;

  friend auto operator<=>(const Place&, const Place&) = default;
};

// Ascending, without repeats. Empty and not complete: no text begins like this.
struct Places {
  std::vector<Place> places;
  bool complete = false;  // the text may end here

  bool alive() const { return complete || !places.empty(); }
};

// A call of a rule with a value check: where its value begins in the text.
struct CheckedCall {
  const ValueCheck* check = nullptr;
  std::uint32_t begin = 0;

  friend bool operator==(const CheckedCall&, const CheckedCall&) = default;
};

// Stack nodes by number: equal ones are one, but for those of cycles. Only what was added last can be taken away.
class Stacks {
 public:
  Stacks() : table_(64) { add({}, {}); }  // the root

  std::span<const Place> below(StackNode node) const {
    return std::span(edges_).subspan(nodes_[index(node)].begin, nodes_[index(node)].count);
  }
  const CheckedCall& checked(StackNode node) const { return nodes_[index(node)].checked; }
  std::size_t size() const { return nodes_.size(); }
  std::size_t edges() const { return edges_.size(); }

  StackNode find_or_add(std::span<const Place> below, const CheckedCall& checked);
  StackNode add(std::span<const Place> below, const CheckedCall& checked);  // of a cycle: equal to no other
  void truncate(std::size_t size);

 private:
  struct Node {
    std::uint32_t begin, count;
    std::uint32_t next;  // in its bucket, index + 1
    std::uint32_t bucket;
    CheckedCall checked;
  };
  void rehash();

  std::vector<Node> nodes_;
  std::vector<Place> edges_;
  std::vector<std::uint32_t> table_;
};

// Takes away what is added to stacks while it lives.
class StacksMark {
 public:
  explicit StacksMark(Stacks& stacks) : stacks_(stacks), size_(stacks.size()) {}
  ~StacksMark() { stacks_.truncate(size_); }
  StacksMark(const StacksMark&) = delete;
  StacksMark& operator=(const StacksMark&) = delete;

 private:
  Stacks& stacks_;
  std::size_t size_;
};

// One thread at a time. A copy shares the automaton alone.
class Parser {
 public:
  Parser(Automaton& automaton, std::size_t max_stack_edges) : automaton_(&automaton), max_edges_(max_stack_edges) {}

  void begin(Places& to);
  // From `from` by one byte. Throws ErrorException where a limit is reached. `text` is what was read, that byte
  // included; it is looked at by value checks alone.
  void step(std::span<const Place> from, std::uint8_t byte, std::string_view text, Places& to);
  // By a token that stands in the grammar as itself.
  void step_token(std::span<const Place> from, Token token, std::string_view text, Places& to);

  Automaton& automaton() const { return *automaton_; }
  Stacks& stacks() { return stacks_; }
  const Stacks& stacks() const { return stacks_; }

  // States that clamped() takes to be one: they are the same to a text of less than `most` bytes.
  void set_clamp(std::uint32_t most) { clamp_ = most; }
  enum class Counts : std::uint8_t { clamped, exact };
  // While it lives it is noted how deep is looked into stack nodes that stand now; they are seen through clamped(), or not.
  // What is added to the stacks goes with it.
  class Watch {
   public:
    Watch(Parser& parser, std::span<const Place> from, Counts counts) : parser_(parser), mark_(parser.stacks_) {
      parser.watch(from, counts);
    }
    ~Watch() { parser_.watching_ = false; }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Parser& parser_;
    StacksMark mark_;
  };
  std::size_t watched_depth() const { return depth_; }  // of the last one
  State clamped(State state);
  // Whether a value check was asked since this was last called.
  bool asked_check() { return std::exchange(asked_check_, false); }

 private:
  struct Open {
    Rule rule{};
    CheckedCall checked;
    std::uint32_t first = 0, count = 0;  // its edges, as a list
    bool ended = false;                  // the rule matched nothing at all, so that what is below goes on
    bool wanted = false;
    bool resolved = false;
    StackNode node{};
  };
  struct OpenEdge {
    Place place;
    std::uint32_t next;  // index + 1
  };

  void watch(std::span<const Place> from, Counts counts);
  void start_closure();
  void finish_closure(Places& to);
  void reach(Place place);
  bool known(Place place);
  void end_rule(StackNode node, std::string_view text);
  void call(Automaton::Move& call, StackNode node, std::size_t position);
  void add_below(std::uint32_t open, Place place);
  Place seen_below(StackNode node, Place place);
  void look_into(StackNode node);
  void run_closure(std::string_view text);
  void want(StackNode node);
  bool resolve(Open& open, bool force);
  StackNode final_node(StackNode node) const;

  Automaton* automaton_;
  Stacks stacks_;
  std::size_t max_edges_;

  // Working memory of one closure.
  std::vector<Place> queue_;
  std::vector<std::uint32_t> queue_table_;  // used while the queue is long
  std::vector<Open> open_;
  std::vector<OpenEdge> open_edges_;
  std::vector<std::uint32_t> open_of_rule_;  // index + 1
  std::vector<Place> scratch_;
  std::vector<std::uint32_t> wanted_;
  bool complete_ = false;

  // Of watch().
  struct Level {
    StackNode node;
    std::size_t depth;
  };
  bool watching_ = false;
  Counts counts_ = Counts::clamped;
  bool asked_check_ = false;
  std::size_t watched_nodes_ = 0;
  std::size_t depth_ = 0;
  std::uint32_t clamp_ = 0;
  std::vector<Level> levels_;
  std::vector<State> clamped_;  // by state; unknown: not asked yet
};

}  // namespace rill::grammar
