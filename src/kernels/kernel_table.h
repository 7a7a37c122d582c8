// One table of kernels per SIMD target. A Model picks a table once and calls through it; nothing else dispatches.
//
// Numerics (docs/numerics.md): every function gives the same bits on every table of the same NumericsClass, and for
// every way of cutting the work: the value of an output element depends on its own inputs, its absolute position and
// the tensor shapes, never on how many rows, tiles or threads there are. All functions are thread-safe, allocate
// nothing, and expect the floating-point mode that ScopedFloatMode sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/activations.h"
#include "tensor/kv_layout.h"
#include "tensor/packed_matrix.h"

namespace rill::kernels {

// Tables of one class agree bit by bit. `sse4` has no fused multiply-add and so rounds differently.
enum class NumericsClass : std::uint8_t { fma, sse4 };

// Queries of one sequence at consecutive positions against one KV head and one span of 256 absolute positions.
// The G query heads that share the KV head are neighbours in q.
struct SpanAttention {
  const float* q = nullptr;          // [query_rows, G, head_dim], rows q_stride floats apart; rotated, not scaled
  std::size_t q_stride = 0;
  std::size_t query_rows = 0;
  std::size_t group = 1;             // G
  std::uint64_t first_position = 0;  // of query row 0; row i stands at first_position + i
  std::uint64_t window = 0;          // a row at p sees keys in (p - window, p]; 0: all of [0, p]
  float scale = 1.0f;                // multiplies q . k
  float softcap = 0.0f;              // c > 0: score = c * tanh(score / c); applied to visible keys only
  std::uint64_t span = 0;            // keys at [256 * span, 256 * span + 256)
  const std::byte* const* pages = nullptr;  // [16] bases of the span's pages; one with no visible key may be null
  const std::byte* const* next_pages =
      nullptr;                       // [16] of the span that is read next, to be fetched ahead; any may be null
  std::size_t k_offset = 0;          // bytes from a page's base to this layer's and KV head's keys
  std::size_t v_offset = 0;          // the same for its values
  // Results. A row that sees no key in this span gets max = -inf, sum = 0, accumulator = 0.
  float* max = nullptr;              // [query_rows, G]
  float* sum = nullptr;              // [query_rows, G] of exp(score - max)
  float* accumulator = nullptr;      // [query_rows, G, head_dim], sum of exp(score - max) * v; not divided
};

struct KernelTable {
  // "scalar", "sse4", "avx2", "avx_vnni", "avx512", "avx512_vnni", "neon", "neon_dotprod", "neon_i8mm"
  const char* name;
  NumericsClass numerics_class;

  // Quantises rows of x [rows, cols] (row_stride floats apart) into dst as tensor/activations.h lays it out.
  // Returns false if any input is not finite; dst is then unspecified. Format f32 copies.
  bool (*prepare_activations)(ActivationFormat format, const float* x, std::size_t row_stride, std::size_t rows,
                              std::size_t cols, std::byte* dst);

  // y[t * y_stride + r] = row r of w . row t of x, for all rows t of x and the weight rows r of the 16-row groups
  // [group_begin, group_end); y is indexed by the absolute r, and rows past w.rows are not written.
  void (*matmul)(const PackedMatrix& w, const ActivationView& x, std::size_t group_begin, std::size_t group_end,
                 float* y, std::size_t y_stride);

  // out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i], i in [0, n). out may be x. Source: Zhang and Sennrich 2019.
  void (*rms_norm)(const float* x, const float* weight, float eps, std::size_t n, float* out);

  // Rotates `heads` heads of head_dim floats in place by (cosine, sine) [pairs]; pair i is (2i, 2i + 1) if
  // `neighbours`, else (i, i + pairs). Elements from 2 * pairs on are left alone. Source: Su et al. 2021.
  void (*rope)(float* x, std::size_t heads, std::size_t head_dim, const float* cosine, const float* sine,
               std::size_t pairs, bool neighbours);

  // out = gate / (1 + exp(-gate)) * up, and the tanh form of GELU times up.
  void (*silu_mul)(const float* gate, const float* up, std::size_t n, float* out);
  void (*gelu_mul)(const float* gate, const float* up, std::size_t n, float* out);
  void (*add)(const float* x, std::size_t n, float* y);                             // y += x
  void (*scale)(float factor, std::size_t n, float* x);                             // x *= factor
  bool (*all_finite)(const float* x, std::size_t n);

  // Stores one token's keys and values [kv_heads, head_dim] of one layer into slot [0, 16) of a page; `layer_base` is
  // where the layer begins in the page.
  void (*store_kv)(const KvLayout& layout, const float* k, const float* v, std::byte* layer_base, std::size_t slot);

  // Inside a span: scores, then the row's maximum, then exp and the weighted values in ascending position.
  void (*attend_span)(const KvLayout& layout, const SpanAttention& task);
  // Folds a span's result into the running one, element by element: both [rows] of max and sum, [rows, head_dim] of
  // accumulator. Called in ascending order of spans; a running max of -inf takes the span's values unchanged.
  void (*merge_span)(std::size_t rows, std::size_t head_dim, const float* span_max, const float* span_sum,
                     const float* span_accumulator, float* max, float* sum, float* accumulator);
  // out[row] = accumulator[row] / sum[row]; zeros where sum is 0. [rows, head_dim].
  void (*finish_attention)(std::size_t rows, std::size_t head_dim, const float* sum, const float* accumulator,
                           float* out);
};

// Tables that this build holds and this machine can run, best first; the scalar table is always the last.
std::span<const KernelTable* const> available_tables();
// Names of the tables that this build holds but this machine cannot run (for reports).
std::span<const char* const> unavailable_tables();
// The table of that name if available, else nullptr. An empty name is the best.
const KernelTable* find_table(std::string_view name);

}  // namespace rill::kernels
