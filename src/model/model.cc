#include "rill/model.h"

#include <algorithm>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "base/thread_pool.h"
#include "gguf/file.h"
#include "kernels/math.h"
#include "model/loaded_model.h"
#include "model/packed_cache.h"
#include "tokenizer/from_gguf.h"

namespace rill {
namespace model {
namespace {

// "Q4_1 70 %, Q8_0 30 %": the matrices' types by their share of the bytes.
std::string describe_types(const Weights& weights) {
  std::vector<std::pair<std::uint64_t, ElementType>> types;
  std::uint64_t total = 0;
  for (const auto& [type, bytes] : weights.bytes_by_type) {
    types.emplace_back(bytes, type);
    total += bytes;
  }
  std::sort(types.rbegin(), types.rend());
  std::string text;
  for (const auto& [bytes, type] : types) {
    text += format("{}{} {:.0f} %", text.empty() ? "" : ", ", rill::info(type).name,
                   100.0 * static_cast<double>(bytes) / static_cast<double>(total));
  }
  return text;
}

ModelInfo describe(const LoadedModel& loaded) {
  const Config& config = loaded.config;
  ModelInfo info;
  info.architecture = config.architecture == Architecture::llama ? "llama" : "gemma3";
  info.name = config.name;
  info.file_type = describe_types(loaded.weights);
  info.layers = config.layers;
  info.embedding_length = config.embedding_length;
  info.heads = config.heads;
  info.kv_heads = config.kv_heads;
  info.head_dim = config.head_dim;
  info.feed_forward_length = config.feed_forward_length;
  info.context_length = config.context_length;
  info.sliding_window = config.sliding_window;
  info.sliding_layers = static_cast<std::uint64_t>(std::count(config.sliding.begin(), config.sliding.end(), true));
  info.vocabulary_size = loaded.vocabulary_size();
  info.parameters = loaded.weights.parameters;
  info.weight_bytes = loaded.weights.bytes.size();
  info.target = loaded.kernels->name;
  info.numerics_version = kNumericsVersion;
  info.numerics_class = loaded.kernels->numerics_class == kernels::NumericsClass::fma ? "fma" : "sse4";
  return info;
}

void set_frequencies(LoadedModel& loaded) {
  const Config& config = loaded.config;
  const std::size_t pairs = config.rope_dimensions / 2;
  const float* factors = loaded.weights.rope_factors;
  loaded.inverse_frequencies.resize(pairs);
  kernels::rope_frequencies(config.rope.base, pairs, factors, loaded.inverse_frequencies.data());
  for (double& frequency : loaded.inverse_frequencies) frequency /= config.rope.linear_factor;
  loaded.inverse_frequencies_sliding.resize(pairs);
  kernels::rope_frequencies(config.rope_sliding.base, pairs, factors, loaded.inverse_frequencies_sliding.data());
}

// Absent keys stay absent; a key of the wrong type is an error of the file.
template <typename T, typename Out>
Result<void> read_optional(const gguf::Metadata& metadata, const char* name, Out& out) {
  const std::string key = format("general.sampling.{}", name);
  if (metadata.find(key) == nullptr) return {};
  RILL_ASSIGN(const T value, metadata.get<T>(key));
  out = typename Out::value_type(value);
  return {};
}

Result<ModelSampling> read_sampling(const gguf::Metadata& metadata) {
  ModelSampling sampling;
  RILL_TRY(read_optional<std::string_view>(metadata, "sequence", sampling.sequence));
  RILL_TRY(read_optional<float>(metadata, "temp", sampling.temp));
  RILL_TRY(read_optional<std::int32_t>(metadata, "top_k", sampling.top_k));
  RILL_TRY(read_optional<float>(metadata, "top_p", sampling.top_p));
  RILL_TRY(read_optional<float>(metadata, "min_p", sampling.min_p));
  RILL_TRY(read_optional<float>(metadata, "xtc_probability", sampling.xtc_probability));
  RILL_TRY(read_optional<float>(metadata, "xtc_threshold", sampling.xtc_threshold));
  RILL_TRY(read_optional<std::int32_t>(metadata, "penalty_last_n", sampling.penalty_last_n));
  RILL_TRY(read_optional<float>(metadata, "penalty_repeat", sampling.penalty_repeat));
  RILL_TRY(read_optional<std::int32_t>(metadata, "mirostat", sampling.mirostat));
  RILL_TRY(read_optional<float>(metadata, "mirostat_tau", sampling.mirostat_tau));
  RILL_TRY(read_optional<float>(metadata, "mirostat_eta", sampling.mirostat_eta));
  return sampling;
}

// Builds the tokenizer while the weights are read: of a large vocabulary that takes as long as reading 100 MB.
class TokenizerTask {
 public:
  TokenizerTask(const gguf::Metadata& metadata, const ThreadPool& pool) {
    const cpu::ScopedSignalBlock signals;  // inherited by the thread
    const auto policy = pool.threads() > 1 ? std::launch::async | std::launch::deferred : std::launch::deferred;
    result_ = std::async(policy, [this, &metadata] {
      const ScopedFloatMode float_mode;
      return guarded([&] {
        return tokenizer::from_gguf(
            metadata, [this](LogLevel level, std::string_view message) { messages_.emplace_back(level, message); });
      });
    });
  }

  TokenizerTask(const TokenizerTask&) = delete;
  TokenizerTask& operator=(const TokenizerTask&) = delete;

