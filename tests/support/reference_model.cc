#include "support/reference_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "tensor/dequantize.h"

namespace rill::test {
namespace {

void add(std::span<double> x, std::span<const double> y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

}  // namespace

ReferenceModel::ReferenceModel(const gguf::File& file) {
  const gguf::Metadata& metadata = file.metadata();
  const std::string architecture(metadata.get<std::string_view>("general.architecture").value());
  gemma_ = architecture == "gemma3";
  if (!gemma_ && architecture != "llama") throw std::runtime_error("architecture " + architecture);
  const auto key = [&](const char* name) { return architecture + "." + name; };
  const auto integer = [&](const char* name) { return metadata.get<std::uint32_t>(key(name)).value(); };
  const auto integer_or = [&](const char* name, std::size_t fallback) {
    return metadata.get_or<std::uint32_t>(key(name), static_cast<std::uint32_t>(fallback)).value();
  };
  layers_ = integer("block_count");
  embedding_ = integer("embedding_length");
  heads_ = integer("attention.head_count");
  kv_heads_ = integer_or("attention.head_count_kv", heads_);
  head_dim_ = integer_or("attention.key_length", embedding_ / heads_);
  rope_dims_ = integer_or("rope.dimension_count", head_dim_);
  epsilon_ = metadata.get<float>(key("attention.layer_norm_rms_epsilon")).value();
  rope_base_ = metadata.get_or<float>(key("rope.freq_base"), 10000).value();
  local_rope_base_ = metadata.get_or<float>(key("rope.freq_base_swa"), 10000).value();
  if (gemma_) {
    window_ = integer_or("attention.sliding_window", 0);
    window_period_ = integer_or("attention.sliding_window_pattern", 6);
  }
  if (metadata.get_or<std::string_view>(key("rope.scaling.type"), "none").value() != "none") {
    throw std::runtime_error("RoPE scaling");
  }
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    std::vector<std::byte> bytes(tensor.bytes);
    file.read(tensor, 0, bytes).value();
    std::vector<float> values(tensor.elements());
    dequantize(tensor.type, bytes.data(), values.data(), values.size());
    weights_[tensor.name] = {tensor.rows(), tensor.cols(), {values.begin(), values.end()}};
  }
  vocabulary_ = weight("token_embd").rows;
}

const ReferenceModel::Matrix& ReferenceModel::weight(const std::string& name) const {
  return weights_.at(name + ".weight");
}

ReferenceModel::Row ReferenceModel::linear(const Row& x, const std::string& name) const {
  const Matrix& matrix = weight(name);
  Row y(matrix.rows, 0.0);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    for (std::size_t col = 0; col < matrix.cols; ++col) y[row] += matrix.data[row * matrix.cols + col] * x.at(col);
  }
  return y;
}

// RMS norm. Gemma's "1 + weight" is in the file's weights already.
void ReferenceModel::normalize(std::span<double> x, const std::string& name) const {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon_);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= scale * weight(name).data.at(i);
}

ReferenceModel::Row ReferenceModel::normalized(Row x, const std::string& name) const {
  normalize(x, name);
  return x;
}

// `llama` files pair neighbours (2i, 2i + 1), `gemma3` pairs halves (i, i + rope_dims / 2).
void ReferenceModel::rotate(std::span<double> head, std::size_t position, double base) const {
  const std::size_t pairs = rope_dims_ / 2;
  const auto factors = weights_.find("rope_freqs.weight");
  for (std::size_t i = 0; i < pairs; ++i) {
    double frequency = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(rope_dims_));
    if (factors != weights_.end()) frequency /= factors->second.data.at(i);
    const double angle = static_cast<double>(position) * frequency;
    double& first = head[gemma_ ? i : 2 * i];
    double& second = head[gemma_ ? i + pairs : 2 * i + 1];
    const double turned = first * std::cos(angle) - second * std::sin(angle);
    second = first * std::sin(angle) + second * std::cos(angle);
    first = turned;
  }
}

double ReferenceModel::activation(double x) const {
  if (gemma_) return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  return x / (1 + std::exp(-x));
}

