// Where logits come from: a session's lazy head, or numbers of the caller's own.
#pragma once

#include <cstddef>
#include <span>

#include "rill/export.h"
#include "rill/result.h"
#include "rill/token.h"

namespace rill {

// The logits of one position. Thread rule: as the implementation's.
class RILL_EXPORT LogitsSource {
 public:
  virtual ~LogitsSource();

  virtual std::size_t vocabulary_size() const = 0;

  // Position in the sequence, counted from 0, of the token to be chosen. Part of the key of a draw.
  virtual std::size_t position() const = 0;

  // Writes the logits of the whole vocabulary; `out` has vocabulary_size() elements. On error `out` is unspecified.
  virtual Result<void> all(std::span<float> out) const = 0;

  // Writes the logit of ids[i] to out[i], with the bits that all() gives; `ids` are ascending and `out` has as many
  // elements. Computes only these rows of the head where the implementation can.
  virtual Result<void> rows(std::span<const Token> ids, std::span<float> out) const = 0;

  // A chain tells when its masks have answered, before it asks for logits, if it does: for those who take times.
  virtual void masks_done() const {}
};

// Logits that the caller holds: one float for each token of the vocabulary. Refers to them and does not own them.
// Thread-safe while nobody writes to the logits.
class RILL_EXPORT DenseLogits final : public LogitsSource {
 public:
  DenseLogits(std::span<const float> logits, std::size_t position) : logits_(logits), position_(position) {}

  std::size_t vocabulary_size() const override { return logits_.size(); }
  std::size_t position() const override { return position_; }
  Result<void> all(std::span<float> out) const override;
  Result<void> rows(std::span<const Token> ids, std::span<float> out) const override;

 private:
  std::span<const float> logits_;
  std::size_t position_;
};

}  // namespace rill
