#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "gguf/file.h"
#include "model/forward.h"
#include "model/loaded_model.h"
#include "rill/memory_plan.h"
#include "tokenizer/from_gguf.h"

namespace rill {
namespace model {
namespace {

// What follows from the hyper-parameters.
ModelMemory measure(const Config& config, std::size_t threads, std::size_t vocabulary) {
  constexpr std::size_t kRows = 256;
  ModelMemory memory;
  memory.scratch = Forward::scratch_bytes(config, threads, 0);
  memory.scratch_per_row =
      saturating::divide_up(Forward::scratch_bytes(config, threads, kRows) - memory.scratch, kRows);
  memory.session_rows = Forward::kOwnRows;
  memory.logits = vocabulary * sizeof(float);
  memory.context_length = config.context_length;
  const auto sliding = static_cast<std::size_t>(std::count(config.sliding.begin(), config.sliding.end(), true));
  memory.kv = {config.layers, config.kv_heads, config.head_dim, sliding, config.sliding_window};
  return memory;
}

Result<ModelMemory> measure(const gguf::File& file, int threads) {
  if (threads < 0) return make_error(ErrorCode::invalid_argument, "threads = {} is negative", threads);
  const std::size_t count = threads == 0 ? cpu::usable_cores() : static_cast<std::size_t>(threads);
  RILL_ASSIGN(const Config config, read_config(file));
  RILL_ASSIGN(const Tokenizer tokenizer, tokenizer::from_gguf(file.metadata()));
  RILL_ASSIGN(const WeightBytes weights, measure_weights(file, config, tokenizer.size()));
  ModelMemory memory = measure(config, count, tokenizer.size());
  memory.weights = weights.packed;
  memory.tokenizer = tokenizer.memory_bytes();
  memory.loading = file.metadata().memory_bytes() + saturating::multiply(count, weights.slice);
  return memory;
}

}  // namespace
}  // namespace model

ModelMemory model_memory(const Model& model) {
  const model::LoadedModel& loaded = model.loaded();
  ModelMemory memory = model::measure(loaded.config, loaded.pool->threads(), loaded.vocabulary_size());
  memory.weights = loaded.weights.bytes.size();
  memory.tokenizer = loaded.tokenizer.memory_bytes();
  return memory;
}

Result<ModelMemory> model_memory(const std::filesystem::path& path, int threads) {
  return guarded([&]() -> Result<ModelMemory> {
    RILL_ASSIGN(const gguf::File file, gguf::File::open(path));
    return model::measure(file, threads);
  });
}

Result<ModelMemory> model_memory(ByteSourcePtr source, int threads) {
  return guarded([&]() -> Result<ModelMemory> {
    if (source == nullptr) return make_error(ErrorCode::invalid_argument, "source is null");
    RILL_ASSIGN(const gguf::File file, gguf::File::open(std::vector<ByteSourcePtr>{std::move(source)}));
    return model::measure(file, threads);
  });
}

}  // namespace rill