void ReferenceModel::attend(std::vector<Row>& states, std::size_t layer) const {
  const std::string block = "blk." + std::to_string(layer) + ".";
  const bool local = window_ != 0 && (layer + 1) % window_period_ != 0;
  std::vector<Row> queries, keys, values;
  for (std::size_t position = 0; position < states.size(); ++position) {
    const Row x = normalized(states[position], block + "attn_norm");
    Row q = linear(x, block + "attn_q"), k = linear(x, block + "attn_k");
    const auto prepare = [&](Row& heads, const std::string& norm) {
      for (std::size_t at = 0; at < heads.size(); at += head_dim_) {
        const auto head = std::span(heads).subspan(at, head_dim_);
        if (gemma_) normalize(head, norm);
        rotate(head, position, local ? local_rope_base_ : rope_base_);
      }
    };
    prepare(q, block + "attn_q_norm");
    prepare(k, block + "attn_k_norm");
    queries.push_back(std::move(q));
    keys.push_back(std::move(k));
    values.push_back(linear(x, block + "attn_v"));
  }

  for (std::size_t position = 0; position < states.size(); ++position) {
    // A window of n keeps the token and the n - 1 before it.
    const std::size_t first = local && position + 1 > window_ ? position + 1 - window_ : 0;
    Row mixed(heads_ * head_dim_, 0.0);
    for (std::size_t head = 0; head < heads_; ++head) {
      const std::size_t kv = head / (heads_ / kv_heads_) * head_dim_;
      Row scores;
      for (std::size_t key = first; key <= position; ++key) {
        double dot = 0;
        for (std::size_t i = 0; i < head_dim_; ++i) dot += queries[position][head * head_dim_ + i] * keys[key][kv + i];
        scores.push_back(dot / std::sqrt(static_cast<double>(head_dim_)));
      }
      const double highest = *std::max_element(scores.begin(), scores.end());
      double total = 0;
      for (double& score : scores) total += score = std::exp(score - highest);
      for (std::size_t key = first; key <= position; ++key) {
        for (std::size_t i = 0; i < head_dim_; ++i) {
          mixed[head * head_dim_ + i] += scores[key - first] / total * values[key][kv + i];
        }
      }
    }
    Row out = linear(mixed, block + "attn_output");
    if (gemma_) normalize(out, block + "post_attention_norm");
    add(states[position], out);
  }
}

void ReferenceModel::feed_forward(std::vector<Row>& states, std::size_t layer) const {
  const std::string block = "blk." + std::to_string(layer) + ".";
  for (Row& state : states) {
    const Row x = normalized(state, block + "ffn_norm");
    Row gate = linear(x, block + "ffn_gate");
    const Row up = linear(x, block + "ffn_up");
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = activation(gate[i]) * up[i];
    Row out = linear(gate, block + "ffn_down");
    if (gemma_) normalize(out, block + "post_ffw_norm");
    add(state, out);
  }
}

std::vector<ReferenceModel::Row> ReferenceModel::hidden(std::span<const Token> tokens) const {
  const Matrix& embedding = weight("token_embd");
  std::vector<Row> states;
  for (const Token token : tokens) {
    const auto start = static_cast<std::size_t>(token) * embedding.cols;
    if (token < 0 || start >= embedding.data.size()) throw std::out_of_range("token " + std::to_string(token));
    Row state(embedding.cols);
    const double scale = gemma_ ? std::sqrt(static_cast<double>(embedding_)) : 1;
    for (std::size_t i = 0; i < state.size(); ++i) state[i] = embedding.data[start + i] * scale;
    states.push_back(std::move(state));
  }
  for (std::size_t layer = 0; layer < layers_; ++layer) {
    attend(states, layer);
    feed_forward(states, layer);
  }
  for (Row& state : states) normalize(state, "output_norm");
  return states;
}

std::vector<ReferenceModel::Row> ReferenceModel::logits(std::span<const Token> tokens) const {
  std::vector<Row> rows = hidden(tokens);
  const std::string head = weights_.contains("output.weight") ? "output" : "token_embd";
  for (Row& row : rows) row = linear(row, head);
  return rows;
}

}  // namespace rill::test
