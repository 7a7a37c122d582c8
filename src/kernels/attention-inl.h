// Keys and values: storing a token, and attention of a few query rows over one span of 256 positions.
//
// Layout of one head in a page (tensor/kv_layout.h): keys [dim][16 tokens] and values [16 tokens][dim] as f32, f16 or
// int8; q8_0 has the f16 scales behind the integers, [dim / 32][16 tokens] for both. A q8_0 block of 32 values with
// largest magnitude amax stores d = f16(amax / 127) and q = round(x / d) within [-127, 127]; it is read as the float q
// * d.
//
// Order of operations, for one query row and one span:
//   score[t] = (fma over d ascending of q[d] * k[t][d]) * scale, then softcap; m = the largest visible score
//   w[t] = exp(score[t] - m); sum = 16 accumulators by t mod 16, t ascending, then the tree of sum_lanes
//   accumulator[d] = fma over visible t ascending of w[t] * v[t][d]
// Rows are computed in tiles that share each load of K and V; nothing of that reaches the result.
#pragma once

#include <algorithm>

#include "kernels/exp-inl.h"
#include "kernels/kernel_table.h"
#include "kernels/ops-inl.h"
#include "kernels/vector-inl.h"

RILL_BEFORE_NAMESPACE;
namespace rill::kernels::RILL_NAMESPACE {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
inline constexpr std::size_t kQ8Block = 32;

// Query rows in a tile, and accumulators of F32x16 that the registers hold.
#if RILL_TARGET == RILL_SCALAR
inline constexpr int kTileRows = 1, kAccumulators = 1;
#elif RILL_TARGET == RILL_SSE4
inline constexpr int kTileRows = 2, kAccumulators = 2;
#elif RILL_TARGET == RILL_AVX2
inline constexpr int kTileRows = 6, kAccumulators = 6;
#elif RILL_TARGET == RILL_AVX512
inline constexpr int kTileRows = 12, kAccumulators = 16;
#elif RILL_TARGET == RILL_NEON
inline constexpr int kTileRows = 4, kAccumulators = 5;
#else
#error "RILL_TARGET is not a known target"
#endif
// Vectors of values that a tile of so many rows works on at once: enough independent sums to fill the pipelines when rows are
// few. They are neighbours in memory.
constexpr int columns_for(int rows) { return rows * 4 <= kAccumulators ? 4 : rows * 2 <= kAccumulators ? 2 : 1; }
// The same for pages of keys. Two to four rows, the heads of a group in decode, wait for memory, which is fastest when pages
// are read one after the other.
constexpr int pages_for(int rows) { return rows >= 2 && rows <= 4 ? 1 : columns_for(rows); }

// The rows of one tile: row r's weights (first its scores) stand at weights + r * kTokensPerSpan.
struct Tile {
  const float* q[kTileRows];
  float* accumulator[kTileRows];
  std::size_t begin[kTileRows], end[kTileRows];  // the keys that row r sees, in tokens of the span
  float* weights;
  std::size_t page_begin, page_end;  // that any row sees
  std::size_t page_bytes;            // of keys or values
};

// Tiles of few rows, as in decode, wait for memory. They fetch what they will read so far ahead, a line as they read a
// line, into the second-level cache: the processor's own prefetching begins anew where keys end and values begin. Into
// the first-level cache, or in bursts, it is slower than none.
constexpr bool fetches_ahead(KvType type, int rows) { return type != KvType::f32 && rows < kTileRows; }
inline constexpr std::size_t kFetchAhead = 8 * 1024;

// The page to fetch while page `page` is read: of keys, which values follow, or of values, which the next span's keys
// follow. The page itself if there is none.
RILL_INLINE const std::byte* page_ahead(const SpanAttention& task, const Tile& tile, std::size_t page, bool keys) {
  const std::size_t ahead = page + std::max<std::size_t>(1, kFetchAhead / tile.page_bytes);
  const std::size_t own_offset = keys ? task.k_offset : task.v_offset;
  if (ahead < tile.page_end) return task.pages[ahead] + own_offset;
  const std::size_t behind = ahead - tile.page_end;
  if (keys && tile.page_begin + behind < tile.page_end) return task.pages[tile.page_begin + behind] + task.v_offset;
  const bool next = !keys && task.next_pages != nullptr && behind < kPagesPerSpan && task.next_pages[behind] != nullptr;
  return next ? task.next_pages[behind] + task.k_offset : task.pages[page] + own_offset;
}

template <KvType kType>
inline constexpr std::size_t kElementBytes = kType == KvType::f32   ? 4
                                             : kType == KvType::f16 ? 2
                                                                    : 1;

template <KvType kType>
RILL_INLINE F32x16 load_elements(const std::byte* p, std::size_t index) {
  if constexpr (kType == KvType::f32) {
    return load(reinterpret_cast<const float*>(p) + index);
  } else if constexpr (kType == KvType::f16) {
    return load_f16(reinterpret_cast<const std::uint16_t*>(p) + index);
  } else {
    return to_float(load_i8(reinterpret_cast<const std::int8_t*>(p) + index));
  }
}

// The q8_0 scales of the 16 tokens for the block that holds dimension d.
RILL_INLINE F32x16 load_scales(const std::byte* head, std::size_t head_dim, std::size_t d) {
  return load_f16(reinterpret_cast<const std::uint16_t*>(head + 16 * head_dim) + d / kQ8Block * 16);
}

// More rows than that have no register each for the address of their query: the queries of a tile are copied side by
// side, [dimension / 32][row][32], so many dimensions at a time.
inline constexpr int kFewRows = 4;
inline constexpr std::size_t kPackedDims = 256;

template <int kRows>
static void pack_queries(const Tile& tile, std::size_t begin, std::size_t end, float* packed) {
  for (std::size_t block = begin; block < end; block += kQ8Block) {
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t d = block; d < block + kQ8Block; d += kLanes, packed += kLanes) {
        if (d < end) store(load_part(tile.q[r] + d, end - d), packed);
      }
    }
  }
}

