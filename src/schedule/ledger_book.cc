#include "schedule/ledger_book.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.h"
#include "schedule/seconds.h"

namespace rill {
namespace {

using schedule::seconds;

// What of the decode phase the tokens' passes say: how many answers shared them, and how much was read for each.
std::string explain_decode(const Ledger& ledger) {
  std::uint64_t bytes = 0;
  double batch = 0;
  for (const Ledger::Token& token : ledger.tokens) {
    bytes += token.bytes_read;
    batch += token.batch;
  }
  batch /= static_cast<double>(ledger.tokens.size());
  const double rate = static_cast<double>(bytes) / 1e9 / seconds(ledger.decode);
  return format("its passes served {:.1f} answers each and read {:.1f} GB/s", batch, rate);
}

}  // namespace

std::string Ledger::explain() const {
  const std::array<std::pair<const char*, Duration>, 6> phases = {{{"tokenizing", tokenize},
                                                                   {"the queue", queued},
                                                                   {"prefill", prefill},
                                                                   {"the first sample", first_sample},
                                                                   {"decode", decode},
                                                                   {"preemption", preempted}}};
  const auto most =
      std::max_element(phases.begin(), phases.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (total <= Duration::zero()) return "nothing has happened yet";
  std::string text = format("{:.1f} ms, {:.0f} % of it in {}", 1e3 * seconds(total),
                            100 * seconds(most->second) / seconds(total), most->first);
  if (most->second == prefill) {
    text += format(": {} of {} prompt tokens were computed, {} reused", prefilled_tokens, prompt_tokens, reused_tokens);
  } else if (most->second == preempted) {
    text += format(": {} times, {} of them swapped; {} tokens were computed again", preemptions, swaps, recomputed_tokens);
  }
  if (most->second == decode && masking + sampling > decode / 2) {
    text += format("; choosing tokens took {:.1f} ms, {:.1f} of it for the grammar and other masks",
                   1e3 * seconds(masking + sampling), 1e3 * seconds(masking));
  } else if (tokens.size() > 1 && decode > Duration::zero()) {
    text += "; " + explain_decode(*this);
  }
  return text;
}

namespace schedule {

void LedgerBook::begin(std::size_t prompt_tokens, Duration tokenize) {
  ledger_.prompt_tokens = prompt_tokens;
  ledger_.tokenize = ledger_.total = since_ = tokenize;
}

void LedgerBook::enter(Phase phase, Duration now) {
  const Duration spent = now - since_;
  switch (phase_) {
    case Phase::queued: ledger_.queued += spent; break;
    case Phase::prefill: ledger_.prefill += spent; break;
    case Phase::first_sample: ledger_.first_sample += spent; break;
    case Phase::decode: ledger_.decode += spent; break;
    case Phase::preempted: ledger_.preempted += spent; break;
    case Phase::ended: return;
  }
  ledger_.total = since_ = now;
  phase_ = phase;
}

void LedgerBook::count_token(Duration now, std::size_t batch, std::uint64_t bytes_read) {
  enter(Phase::decode, now);
  if (ledger_.tokens.empty()) {
    ledger_.ttft = now;
  } else {
    const Duration gap = now - ledger_.tokens.back().time;
    if (!ledger_.worst_gap || gap > *ledger_.worst_gap) ledger_.worst_gap = gap;
    const auto gaps = static_cast<Duration::rep>(ledger_.tokens.size());
    ledger_.tpot = (now - ledger_.tokens.front().time) / gaps;
  }
  ledger_.tokens.push_back({now, static_cast<std::uint32_t>(batch), bytes_read});
}

}  // namespace schedule
}  // namespace rill
