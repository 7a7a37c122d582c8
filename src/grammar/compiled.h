// What a Grammar holds.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/completion.h"
#include "grammar/mask_cache.h"
#include "grammar/text_matcher.h"
#include "rill/grammar.h"

namespace rill::grammar {

// Thread-safe; the automaton and the masks grow as they are used.
class Compiled {
 public:
  Compiled(Rules rules, const GrammarLimits& limits)
      : automaton_(std::move(rules), limits.max_states),
        limits_(limits),
        digest_(automaton_.with_rules([](const Rules& compiled) { return grammar::digest(compiled); })) {}

  Automaton& automaton() const { return automaton_; }
  std::uint64_t digest() const { return digest_; }
  TextMatcher matcher() const { return TextMatcher(automaton_, limits_.max_stack_edges); }
  // The masks for one vocabulary; those of the last few are kept.
  std::shared_ptr<MaskCache> masks(std::shared_ptr<const TokenTable> table) const;
  // Those of the last one are kept.
  std::shared_ptr<CompletionWeights> weights(const Tokenizer& tokenizer, std::shared_ptr<const TokenTable> table,
                                             std::span<const Token> end_tokens) const;

 private:
  mutable Automaton automaton_;
  GrammarLimits limits_;
  std::uint64_t digest_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<MaskCache>> masks_;
  mutable std::shared_ptr<CompletionWeights> weights_;
};

}  // namespace rill::grammar
