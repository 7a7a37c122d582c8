// What a rill::Model holds.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "kernels/kernel_table.h"
#include "model/config.h"
#include "model/scratch_cache.h"
#include "model/weights.h"
#include "rill/model.h"

namespace rill::model {

// Raised whenever the bits of the logits change for a given file.
inline constexpr std::uint32_t kNumericsVersion = 1;

class LoadedModel {
 public:
  LoadedModel(Tokenizer tokenizer) : tokenizer(std::move(tokenizer)) {}

  ModelInfo info;
  Config config;
  Weights weights;
  Tokenizer tokenizer;
  std::optional<Result<ChatTemplate>> chat_template;  // absent if the file has none
  ModelSampling sampling_metadata;
  const kernels::KernelTable* kernels = nullptr;
  std::shared_ptr<ThreadPool> pool;
  Activations activations = Activations::fast;
  mutable ScratchCache scratch;
  std::vector<double> inverse_frequencies;          // [rope_dimensions / 2], global layers
  std::vector<double> inverse_frequencies_sliding;  // the same for sliding-window layers

  // What Model::digest says.
  const std::string& digest() const noexcept;

  std::size_t vocabulary_size() const { return weights.head.rows; }
  ActivationFormat activation_format(const PackedMatrix& matrix) const {
    if (!is_quantized(matrix.type)) return ActivationFormat::f32;
    return activations == Activations::accurate ? ActivationFormat::q16 : ActivationFormat::q8;
  }
  // Of the LM head: always the finer one. An error there goes straight into the logits (a third of all on SmolLM2), and
  // it costs next to nothing, as the head waits for memory.
  ActivationFormat head_activation_format() const {
    return is_quantized(weights.head.type) ? ActivationFormat::q16 : ActivationFormat::f32;
  }

 private:
  mutable std::once_flag digest_once_;
  mutable std::string digest_ = std::string(kDigestDigits, '0');
};

}  // namespace rill::model
