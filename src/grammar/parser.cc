#include "grammar/parser.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace rill::grammar {
namespace {

// Nodes that the closure at hand is making have numbers of their own until it ends.
constexpr std::uint32_t kOpen = 0x80000000;
constexpr std::size_t kShortQueue = 12;  // up to here a search beats a table

bool is_open(StackNode node) { return (static_cast<std::uint32_t>(node) & kOpen) != 0; }
std::uint32_t open_index(StackNode node) { return static_cast<std::uint32_t>(node) & ~kOpen; }

std::uint64_t word(Place place) {
  return static_cast<std::uint64_t>(place.state) << 32 | static_cast<std::uint32_t>(place.node);
}

std::uint64_t hash_of(std::span<const Place> below, const CheckedCall& checked) {
  std::uint64_t hash = mix(checked.begin, below.size());
  for (const Place& place : below) hash = mix(hash, word(place));
  return hash;
}

}  // namespace

StackNode Stacks::add(std::span<const Place> below, const CheckedCall& checked) {
  nodes_.push_back({static_cast<std::uint32_t>(edges_.size()), static_cast<std::uint32_t>(below.size()), 0,
                    static_cast<std::uint32_t>(-1), checked});
  edges_.insert(edges_.end(), below.begin(), below.end());
  return static_cast<StackNode>(nodes_.size() - 1);
}

StackNode Stacks::find_or_add(std::span<const Place> below, const CheckedCall& checked) {
  const std::uint64_t hash = hash_of(below, checked);
  for (std::uint32_t at = table_[hash & (table_.size() - 1)]; at != 0; at = nodes_[at - 1].next) {
    const auto node = static_cast<StackNode>(at - 1);
    if (this->checked(node) == checked && std::ranges::equal(this->below(node), below)) return node;
  }
  if (nodes_.size() > table_.size()) rehash();
  const StackNode node = add(below, checked);
  const auto bucket = static_cast<std::uint32_t>(hash & (table_.size() - 1));
  nodes_.back().bucket = bucket;
  nodes_.back().next = std::exchange(table_[bucket], static_cast<std::uint32_t>(nodes_.size()));
  return node;
}

void Stacks::rehash() {
  table_.assign(table_.size() * 2, 0);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {  // in order, so that each bucket begins with its newest
    Node& node = nodes_[i];
    if (node.bucket == static_cast<std::uint32_t>(-1)) continue;
    const auto hash = hash_of(below(static_cast<StackNode>(i)), node.checked);
    node.bucket = static_cast<std::uint32_t>(hash & (table_.size() - 1));
    node.next = std::exchange(table_[node.bucket], static_cast<std::uint32_t>(i + 1));
  }
}

void Stacks::truncate(std::size_t size) {
  while (nodes_.size() > size) {
    const Node& node = nodes_.back();
    if (node.bucket != static_cast<std::uint32_t>(-1)) table_[node.bucket] = node.next;
    edges_.resize(node.begin);
    nodes_.pop_back();
  }
}

void Parser::start_closure() {
  if (open_of_rule_.empty()) open_of_rule_.resize(automaton_->rules());
  for (const Open& open : open_) open_of_rule_[index(open.rule)] = 0;
  queue_.clear();
  open_.clear();
  open_edges_.clear();
  complete_ = false;
}

bool Parser::known(Place place) {
  if (queue_.size() <= kShortQueue) return std::find(queue_.begin(), queue_.end(), place) != queue_.end();
  // The table is made anew for each long queue, at least twice its length.
  const auto slot_of = [this](Place wanted) {
    std::size_t slot = mix(0, word(wanted)) & (queue_table_.size() - 1);
    while (queue_table_[slot] != 0 && queue_[queue_table_[slot] - 1] != wanted) {
      slot = (slot + 1) & (queue_table_.size() - 1);
    }
    return slot;
  };
  if (queue_.size() == kShortQueue + 1 || queue_table_.size() < queue_.size() * 2) {
    queue_table_.assign(std::max<std::size_t>(64, std::bit_ceil(queue_.size() * 4)), 0);
    for (std::size_t i = 0; i < queue_.size(); ++i) queue_table_[slot_of(queue_[i])] = static_cast<std::uint32_t>(i + 1);
  }
  const std::size_t slot = slot_of(place);
  if (queue_table_[slot] != 0) return true;
  queue_table_[slot] = static_cast<std::uint32_t>(queue_.size() + 1);  // reach() appends it
  return false;
}

