#include "model/config.h"

#include <cmath>
#include <string_view>

#include "base/error.h"
#include "gguf/file.h"

namespace rill::model {
namespace {

constexpr std::uint64_t kMaxContextLength = 1u << 27;  // tokens; beyond it a file is taken to be corrupt
constexpr std::uint64_t kMaxDimension = 1u << 24;      // of any one length
constexpr std::uint64_t kMaxLayers = 4096;
constexpr std::uint64_t kGemma3WindowPeriod = 6;       // five sliding-window layers, then a global one
constexpr float kGemma3SlidingRopeBase = 10000.0f;
constexpr std::size_t kGemma3LayersOf27B = 62;         // the one size that scales queries by embedding / heads

class Reader {
 public:
  Reader(const gguf::Metadata& metadata, std::string_view prefix) : metadata_(metadata), prefix_(prefix) {}

  std::string key(std::string_view name) const { return format("{}.{}", prefix_, name); }
  bool has(std::string_view name) const { return metadata_.find(key(name)) != nullptr; }

  // A count in [1, limit].
  Result<std::size_t> count(std::string_view name, std::uint64_t limit) const {
    RILL_ASSIGN(const std::uint64_t value, metadata_.get<std::uint64_t>(key(name)));
    if (value == 0 || value > limit) {
      return make_error(ErrorCode::malformed, "{}: {} is {}, not in [1, {}]", metadata_.source_name(), key(name), value,
                        limit);
    }
    return static_cast<std::size_t>(value);
  }
  Result<std::size_t> count_or(std::string_view name, std::uint64_t limit, std::size_t fallback) const {
    return has(name) ? count(name, limit) : Result<std::size_t>(fallback);
  }
  // One count for all layers; an array must hold it `layers` times.
  Result<std::size_t> uniform_count(std::string_view name, std::uint64_t limit, std::size_t layers) const {
    const gguf::Value* value = metadata_.find(key(name));
    if (value == nullptr || value->type != gguf::ValueType::array) return count(name, limit);
    RILL_ASSIGN(const auto values, metadata_.get_array<std::uint64_t>(key(name)));
    for (const std::uint64_t one : values) {
      if (one != values.front()) {
        return make_error(ErrorCode::unsupported, "{}: {} differs between layers", metadata_.source_name(), key(name));
      }
    }
    if (values.size() != layers || values.front() == 0 || values.front() > limit) {
      return make_error(ErrorCode::malformed, "{}: {} has {} values for {} layers, or one out of [1, {}]",
                        metadata_.source_name(), key(name), values.size(), layers, limit);
    }
    return static_cast<std::size_t>(values.front());
  }
  Result<float> positive(std::string_view name) const {
    RILL_ASSIGN(const float value, metadata_.get<float>(key(name)));
    if (!(value > 0.0f) || !std::isfinite(value)) {
      return make_error(ErrorCode::malformed, "{}: {} is {}, not a positive number", metadata_.source_name(), key(name),
                        value);
    }
    return value;
  }
  Result<float> positive_or(std::string_view name, float fallback) const {
    return has(name) ? positive(name) : Result<float>(fallback);
  }
  // Refuses a key that asks for arithmetic that rill does not have. Some are counts, some factors.
  Result<void> absent_or_zero(std::string_view name) const {
    const gguf::Value* found = metadata_.find(key(name));
    if (found == nullptr) return {};
    double value = 0.0;
    if (found->type == gguf::ValueType::f32 || found->type == gguf::ValueType::f64) {
      RILL_ASSIGN(const float factor, metadata_.get<float>(key(name)));
      value = static_cast<double>(factor);
    } else {
      RILL_ASSIGN(const std::int64_t count, metadata_.get<std::int64_t>(key(name)));
      value = static_cast<double>(count);
    }
    if (value != 0.0) {
      return make_error(ErrorCode::unsupported, "{}: {} = {} is not supported", metadata_.source_name(), key(name),
                        value);
    }
    return {};
  }
  Result<std::string_view> text_or(std::string_view name, std::string_view fallback) const {
    return metadata_.get_or<std::string_view>(key(name), fallback);
  }

