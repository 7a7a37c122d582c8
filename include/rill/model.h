// A model: weights, tokenizer and chat template of one file, immutable and shared by any number of sessions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "rill/byte_source.h"
#include "rill/chat_template.h"
#include "rill/export.h"
#include "rill/kv_plan.h"
#include "rill/log.h"
#include "rill/presets.h"
#include "rill/result.h"
#include "rill/stop_token.h"
#include "rill/thread_pool.h"
#include "rill/tokenizer.h"

namespace rill {

namespace model {
class LoadedModel;
}

// How activations enter products with quantised weights. Both give the same bits on every machine.
enum class Activations : std::uint8_t {
  fast,      // 8 bits in blocks of 32; 16 bits in the LM head
  accurate,  // 16 bits in blocks of 32: near exact arithmetic, about half the speed in prefill
};

struct ModelOptions {
  int threads = 0;                   // 0: the usable performance cores; must be 0 if pool is set
  std::shared_ptr<ThreadPool> pool = nullptr;  // the caller's pool, which may serve several models
  Activations activations = Activations::fast;
  std::string target = "";           // name of a SIMD target, e.g. "avx2"; empty: the best this machine runs
  // Called with 0 to 1, never decreasing, 1 exactly once and last. On the loading thread.
  std::function<void(double fraction)> progress = nullptr;
  StopToken stop = {};               // polled between slices of about 1 MiB, and after the last call of progress
  // A file that keeps the packed weights, so that later loads read them instead of packing; empty: none. It serves one model
  // file in one state (size, modification time, metadata, samples) and is written anew where it does not, whole or not at all. If
  // it cannot be, the log says so, and the load goes on. Who may change it may change the weights: keep it as safe as the
  // model. invalid_argument: it is a GGUF file, or the model's source has no version.
  std::filesystem::path packed_cache = {};
  LogSink log = nullptr;
};

struct ModelInfo {
  std::string architecture;          // "llama", "gemma3"
  std::string name;                  // general.name, or empty
  std::string file_type;             // element types of the matrices and their shares, most bytes first
  std::uint64_t layers = 0;
  std::uint64_t embedding_length = 0;
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_dim = 0;
  std::uint64_t feed_forward_length = 0;
  std::uint64_t context_length = 0;  // tokens the model was trained for
  std::uint64_t sliding_window = 0;  // tokens; 0: none
  std::uint64_t sliding_layers = 0;  // layers with that window
  std::uint64_t vocabulary_size = 0;
  std::uint64_t parameters = 0;
  std::uint64_t weight_bytes = 0;    // as packed in memory
  std::string target;                // SIMD target in use
  std::uint32_t numerics_version = 0;
  std::string numerics_class;        // "fma", or "sse4" on that target: only models of one class give the same bits
};

// Thread-safe.
class RILL_EXPORT Model {
 public:
  // Loads a GGUF file; the first of a split set opens the others. Errors name file, key or tensor. On error nothing is
  // kept.
  static Result<std::shared_ptr<const Model>> load(const std::filesystem::path& path, ModelOptions options = {});
  // `path` in UTF-8, on every platform.
  static Result<std::shared_ptr<const Model>> load(const std::string& path, ModelOptions options = {});
  static Result<std::shared_ptr<const Model>> load(const char* path, ModelOptions options = {});
  static Result<std::shared_ptr<const Model>> load(ByteSourcePtr source, ModelOptions options = {});

  explicit Model(std::unique_ptr<model::LoadedModel> loaded);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const ModelInfo& info() const;
  const Tokenizer& tokenizer() const;
  // The file's own template; not_found if it has none, or the error with which it did not compile.
  Result<const ChatTemplate*> chat_template() const;
  // The file's general.sampling.* values, for presets::from_model.
  const ModelSampling& sampling_metadata() const;
  const ThreadPool& thread_pool() const;

  // Identifies the weights and metadata of the file: 32 hexadecimal digits, the same on every machine and for any options,
  // others for another content or another release that packs weights differently. Not cryptographic. Without
  // a packed cache the first call computes it on all threads of the pool: some milliseconds for each 100 MB of weights.
  const std::string& digest() const noexcept;

  KvShape kv_shape() const;

  // For the other parts of rill: outside of it the type is incomplete.
  const model::LoadedModel& loaded() const { return *loaded_; }

 private:
  std::unique_ptr<model::LoadedModel> loaded_;
};

}  // namespace rill