void Parser::reach(Place place) {
  if (place.state == State::dead || known(place)) return;
  if (queue_.size() >= max_edges_) {
    throw ErrorException(make_error(ErrorCode::limit_exceeded,
                                    "the text is ambiguous beyond max_stack_edges = {} places at one byte", max_edges_));
  }
  queue_.push_back(place);
}

void Parser::watch(std::span<const Place> from, Counts counts) {
  watching_ = true;
  counts_ = counts;
  watched_nodes_ = stacks_.size();
  depth_ = 0;
  levels_.clear();
  for (const Place& place : from) {
    const bool listed =
        std::any_of(levels_.begin(), levels_.end(), [&](const Level& level) { return level.node == place.node; });
    if (!listed) levels_.push_back({place.node, 1});
  }
}

State Parser::clamped(State state) {
  if (clamp_ == 0 || index(state) < 2) return state;
  if (clamped_.size() <= index(state)) clamped_.resize(index(state) + 64, State::unknown);
  if (clamped_[index(state)] == State::unknown) {
    const State made = automaton_->clamped(state, clamp_);
    clamped_[index(state)] = made;
  }
  return clamped_[index(state)];
}

void Parser::look_into(StackNode node) {
  if (!watching_ || index(node) >= watched_nodes_) return;
  const auto found =
      std::find_if(levels_.begin(), levels_.end(), [node](const Level& level) { return level.node == node; });
  if (found == levels_.end()) return;  // a call on the way made it: it equals one that stood there, and has its number
  const std::size_t depth = found->depth;
  depth_ = std::max(depth_, depth);
  for (const Place& place : stacks_.below(node)) {
    const bool listed =
        std::any_of(levels_.begin(), levels_.end(), [&](const Level& level) { return level.node == place.node; });
    if (!listed) levels_.push_back({place.node, depth + 1});
  }
}

Place Parser::seen_below(StackNode node, Place place) {
  if (!watching_ || index(node) >= watched_nodes_ || counts_ == Counts::exact) return place;
  return {clamped(place.state), place.node};
}

void Parser::end_rule(StackNode node, std::string_view text) {
  if (node == StackNode::root) {
    look_into(node);
    complete_ = true;
    return;
  }
  const CheckedCall& checked = is_open(node) ? open_[open_index(node)].checked : stacks_.checked(node);
  if (checked.check != nullptr) {
    asked_check_ = true;
    if (!checked.check->accepts(text.substr(checked.begin))) return;
  }
  if (is_open(node)) {
    Open& open = open_[open_index(node)];
    if (open.ended) return;
    open.ended = true;
    for (std::uint32_t at = open.first; at != 0; at = open_edges_[at - 1].next) reach(open_edges_[at - 1].place);
    return;
  }
  look_into(node);
  for (std::size_t i = 0; i < stacks_.below(node).size(); ++i) reach(seen_below(node, stacks_.below(node)[i]));
}

void Parser::add_below(std::uint32_t open, Place place) {
  for (std::uint32_t at = open_[open].first; at != 0; at = open_edges_[at - 1].next) {
    if (open_edges_[at - 1].place == place) return;
  }
  if (stacks_.edges() + open_edges_.size() >= max_edges_) {
    throw ErrorException(make_error(ErrorCode::limit_exceeded,
                                    "the text is nested or ambiguous beyond max_stack_edges = {}", max_edges_));
  }
  open_edges_.push_back({place, open_[open].first});
  open_[open].first = static_cast<std::uint32_t>(open_edges_.size());
  ++open_[open].count;
  if (open_[open].ended) reach(place);
}

void Parser::call(Automaton::Move& call, StackNode node, std::size_t position) {
  std::uint32_t& slot = open_of_rule_[index(call.rule)];
  if (slot == 0) {
    Open open;
    open.rule = call.rule;
    open.checked.check = automaton_->check_of(call.rule);
    if (open.checked.check != nullptr) open.checked.begin = static_cast<std::uint32_t>(position);
    open_.push_back(open);
    slot = static_cast<std::uint32_t>(open_.size());
    reach({automaton_->start_of(call.rule), static_cast<StackNode>(kOpen | (slot - 1))});
  }
  const std::uint32_t open = slot - 1;
  // A call at the end of a rule goes on below that rule: right recursion does not grow the stack.
  const State then = automaton_->after(call);
  const bool last = then == State::done && node != StackNode::root && !is_open(node) &&
                    stacks_.checked(node).check == nullptr;
  if (!last) {
    add_below(open, {then, node});
    return;
  }
  look_into(node);
  for (std::size_t i = 0; i < stacks_.below(node).size(); ++i) add_below(open, seen_below(node, stacks_.below(node)[i]));
}

