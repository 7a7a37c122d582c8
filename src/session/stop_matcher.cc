#include "session/stop_matcher.h"

#include "base/error.h"

namespace rill::session {

Result<StopMatcher> StopMatcher::create(const std::vector<std::string>& stops) {
  StopMatcher matcher;
  std::size_t total = 0;
  for (std::size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].empty()) return make_error(ErrorCode::invalid_argument, "stop_strings[{}] is empty", i);
    total += stops[i].size();
    if (total > kMaxTotalBytes) {
      return make_error(ErrorCode::limit_exceeded, "stop_strings hold more than {} bytes", kMaxTotalBytes);
    }
    matcher.lengths_.push_back(stops[i].size());
    matcher.add(stops[i], static_cast<std::int32_t>(i));
  }
  matcher.link();
  return matcher;
}

std::uint32_t StopMatcher::child(std::uint32_t node, char byte) const {
  std::uint32_t at = nodes_[node].first_child;
  while (at != 0 && nodes_[at].byte != byte) at = nodes_[at].next_sibling;
  return at;
}

void StopMatcher::add(std::string_view stop, std::int32_t index) {
  std::uint32_t node = 0;
  for (const char byte : stop) {
    std::uint32_t next = child(node, byte);
    if (next == 0) {
      next = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({0, nodes_[node].first_child, 0, nodes_[node].depth + 1, -1, byte});
      nodes_[node].first_child = next;
    }
    node = next;
  }
  if (nodes_[node].stop < 0) nodes_[node].stop = index;
}

// Breadth first, so that a node's fallback is complete before its children need it.
void StopMatcher::link() {
  std::vector<std::uint32_t> queue = {0};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (std::uint32_t at = nodes_[queue[i]].first_child; at != 0; at = nodes_[at].next_sibling) {
      queue.push_back(at);
      if (queue[i] == 0) continue;
      std::uint32_t fallback = nodes_[queue[i]].fallback;
      while (fallback != 0 && child(fallback, nodes_[at].byte) == 0) fallback = nodes_[fallback].fallback;
      nodes_[at].fallback = child(fallback, nodes_[at].byte);
      if (nodes_[at].stop < 0) nodes_[at].stop = nodes_[nodes_[at].fallback].stop;
    }
  }
}

StopMatcher::Step StopMatcher::push(std::string_view text) {
  Step step;
  for (const char byte : text) {
    held_.push_back(byte);
    std::uint32_t next = child(state_, byte);
    while (next == 0 && state_ != 0) {
      state_ = nodes_[state_].fallback;
      next = child(state_, byte);
    }
    state_ = next;
    const std::int32_t stop = nodes_[state_].stop;
    const std::size_t keep = stop >= 0 ? lengths_[static_cast<std::size_t>(stop)] : nodes_[state_].depth;
    step.text.append(held_, 0, held_.size() - keep);
    held_.erase(0, held_.size() - keep);
    if (stop >= 0) {
      step.match = static_cast<std::size_t>(stop);
      held_.clear();
      return step;
    }
  }
  return step;
}

std::string StopMatcher::flush() {
  state_ = 0;
  return std::exchange(held_, {});
}

}  // namespace rill::session