// Adds the products of dimensions [begin, end) to the raw scores of kRows rows against pages [page, page_end) of keys,
// kPages at a time; returns the first page that is left.
template <KvType kType, int kRows, int kPages>
RILL_NOINLINE std::size_t score_pages(const SpanAttention& task, std::size_t head_dim, const Tile& tile,
                                      const float* packed, std::size_t begin, std::size_t end, std::size_t page,
                                      std::size_t page_end) {
  float* out = tile.weights + page * 16;
  for (; page + kPages <= page_end; page += kPages, out += kPages * 16) {
    const std::byte* keys[kPages];
    repeat<kPages>([&](auto p) RILL_LAMBDA { keys[p] = task.pages[page + p] + task.k_offset; });
    [[maybe_unused]] const std::byte* next[kPages];
    if constexpr (fetches_ahead(kType, kRows))
      repeat<kPages>([&](auto p) RILL_LAMBDA { next[p] = page_ahead(task, tile, page + p, true); });
    F32x16 score[kRows][kPages];
    repeat<kRows>([&](auto r) RILL_LAMBDA {
      repeat<kPages>(
          [&](auto p) RILL_LAMBDA { score[r][p] = begin == 0 ? set(0.0f) : load(out + r * kTokensPerSpan + p * 16); });
    });
    for (std::size_t block = begin; block < end; block += kQ8Block) {
      [[maybe_unused]] F32x16 scale[kPages];
      if constexpr (kType == KvType::q8_0) {
        repeat<kPages>([&](auto p) RILL_LAMBDA { scale[p] = load_scales(keys[p], head_dim, block); });
      }
      [[maybe_unused]] const float* q = packed + (block - begin) * kRows;
      const std::size_t block_end = std::min(block + kQ8Block, end);
      for (std::size_t d = block; d < block_end; ++d, ++q) {
        F32x16 key[kPages];
        repeat<kPages>([&](auto p) RILL_LAMBDA {
          key[p] = load_elements<kType>(keys[p], 16 * d);
          if constexpr (fetches_ahead(kType, kRows)) prefetch_far(next[p] + 16 * kElementBytes<kType> * d);
          if constexpr (kType == KvType::q8_0) key[p] = mul(key[p], scale[p]);
        });
        repeat<kRows>([&](auto r) RILL_LAMBDA {
          const F32x16 query = set(kRows > kFewRows ? q[r * kQ8Block] : tile.q[r][d]);
          repeat<kPages>([&](auto p) RILL_LAMBDA { score[r][p] = mul_add(query, key[p], score[r][p]); });
        });
      }
    }
    repeat<kRows>([&](auto r) RILL_LAMBDA {
      repeat<kPages>([&](auto p) RILL_LAMBDA { store(score[r][p], out + r * kTokensPerSpan + p * 16); });
    });
  }
  return page;
}

