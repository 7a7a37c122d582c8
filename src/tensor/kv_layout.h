// How keys and values lie in a KV page: 16 tokens; for each layer and KV head keys [dim][16], then values [16][dim].
#pragma once

#include <cstddef>

#include "rill/kv_plan.h"

namespace rill {

inline constexpr std::size_t kTokensPerPage = kKvPageTokens;
inline constexpr std::size_t kTokensPerSpan = 256;  // one attention task
inline constexpr std::size_t kPagesPerSpan = kTokensPerSpan / kTokensPerPage;

// One layer's part of a page. q8_0 stores blocks of 32 dimensions of one token with one f16 scale; head_dim must be a
// multiple of 32 there.
struct KvLayout {
  KvType type = KvType::f16;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  // Bytes from a head's keys in a page to its values, and from those to the keys of the next head; 0: they are neighbours.
  // Pages that lie head by head beside each other make long runs of what attention reads together.
  std::size_t head_stride = 0;

  // Bytes of the keys of one head in one page; the same for values.
  std::size_t head_bytes() const {
    return static_cast<std::size_t>(kv_head_bytes(head_dim, type)) * kTokensPerPage;
  }
  std::size_t layer_bytes() const { return 2 * kv_heads * head_bytes(); }
  std::size_t stride() const { return head_stride != 0 ? head_stride : head_bytes(); }
  std::size_t layer_stride() const { return 2 * kv_heads * stride(); }
  std::size_t k_offset(std::size_t head) const { return 2 * head * stride(); }
  std::size_t v_offset(std::size_t head) const { return (2 * head + 1) * stride(); }
};

}  // namespace rill
