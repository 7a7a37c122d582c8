// Which tokens may come next: the trie of the vocabulary, walked with the parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grammar/mask_cache.h"
#include "grammar/text_matcher.h"
#include "grammar/token_table.h"

namespace rill::grammar {

// One thread at a time. Holds nothing but working memory, so that a copy is as good as a new one.
class MaskWalk {
 public:
  MaskWalk() = default;
  MaskWalk(const MaskWalk&) : MaskWalk() {}
  MaskWalk& operator=(const MaskWalk&) { return *this; }

  // Writes the tokens that may follow as bits, token t in word t / 64; from the cache where it can. Ends of the text
  // are not among them. Throws ErrorException where a limit is reached.
  void allowed(TextMatcher& matcher, MaskCache& cache, std::span<std::uint64_t> words);

  // Removes those after whose text `affordable` does not hold; it is asked once for each set of places that they lead to.
  // How deep the walk looked into the stack.
  using Affordable = std::function<bool(const Places& after)>;
  std::size_t restrict(TextMatcher& matcher, const TokenTable& table, const Affordable& affordable,
                       std::span<std::uint64_t> words);

 private:
  // Sets of places by number, with the moves between them that are known: the automaton of this walk.
  static constexpr std::uint32_t kDead = 0, kStart = 1, kUnknown = 0xFFFFFFFF;
  static constexpr std::uint8_t kNotAsked = 0xFF;
  struct Set {
    std::uint32_t begin, count;
    TextRoom room = {};  // the largest of its places'
    bool knows_room = false;
    std::uint8_t affordable = kNotAsked;
  };

  bool make_key(Parser& parser, std::size_t depth);
  bool append_below(Parser& parser, StackNode node, std::size_t depth);
  void compute(TextMatcher& matcher, const TokenTable& table, std::span<std::uint64_t> words);
  void add_texts(Parser& parser, const TokenTable& table, std::span<std::uint64_t> words);
  void start(const TextMatcher& matcher, const Affordable* affordable);
  std::uint32_t find_or_add(std::span<const Place> places);
  std::uint32_t next(Parser& parser, std::uint32_t set, std::uint8_t byte) {
    const std::uint32_t known = moves_[set * classes_ + parser.automaton().class_of(byte)];
    return known == kUnknown ? make_next(parser, set, byte) : known;
  }
  std::uint32_t make_next(Parser& parser, std::uint32_t set, std::uint8_t byte);
  const TextRoom& room(Parser& parser, std::uint32_t set) {
    return sets_[set].knows_room ? sets_[set].room : find_room(parser, set);
  }
  const TextRoom& find_room(Parser& parser, std::uint32_t set);
  bool affordable(std::uint32_t set);
  struct Level;
  bool takes_all(Parser& parser, Level& level, const TokenTrie::Node& node);
  // What most tokens are taken to do, of which the walk looks for the exceptions.
  struct Preset {
    TextKind kind;                // the tokens of the kind are allowed
    std::uint32_t loop = kDead;   // every character leads to this set, and from there back to it; kDead: unknown
  };
  std::optional<Preset> preset(Parser& parser, const TokenTable& table);
  bool walk_by_characters(Parser& parser, const TokenTable& table, std::span<std::uint64_t> words);
  std::uint32_t loop(Parser& parser, TextKind kind, const TokenTable& table);
  std::uint32_t next_at_start(Parser& parser, std::uint8_t byte);
  void walk(Parser& parser, const TokenTrie& trie, std::uint32_t start, std::optional<Preset> preset,
            std::span<std::uint64_t> words);
  void add_token_moves(Parser& parser, const TokenTable& table, std::span<std::uint64_t> words);

  std::vector<Place> from_;  // the places at hand, clamped
  std::vector<std::uint32_t> key_;
  std::vector<Set> sets_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> moves_;
  std::vector<std::uint32_t> table_;  // of sets, index + 1
  static constexpr std::uint8_t kAnyKind = 0xFF;  // not asked yet
  struct Level {
    std::uint32_t set = kDead, loop = kDead;  // where the walk is, and where it were if it had begun in Preset::loop
    std::uint8_t kinds = kAnyKind;  // of which the set has room for texts
    TextRoom room = {};
  };
  std::vector<Level> by_depth_;
  std::vector<std::uint32_t> chain_;  // the sets behind 0, 1, 2, ... characters
  std::size_t classes_ = 0;
  std::string text_;             // for value checks
  std::size_t text_before_ = 0;  // of it, before the token
  bool depends_on_text_ = false;
  Places to_;
  const Affordable* affordable_ = nullptr;  // of restrict(): a set then holds {done, root} where the text may end
  std::vector<std::uint64_t> kept_;
};

}  // namespace rill::grammar