// Raw scores of the tile's rows.
template <KvType kType, int kRows>
static void score_all_pages(const SpanAttention& task, std::size_t head_dim, const Tile& tile) {
  constexpr int kPages = pages_for(kRows);
  constexpr bool kPacks = kRows > kFewRows;
  alignas(64) float packed[kPacks ? kPackedDims * kRows : 1];
  for (std::size_t begin = 0, end; begin < head_dim; begin = end) {
    end = kPacks ? std::min(begin + kPackedDims, head_dim) : head_dim;
    if constexpr (kPacks) pack_queries<kRows>(tile, begin, end, packed);
    const std::size_t rest =
        score_pages<kType, kRows, kPages>(task, head_dim, tile, packed, begin, end, tile.page_begin, tile.page_end);
    if constexpr (kPages > 1)
      score_pages<kType, kRows, 1>(task, head_dim, tile, packed, begin, end, rest, tile.page_end);
  }
}

// Turns the raw scores of the visible tokens [begin, end) into weights; gives the maximum and the sum.
static void soften(const SpanAttention& task, std::size_t begin, std::size_t end, float* weights, float& max_out,
                   float& sum_out) {
  const F32x16 minus_infinity = set(kMinusInfinity), scale = set(task.scale);
  const float softcap = task.softcap;
  const std::size_t first = begin / 16 * 16;
  F32x16 highest = minus_infinity;
  for (std::size_t t = first; t < end; t += 16) {
    F32x16 score = mul(load(weights + t), scale);
    if (softcap > 0.0f) score = mul(tanh(div(score, set(softcap))), set(softcap));
    if (t < begin || end - t < kLanes) {
      const Mask16 visible = lane_range(t < begin ? begin - t : 0, std::min(end - t, kLanes));
      score = select(visible, score, minus_infinity);
    }
    store(score, weights + t);
    highest = max(score, highest);
  }
  max_out = greatest_lane(highest) + 0.0f;  // never -0
  // Where every visible score is -inf the weights are 0, as if nothing was seen, and not exp(-inf + inf).
  const F32x16 base = set(max_out == kMinusInfinity ? 0.0f : max_out);
  F32x16 sum = set(0.0f);
  for (std::size_t t = first; t < end; t += 16) {
    const F32x16 weight = exp(sub(load(weights + t), base));
    store(weight, weights + t);
    sum = add(sum, weight);
  }
  sum_out = sum_lanes(sum);
}

