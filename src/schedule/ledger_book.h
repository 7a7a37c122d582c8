// Keeps a Ledger: every moment of an answer belongs to one phase.
#pragma once

#include "rill/ledger.h"

namespace rill::schedule {

enum class Phase : std::uint8_t { queued, prefill, first_sample, decode, preempted, ended };

// All times are since submit(). One thread at a time.
class LedgerBook {
 public:
  void begin(std::size_t prompt_tokens, Duration tokenize);
  void enter(Phase phase, Duration now);
  void count_token(Duration now, std::size_t batch, std::uint64_t bytes_read);

  Phase phase() const { return phase_; }
  const Ledger& ledger() const { return ledger_; }
  Ledger& counts() { return ledger_; }  // what is no phase and no token

 private:
  Ledger ledger_;
  Phase phase_ = Phase::queued;
  Duration since_{};
};

}  // namespace rill::schedule
