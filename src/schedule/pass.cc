// What a step of the scheduler computes, and what follows from it.
#include <algorithm>

#include "base/error.h"
#include "schedule/engine.h"
#include "schedule/seconds.h"

namespace rill::schedule {
namespace {

using session::GenerationState;
using session::SessionState;

}  // namespace

// Decodes first. Who cannot go on ends here.
void Engine::plan() {
  plan_decodes();
  plan_prompts();
  set_preempted_aside();
  pass_ = {};
  for (const Item& item : items_) {
    const PendingPrompt held{item.sequence->session().tokens().size(), item.sequence->generation->missing().size()};
    pass_ = item.decode ? with_decode(pass_, held.held, item.rows()) : with_prefill(pass_, held, item.count);
  }
  batch_ = items_.size();
}

void Engine::plan_decodes() {
  for (const SequencePtr& sequence : running_) {
    if (sequence->preempted) continue;
    const Result<bool> room = make_room(*sequence);
    if (!room) {
      fail(*sequence, room.error());
    } else if (!*room) {
      finish(*sequence, FinishReason::context_full);
    } else if (sequence->begun() && sequence->generation->missing_are_new() &&
               take_pages(*sequence, sequence->generation->missing().size())) {
      items_.push_back({.sequence = sequence.get(), .count = sequence->generation->missing().size(), .decode = true});
    }
  }
  const std::size_t spare = items_.empty() ? 0 : kDraftRows / items_.size();
  for (Item& item : items_) {
    if (item.sequence->generation == nullptr || item.sequence->preempted) continue;
    if (spare > 1 && item.count == 1) {
      const auto drafts = guarded([&] { return item.sequence->generation->draft(spare - 1); });
      // Guesses are not worth a preemption.
      if (drafts && item.sequence->session().take_pages(1 + drafts->size())) item.drafts = *drafts;
      else if (!take_pages(*item.sequence, 1)) continue;
    }
    pass_ = with_decode(pass_, item.sequence->session().tokens().size(), item.rows());
  }
}

void Engine::plan_prompts() {
  std::vector<Sequence*> sequences;
  for (const SequencePtr& sequence : running_) {
    if (sequence->generation == nullptr || sequence->preempted) continue;
    if (!sequence->begun() || !sequence->generation->missing_are_new()) sequences.push_back(sequence.get());
  }
  if (sequences.empty()) return;
  std::optional<Duration> budget = options_.tpot_target;
  if (options_.ttft_target) {
    const auto late = [&](const Sequence* sequence) {
      const PassShape rest{0, sequence->generation->missing().size(), 1, 0};
      return cost(rest) > *options_.ttft_target - since_submit(*sequence);
    };
    const auto first = [&](const Sequence* a, const Sequence* b) {
      return a->priority != b->priority ? a->priority > b->priority : late(a) && !late(b);
    };
    std::stable_sort(sequences.begin(), sequences.end(), first);
    if (budget && late(sequences.front())) *budget += std::min(*budget / 2, Duration::max() - *budget);
  }
  std::vector<PendingPrompt> prompts;
  for (const Sequence* sequence : sequences) {
    const std::size_t held = sequence->session().tokens().size();
    prompts.push_back({held, sequence->generation->next_boundary() - held});
  }
  const auto counts = plan_prefill(pass_, prompts, options_.prefill_chunk, budget,
                                   [this](const PassShape& pass) { return cost(pass); });
  for (std::size_t i = 0; i < counts.size(); ++i) {
    // With nothing missing, a step before this one broke off behind the pass.
    if (counts[i] == 0 && prompts[i].missing != 0) continue;
    // An earlier one of them may have taken this one's pages.
    if (!sequences[i]->preempted && take_pages(*sequences[i], counts[i])) {
      items_.push_back({.sequence = sequences[i], .count = counts[i]});
    }
  }
}

void Engine::compute() {
  std::vector<std::span<Item>> groups = {items_};
  while (!groups.empty()) {
    const std::span<Item> group = groups.back();
    groups.pop_back();
    if (group.empty()) continue;
    const Result<void> done = compute_together(group);
    if (done) continue;
    if (done.error().code == ErrorCode::cancelled) {  // the others are tried again without those that were
      const auto wanted = std::stable_partition(group.begin(), group.end(), [](const Item& item) { return item.unwanted; });
      std::for_each(group.begin(), wanted, [&](const Item& item) { finish(*item.sequence, FinishReason::cancelled); });
      groups.emplace_back(wanted, group.end());
      continue;
    }
    // One of them is at fault. All were rolled back: they are tried again without each other.
    if (group.size() > 1) {
      groups.push_back(group.subspan(group.size() / 2));
      groups.push_back(group.first(group.size() / 2));
    } else if (!group[0].drafts.empty()) {
      group[0].drafts = {};  // a guess, which the answer never comes to, may be at fault
      groups.push_back(group);
    } else if (done.error().code != ErrorCode::resource_exhausted) {  // then it waits for the next step
      fail(*group[0].sequence, done.error());
    }
  }
}

// All or nothing. cancelled: it was broken off, as most of it was for answers that are marked as unwanted now.
Result<void> Engine::compute_together(std::span<Item> items) {
  const Keep last{Keep::Mode::last}, none{Keep::Mode::positions};
  std::vector<SessionState::Append> appends;
  for (const Item& item : items) {
    const auto missing = item.sequence->generation->missing();
    if (item.count == 0) continue;
    appends.push_back({&item.sequence->session(), missing.first(item.count),
                       item.count == missing.size() ? &last : &none, item.drafts});
  }
  // What is begun anew is less than what is saved.
  const auto for_nobody = [&] {
    std::size_t rows = 0, unwanted = 0;
    for (Item& item : items) {
      item.unwanted = item.unwanted || item.sequence->unwanted();
      rows += item.rows();
      unwanted += item.unwanted ? item.rows() : 0;
    }
    return unwanted > rows / 2;
  };
  const auto prepare = [items](std::size_t i, std::size_t) noexcept { items[i].sequence->generation->prepare(); };
  const Duration before = now();
  if (!appends.empty()) {
    RILL_TRY(guarded([&] {
      return SessionState::append(appends, forward_, StopToken(for_nobody), {}, {items.size(), prepare});
    }));
  }
  const Duration took = now() - before;
  for (Item& item : items) {
    item.took = took;
    item.computed = true;
    account(item);
  }
  return {};
}

void Engine::account(const Item& item) {
  Sequence& sequence = *item.sequence;
  GenerationState& generation = *sequence.generation;
  Timings& timings = generation.timings();
  (sequence.begun() ? timings.decode : timings.prefill) += item.took;
  if (item.decode) {
    if (item.count > 0) ++timings.decode_passes;
    timings.drafted_tokens += item.drafts.size();
    ++report_.decoded;
    return;
  }
  report_.prefilled += item.count;
  const std::size_t again = sequence.begun() ? item.count : std::min(sequence.lost, item.count);
  sequence.lost -= std::min(sequence.lost, item.count);
  timings.prefilled_tokens += item.count - again;
  sequence.ticket->change_ledger(sequence.completion, [&](LedgerBook& book) {
    book.counts().recomputed_tokens += again;
    book.counts().prefilled_tokens += item.count - again;
    book.counts().reused_tokens = timings.reused_tokens;
    if (!sequence.begun() && generation.missing().empty()) book.enter(Phase::first_sample, since_submit(sequence));
  });
  generation.leave_boundary();
  {
    const std::lock_guard lock(mutex_);
    metrics_.recomputed_tokens += again;
    if (!sequence.begun() && generation.missing().empty()) metrics_.reused_tokens += timings.reused_tokens;
  }
  if (const auto& progress = generation.options().prefill_progress; progress && !sequence.begun()) {
    const std::size_t total = generation.tokens().size();
    const auto told = guarded([&]() -> Result<void> {
      progress(total - generation.missing().size(), total);
      return {};
    });
    if (!told) fail(sequence, told.error());
  }
}

// Logits of one pass over the head, and a token for each sequence that is complete.
void Engine::choose() {
  struct Row {
    Sequence* sequence;
    std::size_t place;  // in head_; none with drafts, whose logits the session keeps
  };
  std::vector<Row> rows;
  head_.clear();
  const auto add = [&](Sequence& sequence) {
    rows.push_back({&sequence, head_.add(sequence.session().kept_hidden(0), sequence.reads_all)});
  };
  for (const Item& item : items_) {
    Sequence& sequence = *item.sequence;
    if (!item.computed || sequence.generation == nullptr || !sequence.generation->missing().empty()) continue;
    const std::size_t first = running_.size();
    if (!sequence.followers.empty()) split(sequence);
    add(sequence);
    for (std::size_t i = first; i < running_.size(); ++i) {
      if (running_[i]->generation != nullptr) add(*running_[i]);
    }
  }
  for (const Row& row : rows) {
    const SessionState& session = row.sequence->session();
    if (session.has_drafts()) {
      choose_next(*row.sequence, session::HeldLogits(session, 0));
    } else {
      const BatchRow logits(head_, row.place, session.kept_position(0) + 1);
      choose_next(*row.sequence, logits);
      row.sequence->reads_all = logits.asked_for_all();
    }
  }
  remove_ended();
  std::sort(running_.begin(), running_.end(),
            [](const SequencePtr& a, const SequencePtr& b) { return a->before(*b); });
}

// The prompt is computed: the other answers begin, on the same pages.
void Engine::split(Sequence& first) {
  for (SequencePtr& follower : first.followers) {
    (void)follower->generation->make_room();  // drops what was dropped of the first one's prompt
    if (const auto shared = follower->session().share(first.session(), std::move(follower->reservation)); !shared) {
      fail(*follower, shared.error());
      running_.push_back(std::move(follower));
      continue;
    }
    Timings& timings = follower->generation->timings();
    timings.reused_tokens = timings.prompt_tokens;
    follower->ticket->change_ledger(follower->completion, [&](LedgerBook& book) {
      book.counts().reused_tokens = timings.prompt_tokens;
      book.enter(Phase::first_sample, since_submit(*follower));
    });
    {
      const std::lock_guard lock(mutex_);
      metrics_.reused_tokens += timings.prompt_tokens;
    }
    running_.push_back(std::move(follower));
  }
  first.followers.clear();
}

void Engine::choose_next(Sequence& sequence, const LogitsSource& logits) {
  GenerationState& generation = *sequence.generation;
  take_token(sequence, logits);
  while (!generation.ended() && generation.advance()) {  // what was guessed rightly
    take_token(sequence, session::HeldLogits(sequence.session(), 0));
  }
  while (!generation.ended() && generation.forces()) {
    take_token(sequence, 0, [&] { return generation.take_forced(); });
  }
  if (generation.ended()) end(sequence);
}

void Engine::take_token(Sequence& sequence, const LogitsSource& logits) {
  const std::uint64_t bytes_read = model_->info().weight_bytes + sequence.session().kv_bytes();
  take_token(sequence, bytes_read, [&] { return sequence.generation->sample(logits); });
}

template <typename Take>
void Engine::take_token(Sequence& sequence, std::uint64_t bytes_read, Take take) {
  const Timings& timings = sequence.generation->so_far().timings;
  const std::size_t before = timings.token_times.size();
  auto chunk = take();
  if (timings.token_times.size() > before) {
    ++report_.generated;
    sequence.ticket->change_ledger(sequence.completion, [&](LedgerBook& book) {
      book.count_token(timings.token_times.back(), batch_, bytes_read);
      book.counts().masking = timings.masking;
      book.counts().head = timings.head;
      book.counts().sampling = timings.sampling;
      book.counts().forced_tokens = timings.forced_tokens;
    });
  }
  deliver(sequence, std::move(chunk));
}

void Engine::deliver(Sequence& sequence, std::optional<Chunk> chunk) {
  if (chunk) sequence.ticket->push(sequence.completion, *std::move(chunk));
  to_signal_.push_back(sequence.ticket);
}

void Engine::finish(Sequence& sequence, FinishReason reason) {
  for (const SequencePtr& follower : sequence.followers) finish(*follower, reason);
  deliver(sequence, sequence.generation->finish(reason));
  end(sequence);
}

void Engine::fail(Sequence& sequence, const Error& error) {
  for (const SequencePtr& follower : sequence.followers) fail(*follower, error);
  sequence.generation->fail(error);
  to_signal_.push_back(sequence.ticket);
  end(sequence);
}

// What the answer held is free before anybody hears of its end.
void Engine::end(Sequence& sequence) {
  auto result = sequence.generation->result();
  sequence.generation.reset();
  const Duration time = since_submit(sequence);
  std::optional<Duration> ttft, tpot;
  sequence.ticket->change_ledger(sequence.completion, [&](LedgerBook& book) {
    book.enter(Phase::ended, time);
    ttft = book.ledger().ttft;
    tpot = book.ledger().tpot;
  });
  ++report_.finished;
  {
    const std::lock_guard lock(mutex_);
    ++metrics_.finished;
    if (!result) ++metrics_.failed;
    const auto stopped = [](FinishReason reason) {
      return reason == FinishReason::cancelled || reason == FinishReason::deadline;
    };
    if (result && stopped(result->finish_reason)) ++metrics_.cancelled;
    if (ttft) metrics_.ttft.add(seconds(*ttft));
    if (tpot) metrics_.tpot.add(seconds(*tpot));
  }
  sequence.ticket->end(sequence.completion, std::move(result));
}

}  // namespace rill::schedule