// Adds the weighted values of tokens [begin, end) to rows [first_row, first_row + kRows), dimensions [dim, dim + 16 *
// kChunks).
template <KvType kType, int kRows, int kChunks>
RILL_NOINLINE void add_values(const SpanAttention& task, std::size_t head_dim, const Tile& tile, std::size_t first_row,
                              std::size_t dim, std::size_t begin, std::size_t end) {
  F32x16 sum[kRows][kChunks];
  repeat<kRows>([&](auto r) RILL_LAMBDA {
    const float* from = tile.accumulator[first_row + r] + dim;
    repeat<kChunks>([&](auto c) RILL_LAMBDA { sum[r][c] = load(from + c * 16); });
  });
  const float* weights = tile.weights + first_row * kTokensPerSpan;
  for (std::size_t t = begin; t < end;) {
    const std::byte* values = task.pages[t / 16] + task.v_offset;
    const std::size_t page_end = std::min(t / 16 * 16 + 16, end);
    const bool fetches = fetches_ahead(kType, kRows) && dim == 0;
    const std::byte* const next = fetches ? page_ahead(task, tile, t / 16, false) : nullptr;
    [[maybe_unused]] alignas(64) float scale[kChunks][16];
    if constexpr (kType == KvType::q8_0) {
      repeat<kChunks>([&](auto c) RILL_LAMBDA { store(load_scales(values, head_dim, dim + c * 16), scale[c]); });
    }
    for (; t < page_end; ++t) {
      if (fetches) {
        const std::size_t row_bytes = kElementBytes<kType> * head_dim;
        for (std::size_t i = 0; i < row_bytes; i += 64) prefetch_far(next + t % 16 * row_bytes + i);
      }
      F32x16 value[kChunks];
      repeat<kChunks>([&](auto c) RILL_LAMBDA {
        value[c] = load_elements<kType>(values, t % 16 * head_dim + dim + c * 16);
        if constexpr (kType == KvType::q8_0) value[c] = mul(value[c], set(scale[c][t % 16]));
      });
      repeat<kRows>([&](auto r) RILL_LAMBDA {
        const F32x16 weight = set(weights[r * kTokensPerSpan + t]);
        repeat<kChunks>([&](auto c) RILL_LAMBDA { sum[r][c] = mul_add(weight, value[c], sum[r][c]); });
      });
    }
  }
  repeat<kRows>([&](auto r) RILL_LAMBDA {
    float* to = tile.accumulator[first_row + r] + dim;
    repeat<kChunks>([&](auto c) RILL_LAMBDA { store(sum[r][c], to + c * 16); });
  });
}

// The same for the last head_dim % 16 dimensions of one row; never q8_0.
template <KvType kType>
static void add_last_values(const SpanAttention& task, std::size_t head_dim, const Tile& tile, std::size_t row,
                            std::size_t dim, std::size_t begin, std::size_t end) {
  constexpr std::size_t kBytes = kType == KvType::f32 ? 4 : 2;
  const std::size_t n = head_dim - dim;
  F32x16 sum = load_first(tile.accumulator[row] + dim, n);
  alignas(64) std::byte buffer[16 * kBytes] = {};
  for (std::size_t t = begin; t < end; ++t) {
    std::memcpy(buffer, task.pages[t / 16] + task.v_offset + (t % 16 * head_dim + dim) * kBytes, n * kBytes);
    sum = mul_add(set(tile.weights[row * kTokensPerSpan + t]), load_elements<kType>(buffer, 0), sum);
  }
  store_first(sum, tile.accumulator[row] + dim, n);
}

template <KvType kType, int kRows>
static void add_all_values(const SpanAttention& task, std::size_t head_dim, const Tile& tile, std::size_t first_row,
                           std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  constexpr int kChunks = columns_for(kRows);
  std::size_t dim = 0;
  for (; dim + 16 * kChunks <= head_dim; dim += 16 * kChunks) {
    add_values<kType, kRows, kChunks>(task, head_dim, tile, first_row, dim, begin, end);
  }
  for (; dim + 16 <= head_dim; dim += 16) {
    add_values<kType, kRows, 1>(task, head_dim, tile, first_row, dim, begin, end);
  }
  if constexpr (kType != KvType::q8_0) {
    if (dim == head_dim) return;
    for (std::size_t r = first_row; r < first_row + kRows; ++r) {
      add_last_values<kType>(task, head_dim, tile, r, dim, begin, end);
    }
  }
}

