// Parts that built-in stages share.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "rill/logits_processor.h"
#include "sampling/token_history.h"

namespace rill::sampling {

// Gives a stage its clone(), a copy, and saves what Derived::fields names: its state, and of its options what
// describe() leaves out.
template <typename Base, typename Derived>
class Clonable : public Base {
 public:
  std::unique_ptr<Base> clone() const override { return std::make_unique<Derived>(static_cast<const Derived&>(*this)); }
  Result<std::vector<std::byte>> save_state() const override {
    ArchiveWriter archive;
    const_cast<Derived&>(static_cast<const Derived&>(*this)).fields(archive);  // writing changes nothing
    return archive.take();
  }
  Result<void> restore_state(std::span<const std::byte> saved) override {
    ArchiveReader archive(saved);
    static_cast<Derived&>(*this).fields(archive);
    return archive.finish("state");
  }

  template <typename Archive>
  void fields(Archive&) {}
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

  template <typename Archive>
  void fields(Archive& archive) {
    history_.fields(archive);
  }

 protected:
  HistoryProcessor(PenaltyScope scope, std::optional<std::size_t> window) : history_(scope, window) {}

  TokenHistory history_;
};

}  // namespace rill::sampling
