// Logits of several sequences through common passes over the LM head.
#pragma once

#include <vector>

#include "model/loaded_model.h"
#include "rill/logits.h"

namespace rill::schedule {

// The rows are added, then read; a pass is made when the first of up to kRows neighbours asks for all its logits, for
// those of them that are expected to ask, too. Rows of few tokens are computed alone. The same bits in any case. One thread
// at a time.
class BatchHead {
 public:
  static constexpr std::size_t kRows = 32;  // of a pass; bounds the memory for logits

  explicit BatchHead(const model::LoadedModel& model) : model_(&model) {}

  void clear();
  // `hidden` [embedding_length] must stay until clear(). Returns the row's number.
  std::size_t add(const float* hidden, bool expected);

  Result<void> all(std::size_t row, std::span<float> out);
  Result<void> rows(std::size_t row, std::span<const Token> ids, std::span<float> out) const;
  std::size_t vocabulary_size() const { return model_->vocabulary_size(); }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Row {
    const float* hidden;
    bool expected;
    std::size_t place;  // in logits_, once computed
  };

  Result<void> compute(std::size_t row);

  const model::LoadedModel* model_;
  std::vector<Row> rows_;
  std::vector<float> hidden_;  // [of a pass, embedding_length]
  std::vector<float> logits_;  // [of a pass, vocabulary]
};

// One row, for a chain. Notes whether all logits were asked for.
class BatchRow final : public LogitsSource {
 public:
  BatchRow(BatchHead& head, std::size_t row, std::size_t position) : head_(head), row_(row), position_(position) {}

  std::size_t vocabulary_size() const override { return head_.vocabulary_size(); }
  std::size_t position() const override { return position_; }
  Result<void> all(std::span<float> out) const override {
    asked_for_all_ = true;
    return head_.all(row_, out);
  }
  Result<void> rows(std::span<const Token> ids, std::span<float> out) const override {
    return head_.rows(row_, ids, out);
  }
  bool asked_for_all() const { return asked_for_all_; }

 private:
  BatchHead& head_;
  std::size_t row_;
  std::size_t position_;
  mutable bool asked_for_all_ = false;
};

}  // namespace rill::schedule