  const gguf::Metadata& metadata() const { return metadata_; }

 private:
  const gguf::Metadata& metadata_;
  std::string prefix_;
};

Result<void> read_heads(const Reader& reader, Config& config) {
  RILL_ASSIGN(config.heads, reader.uniform_count("attention.head_count", kMaxDimension, config.layers));
  config.kv_heads = config.heads;
  if (reader.has("attention.head_count_kv")) {
    RILL_ASSIGN(config.kv_heads, reader.uniform_count("attention.head_count_kv", kMaxDimension, config.layers));
  }
  const std::string_view file = reader.metadata().source_name();
  if (config.kv_heads > config.heads || config.heads % config.kv_heads != 0) {
    return make_error(ErrorCode::malformed, "{}: {} = {} is not a multiple of {} = {}", file,
                      reader.key("attention.head_count"), config.heads, reader.key("attention.head_count_kv"),
                      config.kv_heads);
  }
  if (reader.has("attention.key_length")) {
    RILL_ASSIGN(config.head_dim, reader.count("attention.key_length", kMaxDimension));
  } else if (config.embedding_length % config.heads == 0) {
    config.head_dim = config.embedding_length / config.heads;
  } else {
    return make_error(ErrorCode::malformed, "{}: {} = {} is not a multiple of {} = {}", file,
                      reader.key("embedding_length"), config.embedding_length, reader.key("attention.head_count"),
                      config.heads);
  }
  RILL_ASSIGN(const std::size_t value_length,
              reader.count_or("attention.value_length", kMaxDimension, config.head_dim));
  if (value_length != config.head_dim) {
    return make_error(ErrorCode::unsupported, "{}: {} = {} differs from the key length {}", file,
                      reader.key("attention.value_length"), value_length, config.head_dim);
  }
  if (config.head_dim > kMaxDimension / config.heads) {
    return make_error(ErrorCode::malformed, "{}: {} heads of {} are too large", file, config.heads, config.head_dim);
  }
  return {};
}

Result<void> read_rope(const Reader& reader, Config& config) {
  const std::string_view file = reader.metadata().source_name();
  RILL_ASSIGN(config.rope_dimensions, reader.count_or("rope.dimension_count", kMaxDimension, config.head_dim));
  if (config.rope_dimensions > config.head_dim || config.rope_dimensions % 2 != 0) {
    return make_error(ErrorCode::malformed, "{}: {} = {} is odd or larger than the head's {}", file,
                      reader.key("rope.dimension_count"), config.rope_dimensions, config.head_dim);
  }
  RILL_ASSIGN(const float base, reader.positive_or("rope.freq_base", 10000.0f));
  config.rope.base = static_cast<double>(base);
  RILL_ASSIGN(const std::string_view scaling, reader.text_or("rope.scaling.type", "none"));
  if (scaling == "linear") {
    RILL_ASSIGN(const float factor, reader.positive_or("rope.scaling.factor", 1.0f));
    config.rope.linear_factor = static_cast<double>(factor);
  } else if (scaling != "none") {
    return make_error(ErrorCode::unsupported, "{}: {} = \"{}\" is not supported", file, reader.key("rope.scaling.type"),
                      scaling);
  }
  config.rope_sliding = config.rope;
  return {};
}

Result<void> read_gemma3(const Reader& reader, Config& config) {
  config.rope_neighbours = false;
  config.query_key_norm = true;
  config.post_norms = true;
  config.gelu = true;
  config.embedding_scale = std::sqrt(static_cast<float>(config.embedding_length));
  RILL_ASSIGN(const float sliding_base, reader.positive_or("rope.freq_base_swa", kGemma3SlidingRopeBase));
  config.rope_sliding = {static_cast<double>(sliding_base), 1.0};
  if (config.layers == kGemma3LayersOf27B) {
    config.attention_scale = 1.0f / std::sqrt(static_cast<float>(config.embedding_length / config.heads));
  }
  if (!reader.has("attention.sliding_window")) return {};
  RILL_ASSIGN(config.sliding_window, reader.count("attention.sliding_window", kMaxContextLength));
  const std::string pattern = reader.key("attention.sliding_window_pattern");
  const gguf::Value* value = reader.metadata().find(pattern);
  if (value != nullptr && value->type == gguf::ValueType::array) {
    RILL_ASSIGN(const std::vector<bool> layers, reader.metadata().get_array<bool>(pattern));
    if (layers.size() != config.layers) {
      return make_error(ErrorCode::malformed, "{}: {} has {} values for {} layers", reader.metadata().source_name(),
                        pattern, layers.size(), config.layers);
    }
    config.sliding = layers;
    return {};
  }
  RILL_ASSIGN(const std::size_t period,
              reader.count_or("attention.sliding_window_pattern", kMaxLayers, kGemma3WindowPeriod));
  for (std::size_t i = 0; i < config.layers; ++i) config.sliding[i] = (i + 1) % period != 0;
  return {};
}

Result<void> read_pooling(const Reader& reader, Config& config) {
  if (!reader.has("pooling_type")) return {};
  RILL_ASSIGN(const std::uint32_t type, reader.metadata().get<std::uint32_t>(reader.key("pooling_type")));
  if (type > 3) {
    return make_error(ErrorCode::unsupported, "{}: {} = {} is not supported", reader.metadata().source_name(),
                      reader.key("pooling_type"), type);
  }
  config.pooling = static_cast<Pooling>(type);  // the file's numbers are those of the enumeration
  return {};
}

}  // namespace

Result<Config> read_config(const gguf::File& file) {
  const gguf::Metadata& metadata = file.metadata();
  RILL_ASSIGN(const std::string_view architecture, metadata.get<std::string_view>("general.architecture"));
  Config config;
  if (architecture == "llama") {
    config.architecture = Architecture::llama;
  } else if (architecture == "gemma3") {
    config.architecture = Architecture::gemma3;
  } else {
    return make_error(ErrorCode::unsupported,
                      "{}: architecture \"{}\" is not supported; supported are llama and gemma3", file.name(),
                      architecture);
  }
  RILL_ASSIGN(const std::string_view name, metadata.get_or<std::string_view>("general.name", ""));
  config.name = name;

  const Reader reader(metadata, architecture);
  RILL_ASSIGN(config.layers, reader.count("block_count", kMaxLayers));
  RILL_ASSIGN(config.embedding_length, reader.count("embedding_length", kMaxDimension));
  RILL_ASSIGN(config.feed_forward_length, reader.uniform_count("feed_forward_length", kMaxDimension, config.layers));
  RILL_ASSIGN(config.context_length, reader.count("context_length", kMaxContextLength));
  RILL_ASSIGN(config.norm_epsilon, reader.positive("attention.layer_norm_rms_epsilon"));
  RILL_TRY(read_heads(reader, config));
  RILL_TRY(read_rope(reader, config));
  RILL_TRY(read_pooling(reader, config));
  for (const char* unsupported : {"expert_count", "attn_logit_softcapping", "final_logit_softcapping", "logit_scale",
                                  "attention.scale", "embedding_scale", "residual_scale"}) {
    RILL_TRY(reader.absent_or_zero(unsupported));
  }
  config.attention_scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim));
  config.sliding.assign(config.layers, false);
  if (config.architecture == Architecture::gemma3) {
    RILL_TRY(read_gemma3(reader, config));
  } else {
    RILL_TRY(reader.absent_or_zero("attention.sliding_window"));
  }
  return config;
}

}  // namespace rill::model
