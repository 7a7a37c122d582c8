// One answer of a request, queued or running.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "rill/request.h"
#include "kv/page_pool.h"
#include "schedule/swap_store.h"
#include "schedule/ticket_state.h"
#include "session/generation_state.h"

namespace rill::schedule {

struct Sequence {
  std::shared_ptr<TicketState> ticket;
  std::size_t completion = 0;
  std::shared_ptr<session::GenerationState> generation;
  int priority = 0;
  Duration submitted{};              // on the scheduler's clock
  std::optional<Duration> deadline;  // on the scheduler's clock
  // The other answers to the prompt, which begin when it is computed.
  std::vector<std::unique_ptr<Sequence>> followers;
  kv::Reservation reservation;       // of a follower, until it begins
  bool admitted = false;             // at least once
  bool preempted = false;            // until it is admitted again
  std::optional<SwapStore::Slot> swapped = std::nullopt;  // what it held
  std::size_t lost = 0;              // tokens that it held and must compute again
  bool reads_all = true;  // the last sample asked for the logits of the whole vocabulary

  session::SessionState& session() const { return *generation->session(); }
  std::size_t count() const { return 1 + followers.size(); }
  bool begun() const { return !generation->so_far().timings.token_times.empty(); }
  bool unwanted() const { return ticket->cancelled() || generation->stop_requested(); }

  // Who is served first: by priority, then by arrival.
  bool before(const Sequence& other) const {
    if (priority != other.priority) return priority > other.priority;
    if (ticket->id() != other.ticket->id()) return ticket->id() < other.ticket->id();
    return completion < other.completion;
  }
};

using SequencePtr = std::unique_ptr<Sequence>;

// Followers included.
std::size_t count_answers(const std::vector<SequencePtr>& sequences);
// Puts `sequence` where it belongs by before().
void insert_in_order(std::vector<SequencePtr>& sequences, SequencePtr sequence);

}  // namespace rill::schedule
