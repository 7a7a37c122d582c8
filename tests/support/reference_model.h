// The forward pass as plainly as it can be written: weights decoded exactly, everything else in double. The oracle of
// the real one; slow, for models of a few megabytes.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gguf/file.h"
#include "rill/token.h"

namespace rill::test {

// Architectures `llama` and `gemma3`. Throws on a file that it does not understand.
class ReferenceModel {
 public:
  using Row = std::vector<double>;

  explicit ReferenceModel(const gguf::File& file);

  std::size_t vocabulary() const { return vocabulary_; }
  // Hidden states after the final norm, one row [embedding] for each position.
  std::vector<Row> hidden(std::span<const Token> tokens) const;
  // One row [vocabulary] for each position.
  std::vector<Row> logits(std::span<const Token> tokens) const;

 private:
  struct Matrix {
    std::size_t rows = 0, cols = 0;
    std::vector<double> data;  // [rows, cols]; a vector has one row
  };

  const Matrix& weight(const std::string& name) const;
  Row linear(const Row& x, const std::string& name) const;
  void normalize(std::span<double> x, const std::string& name) const;
  Row normalized(Row x, const std::string& name) const;
  void rotate(std::span<double> head, std::size_t position, double base) const;
  double activation(double x) const;
  void attend(std::vector<Row>& states, std::size_t layer) const;
  void feed_forward(std::vector<Row>& states, std::size_t layer) const;

  std::map<std::string, Matrix> weights_;
  bool gemma_ = false;
  std::size_t layers_ = 0, embedding_ = 0, heads_ = 0, kv_heads_ = 0, head_dim_ = 0, rope_dims_ = 0, vocabulary_ = 0;
  std::size_t window_ = 0, window_period_ = 6;  // every window_period_-th layer is global
  double epsilon_ = 0, rope_base_ = 0, local_rope_base_ = 0;
};

}  // namespace rill::test
