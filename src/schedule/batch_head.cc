#include "schedule/batch_head.h"

#include <algorithm>

#include "base/error.h"
#include "model/head.h"

namespace rill::schedule {

void BatchHead::clear() { rows_.clear(); }

std::size_t BatchHead::add(const float* hidden, bool expected) {
  rows_.push_back({hidden, expected, kNone});
  return rows_.size() - 1;
}

// The pass takes the place of the one before, whose rows have been read.
Result<void> BatchHead::compute(std::size_t row) {
  const std::size_t n = model_->config.embedding_length;
  const std::size_t vocabulary = vocabulary_size();
  for (Row& other : rows_) other.place = kNone;
  hidden_.clear();
  std::size_t count = 0;
  for (std::size_t i = row; i < rows_.size() && count < kRows; ++i) {
    if (i != row && !rows_[i].expected) continue;
    hidden_.insert(hidden_.end(), rows_[i].hidden, rows_[i].hidden + n);
    rows_[i].place = count++;
  }
  if (logits_.size() < count * vocabulary) logits_.resize(count * vocabulary);
  Result<void> done = model::head_logits(*model_, hidden_.data(), count, std::span(logits_).first(count * vocabulary));
  if (done || count == 1) return done;
  for (Row& other : rows_) other.place = kNone;  // another row's fault, perhaps
  RILL_TRY(model::head_logits(*model_, rows_[row].hidden, 1, std::span(logits_).first(vocabulary)));
  rows_[row].place = 0;
  return {};
}

Result<void> BatchHead::all(std::size_t row, std::span<float> out) {
  if (rows_[row].place == kNone) {
    const Result<void> done = compute(row);
    if (!done) {
      rows_[row].place = kNone;
      return done;
    }
  }
  std::copy_n(logits_.data() + rows_[row].place * vocabulary_size(), out.size(), out.data());
  return {};
}

Result<void> BatchHead::rows(std::size_t row, std::span<const Token> ids, std::span<float> out) const {
  return model::head_rows(*model_, rows_[row].hidden, ids, out);
}

}  // namespace rill::schedule
