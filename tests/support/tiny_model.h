// A complete model of random weights, small enough to be built anew by every test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/gguf_writer.h"
#include "support/tiny_vocabulary.h"
#include "tensor/element_type.h"

namespace rill::test {

// Every matrix's columns (embedding, heads * head_dim, feed_forward) must be whole blocks of `matrices`.
struct TinyModelOptions {
  std::string architecture = "llama";  // or "gemma3"
  std::uint32_t layers = 2;
  std::uint32_t embedding = 64;
  std::uint32_t heads = 4;
  std::uint32_t kv_heads = 2;
  std::uint32_t head_dim = 16;
  std::uint32_t feed_forward = 96;
  std::uint32_t vocabulary = 390;  // no multiple of 16, so that the last group of packed rows is not full
  std::uint32_t embedding_rows = 0;  // other than the vocabulary; 0: as many
  std::uint32_t context = 512;
  std::uint32_t sliding_window = 0;         // tokens, itself included; gemma3
  ElementType matrices = ElementType::f32;  // of all matrices; norms are always f32
  bool tied_head = true;                    // false adds output.weight
  bool rope_frequencies = false;            // adds rope_freqs.weight, as Llama 3.x has it
  TinyTokenizer tokenizer = TinyTokenizer::bpe;
  std::vector<std::string> extra_tokens = {};    // the last of the vocabulary, as plain text
  std::vector<std::string> extra_controls = {};  // before them: control tokens
  std::uint64_t seed = 1;
};

// Shapes that fit the element type. gemma3: 7 layers (the sixth is global), a window of 20 tokens, heads wider together
// than the embedding, SPM.
TinyModelOptions tiny_options(std::string_view architecture, ElementType matrices = ElementType::f32);

// A GGUF file of it. Activations stay near 1, logits have a standard deviation near 1.
std::vector<std::byte> make_tiny_model(const TinyModelOptions& options);

// The same before it is finished, for a test that breaks something.
GgufWriter write_tiny_model(const TinyModelOptions& options);

}  // namespace rill::test