void Parser::run_closure(std::string_view text) {
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const Place place = queue_[i];
    if (automaton_->plain(place.state)) continue;
    if (automaton_->accepts(place.state)) end_rule(place.node, text);
    for (Automaton::Move& next : automaton_->calls(place.state)) call(next, place.node, text.size());
  }
}

StackNode Parser::final_node(StackNode node) const { return is_open(node) ? open_[open_index(node)].node : node; }

void Parser::want(StackNode node) {
  if (!is_open(node) || open_[open_index(node)].wanted) return;
  open_[open_index(node)].wanted = true;
  wanted_.push_back(open_index(node));
}

// Makes the node of `open` if all below it are made; by force, it gets the number that was set aside for it.
bool Parser::resolve(Open& open, bool force) {
  scratch_.clear();
  for (std::uint32_t at = open.first; at != 0; at = open_edges_[at - 1].next) {
    const Place place = open_edges_[at - 1].place;
    if (!force && is_open(place.node) && !open_[open_index(place.node)].resolved) return false;
    scratch_.push_back({place.state, final_node(place.node)});
  }
  std::sort(scratch_.begin(), scratch_.end());
  if (force) {
    stacks_.add(scratch_, open.checked);
  } else {
    open.node = stacks_.find_or_add(scratch_, open.checked);
  }
  open.resolved = true;
  return true;
}

void Parser::finish_closure(Places& to) {
  to.complete = complete_;
  to.places.clear();
  wanted_.clear();
  for (const Place& place : queue_) {
    if (!automaton_->reads(place.state)) continue;
    to.places.push_back(place);
    want(place.node);
  }
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    for (std::uint32_t at = open_[wanted_[i]].first; at != 0; at = open_edges_[at - 1].next) {
      want(open_edges_[at - 1].place.node);
    }
  }
  if (!wanted_.empty()) {
    std::sort(wanted_.begin(), wanted_.end());  // callers come first
    for (bool progress = true; progress && !wanted_.empty();) {
      const std::size_t before = wanted_.size();
      std::erase_if(wanted_, [this](std::uint32_t open) { return resolve(open_[open], false); });
      progress = wanted_.size() < before;
    }
    // What is left lies on cycles, or above them.
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      open_[wanted_[i]].node = static_cast<StackNode>(stacks_.size() + i);
    }
    for (const std::uint32_t open : wanted_) resolve(open_[open], true);
    for (Place& place : to.places) place.node = final_node(place.node);
  }
  std::sort(to.places.begin(), to.places.end());
  to.places.erase(std::unique(to.places.begin(), to.places.end()), to.places.end());
}

void Parser::begin(Places& to) {
  start_closure();
  reach({automaton_->start(), StackNode::root});
  run_closure({});
  finish_closure(to);
}

void Parser::step(std::span<const Place> from, std::uint8_t byte, std::string_view text, Places& to) {
  // One place that stays inside its rule: nearly all steps.
  if (from.size() == 1) {
    const Place next{automaton_->next(from[0].state, byte), from[0].node};
    if (next.state == State::dead || automaton_->plain(next.state)) {
      to.complete = false;
      to.places.assign(next.state == State::dead ? 0 : 1, next);
      return;
    }
  }
  start_closure();
  for (const Place& place : from) reach({automaton_->next(place.state, byte), place.node});
  run_closure(text);
  finish_closure(to);
}

void Parser::step_token(std::span<const Place> from, Token token, std::string_view text, Places& to) {
  start_closure();
  for (const Place& place : from) {
    for (Automaton::Move& move : automaton_->token_moves(place.state)) {
      if (move.leaf.matches(token)) reach({automaton_->after(move), place.node});
    }
  }
  run_closure(text);
  finish_closure(to);
}

}  // namespace rill::grammar
