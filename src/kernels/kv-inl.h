// Around attention: storing a token's keys and values (attention-inl.h has the layout), merging spans, the last
// division.
#pragma once

#include <algorithm>

#include "kernels/attention-inl.h"
#include "kernels/exp-inl.h"
#include "kernels/ops-inl.h"
#include "kernels/vector-inl.h"

RILL_BEFORE_NAMESPACE;
namespace rill::kernels::RILL_NAMESPACE {

// One head of one token: keys go down a column of [dim][16], values along a row of [16][dim].
static void store_f32(const float* k, const float* v, std::size_t head_dim, std::byte* k_head, std::byte* v_head,
                      std::size_t slot) {
  auto* keys = reinterpret_cast<float*>(k_head);
  for (std::size_t d = 0; d < head_dim; ++d) keys[d * kTokensPerPage + slot] = k[d];
  std::copy_n(v, head_dim, reinterpret_cast<float*>(v_head) + slot * head_dim);
}

static void store_f16(const float* k, const float* v, std::size_t head_dim, std::byte* k_head, std::byte* v_head,
                      std::size_t slot) {
  auto* keys = reinterpret_cast<std::uint16_t*>(k_head);
  auto* values = reinterpret_cast<std::uint16_t*>(v_head) + slot * head_dim;
  alignas(64) std::uint16_t buffer[kLanes];
  for (std::size_t d = 0; d < head_dim; d += kLanes) {
    const std::size_t n = std::min(head_dim - d, kLanes);
    store_u16(to_f16(load_part(k + d, n)), buffer);
    for (std::size_t i = 0; i < n; ++i) keys[(d + i) * kTokensPerPage + slot] = buffer[i];
    store_u16(to_f16(load_part(v + d, n)), buffer);
    std::copy_n(buffer, n, values + d);
  }
}

RILL_INLINE I32x16 quantize(F32x16 x, F32x16 scale) {
  const F32x16 limit = set(127.0f);  // a scale that was rounded down may lead past it
  return round_to_int(max(min(div(x, scale), limit), negate(limit)));
}

// One block of 32 values into integers q[32]; returns the bits of its f16 scale. A block that is not finite, or too
// large for the scale, becomes NaN when it is read, so that no reader takes it for numbers.
static std::uint16_t quantize_block(const float* x, std::int8_t* q) {
  const F32x16 low = load(x), high = load(x + kLanes);
  const float amax = greatest_lane(max(abs(low), abs(high)));
  alignas(64) std::uint16_t bits[kLanes];
  store_u16(to_f16(set(amax / 127.0f)), bits);
  const F32x16 scale = load_f16(bits);
  const bool finite = all_finite(x, kQ8Block) && (bits[0] & 0x7C00) != 0x7C00;
  if (!finite || bits[0] == 0) {
    std::fill_n(q, kQ8Block, std::int8_t{0});
    return finite ? 0 : 0x7E00;
  }
  store_i8(quantize(low, scale), q);
  store_i8(quantize(high, scale), q + kLanes);
  return bits[0];
}

static void store_q8_0(const float* k, const float* v, std::size_t head_dim, std::byte* k_head, std::byte* v_head,
                       std::size_t slot) {
  auto* keys = reinterpret_cast<std::int8_t*>(k_head);
  auto* values = reinterpret_cast<std::int8_t*>(v_head) + slot * head_dim;
  auto* k_scales = reinterpret_cast<std::uint16_t*>(k_head + kTokensPerPage * head_dim) + slot;
  auto* v_scales = reinterpret_cast<std::uint16_t*>(v_head + kTokensPerPage * head_dim) + slot;
  alignas(64) std::int8_t buffer[kQ8Block];
  for (std::size_t d = 0; d < head_dim; d += kQ8Block) {
    const std::size_t block = d / kQ8Block;
    k_scales[block * kTokensPerPage] = quantize_block(k + d, buffer);
    for (std::size_t i = 0; i < kQ8Block; ++i) keys[(d + i) * kTokensPerPage + slot] = buffer[i];
    v_scales[block * kTokensPerPage] = quantize_block(v + d, values + d);
  }
}

static void store_kv(const KvLayout& layout, const float* k, const float* v, std::byte* layer_base, std::size_t slot) {
  const auto store_head = layout.type == KvType::f32 ? store_f32 : layout.type == KvType::f16 ? store_f16 : store_q8_0;
  for (std::size_t head = 0; head < layout.kv_heads; ++head) {
    store_head(k + head * layout.head_dim, v + head * layout.head_dim, layout.head_dim,
               layer_base + layout.k_offset(head), layer_base + layout.v_offset(head), slot);
  }
}

static void merge_span(std::size_t rows, std::size_t head_dim, const float* span_max, const float* span_sum,
                       const float* span_accumulator, float* running_max, float* sum, float* accumulator) {
  for (std::size_t row = 0; row < rows; ++row) {
    const float* from = span_accumulator + row * head_dim;
    float* to = accumulator + row * head_dim;
    if (span_max[row] == kMinusInfinity) continue;
    if (running_max[row] == kMinusInfinity) {
      running_max[row] = span_max[row];
      sum[row] = span_sum[row];
      std::copy_n(from, head_dim, to);
      continue;
    }
    const F32x16 old_max = set(running_max[row]), new_max = set(span_max[row]);
    const F32x16 highest = max(new_max, old_max);
    const F32x16 old_factor = exp(sub(old_max, highest)), new_factor = exp(sub(new_max, highest));
    store_first(highest, running_max + row, 1);
    store_first(mul_add(set(sum[row]), old_factor, mul(set(span_sum[row]), new_factor)), sum + row, 1);
    for (std::size_t d = 0; d < head_dim; d += kLanes) {
      const std::size_t n = head_dim - d;
      store_part(mul_add(load_part(to + d, n), old_factor, mul(load_part(from + d, n), new_factor)), to + d, n);
    }
  }
}

static void finish_attention(std::size_t rows, std::size_t head_dim, const float* sum, const float* accumulator,
                             float* out) {
  for (std::size_t row = 0; row < rows; ++row, accumulator += head_dim, out += head_dim) {
    if (sum[row] == 0.0f) {
      std::fill_n(out, head_dim, 0.0f);
      continue;
    }
    for (std::size_t d = 0; d < head_dim; d += kLanes) {
      store_part(div(load_part(accumulator + d, head_dim - d), set(sum[row])), out + d, head_dim - d);
    }
  }
}

}  // namespace rill::kernels::RILL_NAMESPACE
RILL_AFTER_NAMESPACE;
