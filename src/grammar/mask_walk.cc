#include "grammar/mask_walk.h"

#include <algorithm>

namespace rill::grammar {
namespace {

constexpr std::size_t kMaxKeyDepth = 12;
constexpr std::size_t kMaxKey = 512;  // words
constexpr std::uint8_t kMuchRoom = 8;  // bytes
constexpr std::uint8_t kOneCharacter = 'a';

}  // namespace

// False: the stack is too wide for a key.
bool MaskWalk::append_below(Parser& parser, StackNode node, std::size_t depth) {
  if (depth == 0) return true;
  const auto below = parser.stacks().below(node);
  const ValueCheck* check = parser.stacks().checked(node).check;
  key_.push_back(static_cast<std::uint32_t>(below.size()) << 1 | (check != nullptr ? 1 : 0));
  for (std::size_t i = 0; i < below.size(); ++i) {
    if (key_.size() >= kMaxKey) return false;
    key_.push_back(static_cast<std::uint32_t>(parser.clamped(below[i].state)));
    if (!append_below(parser, below[i].node, depth - 1)) return false;  // at most kMaxKeyDepth calls deep
  }
  return true;
}

bool MaskWalk::make_key(Parser& parser, std::size_t depth) {
  key_.assign(1, static_cast<std::uint32_t>(depth));
  for (const Place& place : from_) {
    key_.push_back(static_cast<std::uint32_t>(place.state));
    if (key_.size() >= kMaxKey || !append_below(parser, place.node, depth)) return false;
  }
  return true;
}

void MaskWalk::allowed(TextMatcher& matcher, MaskCache& cache, std::span<std::uint64_t> words) {
  Parser& parser = matcher.parser();
  from_.clear();
  for (const Place& place : matcher.places()) from_.push_back({parser.clamped(place.state), place.node});
  std::sort(from_.begin(), from_.end());
  from_.erase(std::unique(from_.begin(), from_.end()), from_.end());

  std::size_t known_depth = 0;
  for (; known_depth <= kMaxKeyDepth && make_key(parser, known_depth); ++known_depth) {
    const MaskCache::Found found = cache.find(key_);
    if (!found.known) break;
    if (found.mask != nullptr) {
      found.mask->write(words);
      return;
    }
  }
  compute(matcher, cache.table(), words);
  const std::size_t depth = parser.watched_depth();
  if (depends_on_text_ || depth > kMaxKeyDepth || !make_key(parser, depth)) return;
  cache.put(key_, std::make_shared<const Mask>(words));
  for (std::size_t above = known_depth; above < depth; ++above) {
    make_key(parser, above);
    cache.put(key_, nullptr);
  }
}

void MaskWalk::compute(TextMatcher& matcher, const TokenTable& table, std::span<std::uint64_t> words) {
  Parser& parser = matcher.parser();
  const Parser::Watch watch(parser, from_, Parser::Counts::clamped);
  start(matcher, nullptr);
  parser.asked_check();
  depends_on_text_ = false;
  add_texts(parser, table, words);
  add_token_moves(parser, table, words);
}

void MaskWalk::add_texts(Parser& parser, const TokenTable& table, std::span<std::uint64_t> words) {
  if (walk_by_characters(parser, table, words)) return;
  const std::optional<Preset> preset = this->preset(parser, table);
  if (preset) {
    const TokenTable::Texts& texts = table.texts[index(preset->kind)];
    std::ranges::copy(texts.tokens, words.begin());
    if (preset->loop != kDead) walk(parser, texts.begun, preset->loop, std::nullopt, words);
  } else {
    std::ranges::fill(words, std::uint64_t{0});
  }
  walk(parser, table.trie, kStart, preset, words);
}

std::size_t MaskWalk::restrict(TextMatcher& matcher, const TokenTable& table, const Affordable& affordable,
                              std::span<std::uint64_t> words) {
  from_.assign(matcher.places().begin(), matcher.places().end());
  kept_.assign(words.size(), 0);
  const Parser::Watch watch(matcher.parser(), from_, Parser::Counts::exact);
  start(matcher, &affordable);
  walk(matcher.parser(), table.trie, kStart, std::nullopt, kept_);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] &= kept_[i];
  return matcher.parser().watched_depth();
}

// `affordable` lives as long as the walk.
void MaskWalk::start(const TextMatcher& matcher, const Affordable* affordable) {
  affordable_ = affordable;
  text_ = matcher.text();
  text_before_ = text_.size();
  classes_ = matcher.parser().automaton().classes();
  sets_.assign(1, Set{0, 0});
  places_.clear();
  moves_.assign(classes_, kDead);
  table_.assign(64, 0);
  find_or_add(from_);
}

