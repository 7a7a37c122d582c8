// Who gets pages: admission, preemption and resumption.
#include <algorithm>

#include "base/error.h"
#include "schedule/engine.h"
#include "schedule/seconds.h"

namespace rill::schedule {

using session::GenerationState;

namespace {

// Otherwise its pages will be of other tokens, one day: then it needs its own, whoever shares them now.
bool keeps_prompt(const GenerationState& generation) {
  return generation.options().context_policy != ContextPolicy::drop_oldest;
}

}  // namespace

// All that an answer may ever hold.
std::size_t Engine::most_tokens(const GenerationState& generation) const {
  const std::size_t window = options_.context_tokens, prompt = generation.tokens().size();
  const std::size_t asked = generation.options().max_tokens.value_or(window);
  return prompt >= window || asked >= window - prompt ? window : prompt + asked;
}

std::size_t pages_of(const SchedulerOptions& options, std::size_t tokens) {
  return kv::peak_pages(options.kv_pool->pages()->groups(), growth(options, tokens));
}

// Besides the full pages of the prompt, which it shares with the first answer. Those of windows pass.
std::size_t Engine::follower_pages(const GenerationState& generation) const {
  const auto groups = options_.kv_pool->pages()->groups();
  const auto lasting = static_cast<std::size_t>(
      std::count_if(groups.begin(), groups.end(), [](const kv::LayerGroup& group) { return group.window == 0; }));
  const std::size_t prompt = keeps_prompt(generation) ? generation.tokens().size() : 0;
  return pages_of(most_tokens(generation)) - lasting * (prompt / kTokensPerPage);
}

Result<void> Engine::check_fits(const Sequence& first) const {
  const std::size_t tokens = most_tokens(*first.generation);
  std::size_t pages = pages_of(tokens);
  // In over-commit its answers may also take turns.
  if (options_.admission == Admission::guaranteed) pages += first.followers.size() * follower_pages(*first.generation);
  const kv::PagePool& pool = *options_.kv_pool->pages();
  if (pages <= pool.capacity()) return {};
  return make_error(ErrorCode::resource_exhausted,
                    "a prompt of {} tokens, {} of answer and {} completions may need {} pages of {} bytes, and the pool has {}",
                    first.generation->tokens().size(), tokens - std::min(tokens, first.generation->tokens().size()),
                    first.count(), pages, pool.page_bytes(), pool.capacity());
}

// With what the prefix cache has for it, once it holds nothing: so much less is promised to it.
Result<bool> Engine::make_room(Sequence& sequence) const {
  session::SessionState& session = sequence.session();
  const bool empty = session.tokens().empty();
  const Result<bool> room = guarded([&] { return sequence.generation->make_room(); });
  const bool found = room && empty && !session.tokens().empty();
  if (found && options_.admission == Admission::guaranteed && keeps_prompt(*sequence.generation)) {
    session.shrink_reservation(growth(options_, most_tokens(*sequence.generation)));
  }
  return room;
}

// All the pages that its answers may need, or none. Those of its prompt that others hold take no room if it has them, too.
bool Engine::reserve(Sequence& first) {
  if (reserve(first, 0)) return true;
  if (!keeps_prompt(*first.generation)) return false;
  const auto prompt = first.generation->tokens();
  const std::size_t shared = first.session().prefix_pages_in_use(prompt.first(prompt.size() - 1));
  return shared > 0 && reserve(first, shared);
}

// All but `shared` pages, which it takes from the prefix cache at once.
bool Engine::reserve(Sequence& first, std::size_t shared) {
  const auto& pool = options_.kv_pool->pages();
  const std::size_t most = most_tokens(*first.generation);
  auto own = pool->reserve(pages_of(most) - shared);
  if (!own) return false;
  std::vector<kv::Reservation> others;
  for (std::size_t i = 0; i < first.followers.size(); ++i) {
    auto one = pool->reserve(follower_pages(*first.generation));
    if (!one) return false;
    others.push_back(*std::move(one));
  }
  first.session().reserve(*std::move(own));
  if (shared > 0 && (!make_room(first) || !first.session().has_promise(growth(options_, most)))) {
    (void)first.session().truncate(0, false);  // somebody let them go meanwhile
    first.session().reserve({});
    return false;
  }
  for (std::size_t i = 0; i < others.size(); ++i) first.followers[i]->reservation = std::move(others[i]);
  return true;
}

// For what it must hold next, beside what those who run must, and a page of each kind for everybody, so that nobody is
// preempted at once.
bool Engine::has_room(const Sequence& sequence) const {
  if (running_.empty()) return true;
  const kv::PagePool& pool = *options_.kv_pool->pages();
  std::size_t needed = pages_of(sequence.generation->tokens().size());
  for (const SequencePtr& other : running_) {
    const std::size_t all = pages_of(other->generation->tokens().size());
    const std::size_t held = static_cast<std::size_t>(other->session().kv_bytes() / pool.page_bytes());
    needed += std::max(all - std::min(all, held), other->count() * pool.groups().size());
  }
  return needed <= pool.stats().available();
}

// In strict order, so that a large request is not passed by small ones for ever.
void Engine::admit() {
  while (!waiting_.empty() && count_answers(running_) + waiting_.front()->count() <= options_.max_sequences) {
    Sequence& first = *waiting_.front();
    if (options_.admission == Admission::overcommit) make_way(first);
    if (!(first.preempted ? resume(first) : admit(first))) return;
    insert_in_order(running_, std::move(waiting_.front()));
    waiting_.erase(waiting_.begin());
  }
}

// Answers of lower priority give their pages up, the last of them first.
void Engine::make_way(const Sequence& sequence) {
  while (!has_room(sequence) && running_.back()->priority < sequence.priority) {
    preempt(*running_.back());
    insert_in_order(waiting_, std::move(running_.back()));
    running_.pop_back();
  }
}

bool Engine::admit(Sequence& first) {
  if (options_.admission == Admission::guaranteed ? !reserve(first) : !has_room(first)) return false;
  first.admitted = true;
  report_.admitted += first.count();
  const auto start = [&](Sequence& sequence) {
    Duration queued{};
    sequence.ticket->change_ledger(sequence.completion, [&](LedgerBook& book) {
      book.enter(Phase::prefill, since_submit(sequence));
      queued = book.ledger().queued;
    });
    const std::lock_guard lock(mutex_);
    metrics_.queue_time.add(seconds(queued));
    metrics_.prompt_tokens += sequence.generation->tokens().size();
  };
  start(first);
  for (const SequencePtr& follower : first.followers) start(*follower);
  const std::lock_guard lock(mutex_);
  --queued_requests_;
  return true;
}

bool Engine::resume(Sequence& sequence) {
  if (!has_room(sequence)) return false;
  if (sequence.swapped) {
    kv::SequenceCache cache = sequence.session().empty_cache();
    const Duration before = now();
    const Result<void> read = guarded([&] { return swap_.restore(*sequence.swapped, cache); });
    if (!read && read.error().code == ErrorCode::resource_exhausted) return false;
    if (read) {
      const double took = seconds(now() - before);
      swap_seconds_per_byte_ += (2 * took / static_cast<double>(sequence.swapped->bytes() + 1) - swap_seconds_per_byte_) / 4;
      const auto tokens = sequence.generation->tokens().first(static_cast<std::size_t>(cache.length()));
      sequence.session().adopt({{tokens.begin(), tokens.end()}, {}, {}, std::move(cache)});
    } else {
      sequence.lost = sequence.generation->tokens().size() - 1;  // what cannot be read is computed again
    }
    sequence.swapped.reset();
  }
  sequence.preempted = false;
  ++report_.admitted;
  sequence.ticket->change_ledger(sequence.completion, [&](LedgerBook& book) {
    if (!sequence.begun()) book.enter(Phase::prefill, since_submit(sequence));
  });
  return true;
}

// At the cost of whoever comes last, if need be. False: it cannot go on in this step.
bool Engine::take_pages(Sequence& sequence, std::size_t count) {
  for (;;) {
    const Result<void> taken = guarded([&] { return sequence.session().take_pages(count); });
    if (taken) return true;
    if (taken.error().code != ErrorCode::resource_exhausted) {
      fail(sequence, taken.error());
      return false;
    }
    const auto victim = std::find_if(running_.rbegin(), running_.rend(), [](const SequencePtr& other) {
      return other->generation != nullptr && !other->preempted && other->session().kv_bytes() > 0;
    });
    // Nobody has pages to give: others than this scheduler hold them.
    if (victim == running_.rend()) return false;
    const bool alone =
        victim->get() == &sequence && std::none_of(running_.begin(), running_.end(), [&](const SequencePtr& other) {
          return other.get() != &sequence && other->generation != nullptr && !other->preempted && other->session().kv_bytes() > 0;
        });
    if (alone) return false;
    const bool itself = (*victim)->before(sequence) || victim->get() == &sequence;
    preempt(itself ? sequence : **victim);
    if (itself) return false;
  }
}

bool Engine::worth_swapping(const Sequence& sequence) const {
  const std::size_t held = sequence.generation->session()->tokens().size();
  const PassShape again{0, held, 0, attended_by(0, held)};
  const Duration computing = cost(again);
  if (computing <= Duration::zero()) return true;  // nothing is known of it yet
  const double swapping = swap_seconds_per_byte_ * static_cast<double>(sequence.session().kv_bytes());
  return swapping < seconds(computing);
}

// The pages go; the sampler, the text and the tokens stay.
void Engine::preempt(Sequence& sequence) {
  session::SessionState& session = sequence.session();
  session.give_back_pages();
  session.drop_drafts();
  if (!session.tokens().empty() && worth_swapping(sequence)) {
    auto kept = guarded([&] { return swap_.keep(session.cache()); });
    if (kept && *kept) sequence.swapped.emplace(**std::move(kept));
  }
  if (!sequence.swapped) sequence.lost = std::max(sequence.lost, session.tokens().size());
  (void)session.truncate(0, false);
  sequence.preempted = true;
  ++report_.preempted;
  sequence.ticket->change_ledger(sequence.completion, [&](LedgerBook& book) {
    book.enter(Phase::preempted, since_submit(sequence));
    ++book.counts().preemptions;
    if (sequence.swapped) ++book.counts().swaps;
  });
  const std::lock_guard lock(mutex_);
  ++metrics_.preemptions;
  if (sequence.swapped) ++metrics_.swaps;
}

// Back to those that wait. What the pass was to compute for them is not.
void Engine::set_preempted_aside() {
  std::erase_if(items_, [](const Item& item) { return item.sequence->generation == nullptr || item.sequence->preempted; });
  for (SequencePtr& sequence : running_) {
    if (sequence->preempted) insert_in_order(waiting_, std::move(sequence));
  }
  std::erase(running_, nullptr);
}

}  // namespace rill::schedule
