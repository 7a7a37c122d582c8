#include "support/tiny_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/model_weights.h"

namespace rill::test {
namespace {

class Writer {
 public:
  explicit Writer(const TinyModelOptions& options) : options_(options), random_(options.seed) {}

  GgufWriter write() {
    add_metadata();
    const std::size_t extra = options_.extra_controls.size() + options_.extra_tokens.size();
    TinyVocabulary vocabulary = tiny_vocabulary(options_.tokenizer, options_.vocabulary - extra);
    for (const std::string& token : options_.extra_controls) add_token(vocabulary, token, true);
    for (const std::string& token : options_.extra_tokens) add_token(vocabulary, token, false);
    add_vocabulary(writer_, vocabulary, !gemma());
    matrix("token_embd", options_.embedding_rows != 0 ? options_.embedding_rows : options_.vocabulary, options_.embedding);
    for (std::uint32_t i = 0; i < options_.layers; ++i) add_layer("blk." + std::to_string(i) + ".");
    norm("output_norm", options_.embedding);
    if (!options_.tied_head) matrix("output", options_.vocabulary, options_.embedding);
    if (options_.rope_frequencies) add_rope_frequencies();
    return std::move(writer_);
  }

 private:
  bool gemma() const { return options_.architecture == "gemma3"; }

  void add_metadata() {
    const auto key = [this](std::string_view name) { return options_.architecture + "." + std::string(name); };
    writer_.add("general.architecture", options_.architecture);
    writer_.add("general.name", "tiny " + options_.architecture);
    writer_.add(key("block_count"), options_.layers);
    writer_.add(key("context_length"), options_.context);
    writer_.add(key("embedding_length"), options_.embedding);
    writer_.add(key("feed_forward_length"), options_.feed_forward);
    writer_.add(key("attention.head_count"), options_.heads);
    writer_.add(key("attention.head_count_kv"), options_.kv_heads);
    writer_.add(key("attention.layer_norm_rms_epsilon"), gemma() ? 1e-6f : 1e-5f);
    writer_.add(key("rope.freq_base"), gemma() ? 1e6f : 1e4f);
    if (gemma() || options_.head_dim * options_.heads != options_.embedding) {
      writer_.add(key("attention.key_length"), options_.head_dim);
      writer_.add(key("attention.value_length"), options_.head_dim);
    }
    if (!gemma()) {
      writer_.add(key("rope.dimension_count"), options_.head_dim);
      writer_.add(key("vocab_size"), options_.vocabulary);
    }
    if (options_.sliding_window != 0) writer_.add(key("attention.sliding_window"), options_.sliding_window);
  }

  void add_layer(const std::string& prefix) {
    const std::uint32_t q = options_.heads * options_.head_dim, kv = options_.kv_heads * options_.head_dim;
    norm(prefix + "attn_norm", options_.embedding);
    matrix(prefix + "attn_q", q, options_.embedding);
    matrix(prefix + "attn_k", kv, options_.embedding);
    matrix(prefix + "attn_v", kv, options_.embedding);
    matrix(prefix + "attn_output", options_.embedding, q);
    norm(prefix + "ffn_norm", options_.embedding);
    matrix(prefix + "ffn_gate", options_.feed_forward, options_.embedding);
    matrix(prefix + "ffn_up", options_.feed_forward, options_.embedding);
    matrix(prefix + "ffn_down", options_.embedding, options_.feed_forward);
    if (gemma()) {
      norm(prefix + "attn_q_norm", options_.head_dim);
      norm(prefix + "attn_k_norm", options_.head_dim);
      norm(prefix + "post_attention_norm", options_.embedding);
      norm(prefix + "post_ffw_norm", options_.embedding);
    }
  }

  void matrix(const std::string& name, std::uint64_t rows, std::uint64_t cols) {
    const double deviation = 1 / std::sqrt(static_cast<double>(cols));
    writer_.add_tensor(name + ".weight", options_.matrices, {cols, rows},
                       model_weights(options_.matrices, rows * cols, deviation, random_));
  }

  void norm(const std::string& name, std::uint64_t size) {
    floats(name, size, [this](std::size_t) { return random_.uniform(0.7, 1.3); });
  }

  // Low frequencies are divided by more, up to 8.
  void add_rope_frequencies() {
    const std::uint32_t pairs = options_.head_dim / 2;
    floats("rope_freqs", pairs,
           [=](std::size_t i) { return std::clamp(16.0 * static_cast<double>(i) / pairs - 4, 1.0, 8.0); });
  }

  template <typename Value>
  void floats(const std::string& name, std::uint64_t size, Value value) {
    std::vector<std::byte> bytes(size * sizeof(float));
    for (std::size_t i = 0; i < size; ++i) {
      const auto element = static_cast<float>(value(i));
      std::memcpy(bytes.data() + i * sizeof(float), &element, sizeof(element));
    }
    writer_.add_tensor(name + ".weight", ElementType::f32, {size}, std::move(bytes));
  }

  const TinyModelOptions& options_;
  Random random_;
  GgufWriter writer_;
};

}  // namespace

TinyModelOptions tiny_options(std::string_view architecture, ElementType matrices) {
  TinyModelOptions options;
  options.architecture = architecture;
  options.matrices = matrices;
  if (architecture == "gemma3") {
    options.layers = 7;
    options.kv_heads = 1;
    options.head_dim = 32;
    options.sliding_window = 20;
    options.tokenizer = TinyTokenizer::spm;
  }
  if (info(matrices).block_elements == 256) {
    options.embedding = 256;
    options.head_dim = architecture == "gemma3" ? 128 : 64;
    options.feed_forward = 512;
  }
  return options;
}

GgufWriter write_tiny_model(const TinyModelOptions& options) { return Writer(options).write(); }

std::vector<std::byte> make_tiny_model(const TinyModelOptions& options) { return write_tiny_model(options).finish(); }

}  // namespace rill::test