std::uint32_t MaskWalk::find_or_add(std::span<const Place> places) {
  const auto slot_of = [this](std::span<const Place> wanted) {
    std::uint64_t hash = wanted.size();
    for (const Place& place : wanted) {
      hash = (hash ^ static_cast<std::uint64_t>(place.state) << 32 ^ static_cast<std::uint32_t>(place.node)) *
             0x9E3779B97F4A7C15;
      hash ^= hash >> 32;
    }
    std::size_t slot = hash & (table_.size() - 1);
    for (; table_[slot] != 0; slot = (slot + 1) & (table_.size() - 1)) {
      const Set& set = sets_[table_[slot] - 1];
      if (std::ranges::equal(std::span(places_).subspan(set.begin, set.count), wanted)) break;
    }
    return slot;
  };
  std::size_t slot = slot_of(places);
  if (table_[slot] != 0) return table_[slot] - 1;
  sets_.push_back({static_cast<std::uint32_t>(places_.size()), static_cast<std::uint32_t>(places.size())});
  places_.insert(places_.end(), places.begin(), places.end());
  moves_.resize(moves_.size() + classes_, kUnknown);
  table_[slot] = static_cast<std::uint32_t>(sets_.size());
  if (sets_.size() * 2 > table_.size()) {
    table_.assign(table_.size() * 2, 0);
    for (std::size_t i = 1; i < sets_.size(); ++i) {
      slot = slot_of(std::span(places_).subspan(sets_[i].begin, sets_[i].count));
      table_[slot] = static_cast<std::uint32_t>(i + 1);
    }
  }
  return static_cast<std::uint32_t>(sets_.size() - 1);
}

std::uint32_t MaskWalk::make_next(Parser& parser, std::uint32_t set, std::uint8_t byte) {
  parser.step(std::span(places_).subspan(sets_[set].begin, sets_[set].count), byte, text_, to_);
  if (affordable_ != nullptr && to_.complete) {
    to_.places.push_back({State::done, StackNode::root});
    std::sort(to_.places.begin(), to_.places.end());
  }
  // A set without places is alive where the text may end.
  const std::uint32_t made = to_.alive() ? find_or_add(to_.places) : kDead;
  if (parser.asked_check()) {
    depends_on_text_ = true;
  } else {
    moves_[set * classes_ + parser.automaton().class_of(byte)] = made;
  }
  return made;
}

bool MaskWalk::affordable(std::uint32_t set) {
  std::uint8_t& known = sets_[set].affordable;
  if (known == kNotAsked) {
    const auto places = std::span(places_).subspan(sets_[set].begin, sets_[set].count);
    Places after{{places.begin(), places.end()}, false};
    after.complete = std::find(places.begin(), places.end(), Place{State::done, StackNode::root}) != places.end();
    known = (*affordable_)(after) ? 1 : 0;
  }
  return known == 1;
}

const TextRoom& MaskWalk::find_room(Parser& parser, std::uint32_t set) {
  Automaton& automaton = parser.automaton();
  const auto places = std::span(places_).subspan(sets_[set].begin, sets_[set].count);
  TextRoom room;
  if (affordable_ == nullptr) {
    for (const Place& place : places) room = larger(room, automaton.room(place.state));
  } else if (places.size() == 1) {
    // Where budgets count, all must lead back to the set.
    for (const TextKind kind : kTextKinds) {
      if (automaton.loops(places[0].state, kind)) room.set(kind, kAnyLength);
    }
  }
  sets_[set].knows_room = true;
  return sets_[set].room = room;
}

// Where no character of a string's body leads to another set than the others, only what follows behind each number of them
// is walked. False, and nothing is written: it does.
bool MaskWalk::walk_by_characters(Parser& parser, const TokenTable& table, std::span<std::uint64_t> words) {
  Automaton& automaton = parser.automaton();
  const std::size_t longest = table.by_characters.size() - 1;
  if (automaton.has_checks()) return false;  // equal sets may differ in their texts
  chain_.assign(1, kStart);
  bool loops = false;
  while (!loops && chain_.size() <= longest) {
    const Set& set = sets_[chain_.back()];
    if (set.count != 1 || !automaton.counts(places_[set.begin].state)) return false;
    const std::uint32_t after = next(parser, chain_.back(), kOneCharacter);
    if (after == kDead) break;
    loops = after == chain_.back();
    if (!loops) chain_.push_back(after);
  }
  if (!loops && chain_.size() == 1) return false;
  std::ranges::copy(table.by_characters[loops ? longest : chain_.size() - 1].tokens, words.begin());
  for (std::size_t n = 0; n < (loops ? longest + 1 : chain_.size()); ++n) {
    walk(parser, table.by_characters[n].begun, chain_[std::min(n, chain_.size() - 1)], std::nullopt, words);
  }
  return true;
}

// The kind most tokens of which are allowed, as some that are begun by the same byte show.
std::optional<MaskWalk::Preset> MaskWalk::preset(Parser& parser, const TokenTable& table) {
  std::optional<Preset> best;
  std::size_t most = 0;
  for (const TextKind kind : kTextKinds) {
    std::size_t all = 0, allowed = 0;
    for (const auto& root : table.texts[index(kind)].roots) {
      all += root.tokens;
      const bool here = room(parser, kStart).of(kind) >= kMuchRoom;
      if (here || room(parser, next_at_start(parser, root.byte)).of(kind) >= kMuchRoom) allowed += root.tokens;
    }
    if (allowed * 2 <= all || allowed <= most) continue;
    best = Preset{kind};
    most = allowed;
  }
  if (best) best->loop = loop(parser, best->kind, table);
  return best;
}

