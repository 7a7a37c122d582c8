// The size of KV caches, exactly and without a model: plan the KV first, then the concurrency. rill/memory_plan.h adds what
// the model itself takes. Nothing here overflows: what passes 2^64 - 1 stays there. All functions are thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "rill/export.h"

namespace rill {

// How keys and values are kept. q8_0 stores blocks of 32 values in 34 bytes.
enum class KvType : std::uint8_t { f32, f16, q8_0 };

// A cache takes memory in pages of that many tokens, each for all layers of one kind.
inline constexpr std::uint64_t kKvPageTokens = 16;

struct KvShape {
  std::uint64_t layers = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_dim = 0;
  std::uint64_t sliding_layers = 0;  // of `layers`, those that see a window; the others are global
  std::uint64_t sliding_window = 0;  // tokens that they see, the last one included
};

// A sequence that grows from nothing to `tokens` in steps of at most `feed_tokens`: passes of a prompt, or tokens. A feed of
// several passes onto tokens that a session already holds is one step, as what it may have to go back to stays held.
struct KvSequence {
  std::uint64_t tokens = 0;
  std::uint64_t feed_tokens = 256;     // SessionOptions::prefill_chunk
  std::uint64_t rollback_reserve = 64;  // tokens that sliding-window layers keep behind their window
};

struct KvPages {
  std::uint64_t global = 0;   // pages for all global layers
  std::uint64_t sliding = 0;  // pages for all sliding-window layers
};

// Arithmetic that stops at the greatest number.
namespace saturating {
inline constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t add(std::uint64_t a, std::uint64_t b) { return a > kMost - b ? kMost : a + b; }
constexpr std::uint64_t multiply(std::uint64_t a, std::uint64_t b) { return b != 0 && a > kMost / b ? kMost : a * b; }
constexpr bool fits(std::uint64_t bytes, std::uint64_t budget) { return bytes <= budget && bytes != kMost; }
constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// The greatest argument for which `fits` holds, given that it holds below and fails above; 0 if it never does.
template <typename Fits>
constexpr std::uint64_t greatest(Fits fits) {
  std::uint64_t found = 0;
  for (int bit = 63; bit >= 0; --bit) {
    if (fits(found | std::uint64_t{1} << bit)) found |= std::uint64_t{1} << bit;
  }
  return found;
}
}  // namespace saturating

// Bytes of the keys of one token in one head; its values take the same. A last block is padded.
constexpr std::uint64_t kv_head_bytes(std::uint64_t head_dim, KvType type) {
  switch (type) {
    case KvType::f32: return saturating::multiply(4, head_dim);
    case KvType::f16: return saturating::multiply(2, head_dim);
    case KvType::q8_0: return saturating::multiply(34, saturating::divide_up(head_dim, 32));
  }
  return 0;
}

// Bytes of keys and values that one more token takes in `layers` layers: 2 * layers * kv_heads * head_dim * element bytes.
constexpr std::uint64_t kv_bytes_per_token(std::uint64_t layers, const KvShape& shape, KvType type) {
  const std::uint64_t heads = saturating::multiply(saturating::multiply(2, layers), shape.kv_heads);
  return saturating::multiply(heads, kv_head_bytes(shape.head_dim, type));
}

// In all layers. Llama-3-8B (32 layers, 8 KV heads of 128) in f16: 131,072.
constexpr std::uint64_t kv_bytes_per_token(const KvShape& shape, KvType type) {
  return kv_bytes_per_token(shape.layers, shape, type);
}

// Pages that `tokens` neighbours touch, wherever they begin in their first page.
constexpr std::uint64_t kv_pages_touched(std::uint64_t tokens) {
  return saturating::divide_up(saturating::add(tokens, kKvPageTokens - 1), kKvPageTokens);
}

// Pages that layers with this window (0: global ones) hold of a sequence of `tokens` between two steps.
constexpr std::uint64_t kv_pages_held(std::uint64_t tokens, std::uint64_t window, std::uint64_t rollback_reserve) {
  const std::uint64_t pages = saturating::divide_up(tokens, kKvPageTokens);
  const std::uint64_t kept = saturating::add(window, rollback_reserve);
  return window == 0 || tokens <= kept ? pages : pages - (tokens - kept) / kKvPageTokens;
}

// The most that they hold at any moment of its growth: pages that a step writes to are taken before those that the window
// passes are given back. Some step, wherever it begins, does take that many.
constexpr std::uint64_t kv_pages_peak(const KvSequence& sequence, std::uint64_t window) {
  const std::uint64_t pages = saturating::divide_up(sequence.tokens, kKvPageTokens);
  const std::uint64_t kept = saturating::add(window, sequence.rollback_reserve);
  return window == 0 ? pages : std::min(pages, kv_pages_touched(saturating::add(kept, sequence.feed_tokens)));
}

// The same for a model's two kinds of layer; no pages for a kind that it does not have.
constexpr KvPages kv_pages_held(const KvShape& shape, std::uint64_t tokens, std::uint64_t rollback_reserve) {
  return {shape.layers > shape.sliding_layers ? kv_pages_held(tokens, 0, rollback_reserve) : 0,
          shape.sliding_layers > 0 ? kv_pages_held(tokens, shape.sliding_window, rollback_reserve) : 0};
}
constexpr KvPages kv_pages_peak(const KvShape& shape, const KvSequence& sequence) {
  return {shape.layers > shape.sliding_layers ? kv_pages_peak(sequence, 0) : 0,
          shape.sliding_layers > 0 ? kv_pages_peak(sequence, shape.sliding_window) : 0};
}

constexpr std::uint64_t kv_bytes(const KvShape& shape, KvType type, const KvPages& pages) {
  const auto bytes = [&](std::uint64_t count, std::uint64_t layers) {
    return saturating::multiply(saturating::multiply(count, kKvPageTokens), kv_bytes_per_token(layers, shape, type));
  };
  return saturating::add(bytes(pages.global, shape.layers - std::min(shape.layers, shape.sliding_layers)),
                         bytes(pages.sliding, shape.sliding_layers));
}

// Bytes of `sequences` sequences, each at its worst moment.
constexpr std::uint64_t kv_bytes(const KvShape& shape, KvType type, const KvSequence& sequence,
                                 std::uint64_t sequences = 1) {
  return saturating::multiply(sequences, kv_bytes(shape, type, kv_pages_peak(shape, sequence)));
}

// How many sequences a budget of KV bytes holds, each at its worst moment: none of them can ever lack a page.
constexpr std::uint64_t kv_sequences_guaranteed(const KvShape& shape, KvType type, const KvSequence& sequence,
                                                std::uint64_t budget_bytes) {
  const std::uint64_t one = kv_bytes(shape, type, sequence);
  if (one == 0) return saturating::kMost;
  return saturating::fits(one, budget_bytes) ? budget_bytes / one : 0;
}

// How many it holds if each has `average_tokens`; 0 if not even one could come to its end. Some may have to wait or be
// swapped out when more of them are long than usual.
constexpr std::uint64_t kv_sequences_overcommitted(const KvShape& shape, KvType type, const KvSequence& sequence,
                                                   std::uint64_t average_tokens, std::uint64_t budget_bytes) {
  if (!saturating::fits(kv_bytes(shape, type, sequence), budget_bytes)) return 0;
  const std::uint64_t tokens = std::min(average_tokens, sequence.tokens);
  const std::uint64_t one = kv_bytes(shape, type, kv_pages_held(shape, tokens, sequence.rollback_reserve));
  return one == 0 ? saturating::kMost : budget_bytes / one;
}

// The greatest `tokens` with which `sequences` such sequences fit; 2^64 - 1 if no length is too long.
constexpr std::uint64_t kv_context(const KvShape& shape, KvType type, KvSequence sequence, std::uint64_t sequences,
                                   std::uint64_t budget_bytes) {
  return saturating::greatest([&](std::uint64_t tokens) {
    sequence.tokens = tokens;
    return saturating::fits(kv_bytes(shape, type, sequence, sequences), budget_bytes);
  });
}

// Bytes of memory that the process may still take without swapping: what the machine has free and what its control
// groups leave. 0 if unknown.
RILL_EXPORT std::uint64_t available_memory();

}  // namespace rill