// Rows [row, row + kRows) of the task, counted over queries and heads of the group. Each sees at least one key.
template <KvType kType, int kRows>
static void attend_tile(const SpanAttention& task, std::size_t head_dim, std::size_t row, Tile& tile) {
  const std::uint64_t origin = task.span * kTokensPerSpan;
  for (std::size_t r = 0; r < kRows; ++r) {
    const std::size_t query = (row + r) / task.group;
    const std::uint64_t next = task.first_position + query + 1;
    const std::uint64_t oldest = task.window != 0 && next > task.window ? next - task.window : 0;
    tile.q[r] = task.q + query * task.q_stride + (row + r) % task.group * head_dim;
    tile.accumulator[r] = task.accumulator + (row + r) * head_dim;
    tile.begin[r] = oldest > origin ? static_cast<std::size_t>(oldest - origin) : 0;
    tile.end[r] = static_cast<std::size_t>(std::min<std::uint64_t>(next - origin, kTokensPerSpan));
  }
  // Positions ascend with the rows, so row 0 has the lowest begin and end.
  tile.page_begin = tile.begin[0] / 16;
  tile.page_end = (tile.end[kRows - 1] + 15) / 16;
  score_all_pages<kType, kRows>(task, head_dim, tile);
  for (std::size_t r = 0; r < kRows; ++r) {
    soften(task, tile.begin[r], tile.end[r], tile.weights + r * kTokensPerSpan, task.max[row + r], task.sum[row + r]);
  }

  // Values of the tokens that every row sees are loaded once; the ragged ends belong to single rows.
  const std::size_t common_begin = tile.begin[kRows - 1], common_end = std::max(common_begin, tile.end[0]);
  std::fill_n(tile.accumulator[0], kRows * head_dim, 0.0f);
  for (std::size_t r = 0; r < kRows; ++r) {
    add_all_values<kType, 1>(task, head_dim, tile, r, tile.begin[r], std::min(common_begin, tile.end[r]));
  }
  add_all_values<kType, kRows>(task, head_dim, tile, 0, common_begin, common_end);
  for (std::size_t r = 0; r < kRows; ++r) {
    add_all_values<kType, 1>(task, head_dim, tile, r, std::max(common_end, tile.begin[r]), tile.end[r]);
  }
}

constexpr int smaller_tile(int rows) { return rows == 12 ? 8 : rows > 4 ? rows - 2 : rows - 1; }

// The largest tile that `rows` fill; returns its rows.
template <KvType kType, int kRows>
static std::size_t attend_rows(const SpanAttention& task, std::size_t head_dim, std::size_t row, std::size_t rows,
                               Tile& tile) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return attend_rows<kType, smaller_tile(kRows)>(task, head_dim, row, rows, tile);
  }
  attend_tile<kType, kRows>(task, head_dim, row, tile);
  return kRows;
}

static void see_nothing(const SpanAttention& task, std::size_t head_dim, std::size_t begin, std::size_t end) {
  std::fill(task.max + begin, task.max + end, kMinusInfinity);
  std::fill(task.sum + begin, task.sum + end, 0.0f);
  std::fill(task.accumulator + begin * head_dim, task.accumulator + end * head_dim, 0.0f);
}

template <KvType kType>
static void attend(const SpanAttention& task, const KvLayout& layout) {
  const std::size_t head_dim = layout.head_dim;
  const std::uint64_t origin = task.span * kTokensPerSpan;
  // Rows that see a key of this span: from the first at or past its start to the last whose window reaches back to it.
  const std::uint64_t rows = task.query_rows;
  const std::uint64_t skipped = origin > task.first_position ? std::min(origin - task.first_position, rows) : 0;
  std::uint64_t seeing = rows;
  if (task.window != 0) {
    const std::uint64_t last = origin + kTokensPerSpan + task.window - 1;  // the first position that is too far
    seeing = std::max(skipped, last > task.first_position ? std::min(last - task.first_position, rows) : 0);
  }
  const auto begin = static_cast<std::size_t>(skipped) * task.group,
             end = static_cast<std::size_t>(seeing) * task.group;
  see_nothing(task, head_dim, 0, begin);
  see_nothing(task, head_dim, end, task.query_rows * task.group);
  alignas(64) float weights[kTileRows * kTokensPerSpan];
  Tile tile;
  tile.weights = weights;
  tile.page_bytes = layout.head_bytes();
  for (std::size_t row = begin; row < end;) row += attend_rows<kType, kTileRows>(task, head_dim, row, end - row, tile);
}

static void attend_span(const KvLayout& layout, const SpanAttention& task) {
  switch (layout.type) {
    case KvType::f32:
      return attend<KvType::f32>(task, layout);
    case KvType::f16:
      return attend<KvType::f16>(task, layout);
    case KvType::q8_0:
      return attend<KvType::q8_0>(task, layout);
  }
}

}  // namespace rill::kernels::RILL_NAMESPACE
RILL_AFTER_NAMESPACE;
