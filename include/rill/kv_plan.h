// The size of a KV cache, exactly and without a model: plan the KV first, then the concurrency.
#pragma once

#include <cstdint>

#include "rill/export.h"

namespace rill {

// How keys and values are kept. q8_0 stores blocks of 32 values in 34 bytes.
enum class KvType : std::uint8_t { f32, f16, q8_0 };

struct KvShape {
  std::uint64_t layers = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_dim = 0;
};

// Bytes of keys and values that one token takes over all layers: 2 * layers * kv_heads * head_dim * element bytes.
// Llama-3-8B (32 layers, 8 KV heads of 128) in f16: 131,072. Thread-safe.
constexpr std::uint64_t kv_bytes_per_token(KvShape shape, KvType type) {
  const std::uint64_t elements = 2 * shape.layers * shape.kv_heads * shape.head_dim;
  switch (type) {
    case KvType::f32: return 4 * elements;
    case KvType::f16: return 2 * elements;
    case KvType::q8_0: return elements / 32 * 34;
  }
  return 0;
}

// Bytes of memory that the process may still take without swapping: what the machine has free and what its control
// groups leave. 0 if unknown. Thread-safe.
RILL_EXPORT std::uint64_t available_memory();

}  // namespace rill
