// The tokens that a penalty counts: those of its scope, the last `window` of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "rill/processors.h"
#include "rill/result.h"
#include "rill/token.h"

namespace rill::sampling {

class TokenHistory {
 public:
  TokenHistory(PenaltyScope scope, std::optional<std::size_t> window) : scope_(scope), window_(window) {}

  Result<void> validate() const;
  std::string describe() const;  // "scope=generated, window=64"

  void observe(std::span<const Token> tokens);
  void accept(Token token);
  void rollback(std::size_t count);
  void reset();

  template <typename Archive>
  void fields(Archive& archive) {
    std::vector<Token> tokens = tokens_;
    archive(tokens);
    if constexpr (Archive::kReading) {
      reset();
      for (const Token token : tokens) accept(token);
    }
  }

  std::span<const Token> recent() const;  // inside the window, oldest first
  const std::unordered_map<Token, std::uint32_t>& counts() const { return counts_; }  // inside the window, none is 0

 private:
  void discount(Token token);

  PenaltyScope scope_;
  std::optional<std::size_t> window_;
  std::vector<Token> tokens_;  // of the scope, all of them: a rollback moves the window back
  std::unordered_map<Token, std::uint32_t> counts_;
};

}  // namespace rill::sampling
