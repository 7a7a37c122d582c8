// The tensors of a model, packed for the kernels.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/hash.h"
#include "model/config.h"
#include "model/load_steps.h"
#include "tensor/packed_matrix.h"

namespace rill::model {

struct Layer {
  const float* attention_norm = nullptr;       // [embedding_length]
  const float* query_norm = nullptr;           // [head_dim], with Config::query_key_norm
  const float* key_norm = nullptr;             // [head_dim]
  const float* post_attention_norm = nullptr;  // [embedding_length], with Config::post_norms
  const float* feed_forward_norm = nullptr;    // [embedding_length]
  const float* post_feed_forward_norm = nullptr;
  PackedMatrix query, key, value, output;  // [q, e], [kv, e], [kv, e], [e, q]
  PackedMatrix gate, up, down;             // [f, e], [f, e], [e, f]
};

struct Weights {
  PackedMatrix embedding;  // [rows of the file, embedding_length]
  PackedMatrix head;       // [vocabulary, embedding_length]; the embedding itself where the file ties them
  const float* output_norm = nullptr;
  const float* rope_factors = nullptr;  // [rope_dimensions / 2], or null
  std::vector<Layer> layers;
  std::map<ElementType, std::uint64_t> bytes_by_type;  // of the matrices, as in the file
  std::uint64_t parameters = 0;

  Buffer bytes;                  // all of the above: the packed matrices, then the vectors as floats
  Digest head_digest;            // gguf::File::head_digest
  std::optional<Digest> digest;  // weights_digest, where it has cost nothing
};

struct WeightBytes {
  std::size_t packed = 0;
  std::size_t slice = 0;  // the most that a thread reads at a time in order to pack it
};
// Of load_weights, without the tensors' bytes being read. Its errors, as far as the tensor table shows them.
Result<WeightBytes> measure_weights(const gguf::File& file, const Config& config, std::size_t vocabulary);

// Reads and packs every tensor, in slices of about 1 MiB on all threads of the pool, or reads them packed from the
// cache at `cache`, which is written where it does not serve (empty: none). Any tensor that the architecture does not
// name is refused, so that none is dropped in silence. `vocabulary` is the number of tokens of the tokenizer.
Result<Weights> load_weights(const gguf::File& file, const Config& config, std::size_t vocabulary,
                             const std::filesystem::path& cache, const LoadControl& control);

}  // namespace rill::model