// The set that most of the kind's tokens lead to, if their characters lead from there back to it; kDead if not.
std::uint32_t MaskWalk::loop(Parser& parser, TextKind kind, const TokenTable& table) {
  Automaton& automaton = parser.automaton();
  if (automaton.has_checks()) return kDead;  // equal sets may differ in their texts
  std::uint32_t best = kDead;
  std::size_t most = 0;
  const auto& roots = table.texts[index(kind)].roots;
  for (const auto& root : roots) {
    const std::uint32_t set = next_at_start(parser, root.byte);
    std::size_t tokens = 0;
    for (const auto& other : roots) tokens += next_at_start(parser, other.byte) == set ? other.tokens : 0;
    if (tokens <= most || sets_[set].count != 1) continue;
    best = set;
    most = tokens;
  }
  return best != kDead && automaton.loops(places_[sets_[best].begin].state, kind) ? best : kDead;
}

std::uint32_t MaskWalk::next_at_start(Parser& parser, std::uint8_t byte) {
  text_.resize(text_before_);
  text_ += static_cast<char>(byte);
  return next(parser, kStart, byte);
}

void MaskWalk::walk(Parser& parser, const TokenTrie& trie, std::uint32_t start, std::optional<Preset> preset,
                    std::span<std::uint64_t> words) {
  by_depth_.resize(trie.depth + std::size_t{1});
  by_depth_[0] = {start, kDead};
  const bool checks = parser.automaton().has_checks();
  const std::uint8_t preset_bit = preset ? bit(preset->kind) : 0;
  const std::uint32_t loop = preset ? preset->loop : kDead;
  const TokenTrie::Node* const nodes = trie.nodes.data();
  const std::size_t count = trie.nodes.size() - 1;
  const auto tokens = [&](std::size_t from, std::size_t to, auto change) {
    for (std::uint32_t t = nodes[from].first_token; t < nodes[to].first_token; ++t) {
      const auto token = static_cast<std::size_t>(trie.tokens[t]);
      change(words[token / 64], std::uint64_t{1} << token % 64);
    }
  };
  const auto allow = [](std::uint64_t& word, std::uint64_t one) { word |= one; };
  const auto remove = [](std::uint64_t& word, std::uint64_t one) { word &= ~one; };
  for (std::size_t i = 0; i < count;) {
    const TokenTrie::Node& node = nodes[i];
    Level& level = by_depth_[node.depth];
    if ((node.texts & level.kinds) != 0 && takes_all(parser, level, node)) {
      if ((node.whole_texts & preset_bit) == 0) tokens(i, node.end, allow);
      i = node.end;
      continue;
    }
    if (checks) {
      text_.resize(text_before_ + node.depth);
      text_ += static_cast<char>(node.byte);
    }
    if (loop != kDead && node.depth == 0) level.loop = begins_text(preset->kind, node.byte) ? loop : kDead;
    const std::uint32_t set = next(parser, level.set, node.byte);
    const std::uint32_t beside = level.loop == kDead ? kDead : next(parser, level.loop, node.byte);
    if (level.loop != kDead && set == beside) {
      i = node.end;
    } else if (set == kDead) {
      if (preset) tokens(i, node.end, remove);
      i = node.end;
    } else {
      if (affordable_ == nullptr || affordable(set)) tokens(i, i + 1, allow);
      Level& below = by_depth_[node.depth + std::size_t{1}];
      below.set = set;
      below.loop = beside;
      below.kinds = kAnyKind;
      ++i;
    }
  }
}

// Whether all tokens may follow that go on with this node.
bool MaskWalk::takes_all(Parser& parser, Level& level, const TokenTrie::Node& node) {
  if (level.kinds == kAnyKind) {
    level.room = room(parser, level.set);
    level.kinds = level.room.kinds();
  }
  const auto common = static_cast<unsigned>(node.texts & level.kinds);
  const bool fits = common != 0 && std::any_of(kTextKinds.begin(), kTextKinds.end(), [&](TextKind kind) {
    return (common & bit(kind)) != 0 && level.room.of(kind) >= node.length;
  });
  return fits && (affordable_ == nullptr || (!node.ends_inside && level.set != kStart && affordable(level.set)));
}

void MaskWalk::add_token_moves(Parser& parser, const TokenTable& table, std::span<std::uint64_t> words) {
  for (const Place& place : from_) {
    for (const Automaton::Move& move : parser.automaton().token_moves(place.state)) {
      for (std::size_t i = 0; i < table.vocabulary; ++i) {
        if (move.leaf.matches(static_cast<Token>(i))) words[i / 64] |= std::uint64_t{1} << i % 64;
      }
    }
  }
}

}  // namespace rill::grammar
