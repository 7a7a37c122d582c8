// Hyper-parameters of a model, read and checked against each other before any tensor is touched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rill/embedding.h"
#include "rill/result.h"

namespace rill::gguf {
class File;
}

namespace rill::model {

enum class Architecture : std::uint8_t { llama, gemma3 };

// Rotary embedding of one kind of layer.
struct RopeConfig {
  double base = 10000.0;
  double linear_factor = 1.0;  // positions are divided by it
};

struct Config {
  Architecture architecture = Architecture::llama;
  std::string name;
  std::size_t layers = 0;
  std::size_t embedding_length = 0;
  std::size_t feed_forward_length = 0;
  std::size_t heads = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t context_length = 0;
  std::size_t rope_dimensions = 0;   // of head_dim, from the start; even
  bool rope_neighbours = true;       // pairs (2i, 2i + 1); else (i, i + rope_dimensions / 2)
  RopeConfig rope;                   // global layers
  RopeConfig rope_sliding;           // sliding-window layers
  std::size_t sliding_window = 0;    // tokens a query sees, itself included; 0: none
  std::vector<bool> sliding;         // [layers]
  float norm_epsilon = 0.0f;
  float attention_scale = 0.0f;
  float embedding_scale = 1.0f;
  bool query_key_norm = false;       // RMS norm of each head of q and k before RoPE
  bool post_norms = false;           // RMS norm of a block's output before it joins the residual
  bool gelu = false;                 // GeGLU (tanh form) instead of SwiGLU
  std::optional<Pooling> pooling;    // declared by the file

  std::size_t query_length() const { return heads * head_dim; }
  std::size_t kv_length() const { return kv_heads * head_dim; }
  std::size_t group() const { return heads / kv_heads; }
};

// malformed: a value is missing, zero or does not fit another; unsupported: something rill cannot compute. The message
// names the key and the values.
Result<Config> read_config(const gguf::File& file);

}  // namespace rill::model