  // What there was to say goes to `log` now, on the loading thread.
  Result<Tokenizer> finish(const LogSink& log) {
    Result<Tokenizer> tokenizer = result_.get();
    for (const auto& [level, message] : messages_) {
      if (log) log(level, message);
    }
    return tokenizer;
  }

 private:
  std::vector<std::pair<LogLevel, std::string>> messages_;
  std::future<Result<Tokenizer>> result_;  // the last member: it waits for the task, which uses the others
};

Result<std::shared_ptr<const Model>> load(const gguf::File& file, ModelOptions options) {
  const ScopedFloatMode float_mode;
  const auto stopped = [&] { return make_error(ErrorCode::cancelled, "{}: loading was stopped", file.name()); };
  const auto report = [&](double fraction) {
    if (options.progress) options.progress(fraction);
  };
  report(0.0);
  if (options.stop.stop_requested()) return stopped();

  const kernels::KernelTable* kernels = kernels::find_table(options.target);
  if (kernels == nullptr) {
    return make_error(ErrorCode::invalid_argument, "target \"{}\" is not available in this build on this machine",
                      options.target);
  }
  if (options.activations != Activations::fast && options.activations != Activations::accurate) {
    return make_error(ErrorCode::invalid_argument, "activations is not one of fast, accurate");
  }
  if (options.pool != nullptr && options.threads != 0) {
    return make_error(ErrorCode::invalid_argument, "threads = {} beside a pool of the caller's, which has {}",
                      options.threads, options.pool->threads());
  }
  if (options.pool == nullptr) {
    RILL_ASSIGN(options.pool, ThreadPool::create({.threads = options.threads}));
  }
  RILL_ASSIGN(Config config, read_config(file));
  RILL_ASSIGN(ModelSampling sampling, read_sampling(file.metadata()));
  RILL_ASSIGN(const std::size_t vocabulary, tokenizer::vocabulary_size(file.metadata()));
  TokenizerTask tokenizer(file.metadata(), *options.pool);
  const LoadControl control{options.pool.get(), options.progress, options.stop, options.log};
  RILL_ASSIGN(Weights weights, load_weights(file, config, vocabulary, options.packed_cache, control));

  RILL_ASSIGN(Tokenizer built, tokenizer.finish(options.log));
  auto loaded = std::make_unique<LoadedModel>(std::move(built));
  loaded->config = std::move(config);
  loaded->weights = std::move(weights);
  loaded->activations = options.activations;
  loaded->kernels = kernels;
  loaded->pool = std::move(options.pool);
  loaded->sampling_metadata = std::move(sampling);
  if (file.metadata().find("tokenizer.chat_template") != nullptr) {
    RILL_ASSIGN(const std::string_view source, file.metadata().get<std::string_view>("tokenizer.chat_template"));
    loaded->chat_template = ChatTemplate::compile(std::string(source));
  }

  set_frequencies(*loaded);
  loaded->info = describe(*loaded);
  report(1.0);
  if (options.stop.stop_requested()) return stopped();
  return std::make_shared<const Model>(std::move(loaded));
}

}  // namespace

const std::string& LoadedModel::digest() const noexcept {
  std::call_once(digest_once_, [this]() noexcept {
    const Digest digest =
        weights.digest ? *weights.digest : weights_digest(weights.head_digest, weights.bytes.bytes(), pool->workers());
    write_hex(digest, std::span<char, kDigestDigits>(digest_));
  });
  return digest_;
}

}  // namespace model

Result<std::shared_ptr<const Model>> Model::load(const std::filesystem::path& path, ModelOptions options) {
  return guarded([&]() -> Result<std::shared_ptr<const Model>> {
    RILL_ASSIGN(const gguf::File file, gguf::File::open(path));
    return model::load(file, std::move(options));
  });
}

Result<std::shared_ptr<const Model>> Model::load(const std::string& path, ModelOptions options) {
  return guarded([&] { return load(path_from_utf8(path), std::move(options)); });
}

Result<std::shared_ptr<const Model>> Model::load(const char* path, ModelOptions options) {
  return guarded([&] { return load(path_from_utf8(path), std::move(options)); });
}

Result<std::shared_ptr<const Model>> Model::load(std::shared_ptr<const ByteSource> source, ModelOptions options) {
  return guarded([&]() -> Result<std::shared_ptr<const Model>> {
    if (source == nullptr) return make_error(ErrorCode::invalid_argument, "source is null");
    RILL_ASSIGN(const gguf::File file, gguf::File::open(std::vector<ByteSourcePtr>{std::move(source)}));
    return model::load(file, std::move(options));
  });
}

Model::Model(std::unique_ptr<model::LoadedModel> loaded) : loaded_(std::move(loaded)) {}
Model::~Model() = default;

const ModelInfo& Model::info() const { return loaded_->info; }
const Tokenizer& Model::tokenizer() const { return loaded_->tokenizer; }
const ModelSampling& Model::sampling_metadata() const { return loaded_->sampling_metadata; }
const ThreadPool& Model::thread_pool() const { return *loaded_->pool; }

Result<const ChatTemplate*> Model::chat_template() const {
  if (!loaded_->chat_template) return make_error(ErrorCode::not_found, "the model file has no tokenizer.chat_template");
  if (!*loaded_->chat_template) return loaded_->chat_template->error();
  return &**loaded_->chat_template;
}

const std::string& Model::digest() const noexcept { return loaded_->digest(); }

KvShape Model::kv_shape() const {
  const ModelInfo& info = loaded_->info;
  return {info.layers, info.kv_heads, info.head_dim, info.sliding_layers, info.sliding_window};
}

}  // namespace rill
