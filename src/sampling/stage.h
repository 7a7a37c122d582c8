// Parts that built-in stages share.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "rill/logits_processor.h"
#include "sampling/token_history.h"

namespace rill::sampling {

// Gives a stage its clone(): a copy.
template <typename Base, typename Derived>
class Clonable : public Base {
 public:
  std::unique_ptr<Base> clone() const override { return std::make_unique<Derived>(static_cast<const Derived&>(*this)); }
};

// A processor whose only state is a TokenHistory.
template <typename Derived>
class HistoryProcessor : public Clonable<LogitsProcessor, Derived> {
 public:
  Result<void> observe(std::span<const Token> tokens) override {
    history_.observe(tokens);
    return {};
  }
  Result<void> accept(Token token) override {
    history_.accept(token);
    return {};
  }
  void rollback(std::size_t count) override { history_.rollback(count); }
  void reset() override { history_.reset(); }

 protected:
  HistoryProcessor(PenaltyScope scope, std::optional<std::size_t> window) : history_(scope, window) {}

  TokenHistory history_;
};

}  // namespace rill::sampling
