// The transformer's forward pass over a ragged batch: any number of sequences, any number of tokens each.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/thread_pool.h"
#include "kv/sequence_cache.h"
#include "model/kv_places.h"
#include "model/loaded_model.h"
#include "rill/stop_token.h"

namespace rill::model {

// Tokens of one sequence at consecutive positions. The cache must be inside a transaction that began at first_position.
struct Segment {
  std::span<const Token> tokens;
  std::uint64_t first_position = 0;
  kv::SequenceCache* cache = nullptr;
  std::span<const std::size_t> keep;  // indices into tokens whose hidden state is wanted, ascending
  float* hidden = nullptr;            // [keep.size(), embedding_length], after the output norm
};

// Scratch memory and the steps that use it. One thread at a time; the work itself is spread over the model's pool.
class Forward {
 public:
  // `max_rows`: most tokens of one pass; more are cut into chunks.
  static Result<Forward> create(const LoadedModel& model, std::size_t max_rows);

  // Rows of a pass whose scratch memory a Forward keeps; larger passes take the model's.
  static constexpr std::size_t kOwnRows = 32;
  // Of passes of up to `rows` rows, shared by `threads` threads.
  static std::size_t scratch_bytes(const Config& config, std::size_t threads, std::size_t rows);

  using Progress = std::function<void(std::size_t done, std::size_t total)>;
  // Writes keys and values into the caches' open transactions and hidden states to the segments. On error (non_finite with
  // its layer, cancelled, no page) what was written is unspecified, and the caller aborts the transactions. `beside` goes
  // with the first chunk.
  Result<void> run(std::span<const Segment> segments, const StopToken& stop, const Progress& progress,
                   const BesideWork& beside = {});

 private:
  static constexpr std::size_t kQueryTile = 16;     // query rows of one attention task
  static constexpr std::size_t kInlineWork = 4096;  // ns or so below which row-wise work is not worth a synchronisation

  // Rows of one segment that are in the current chunk.
  struct Part {
    const Segment* segment;
    std::size_t first_row;        // in the chunk
    std::size_t rows;
    std::uint64_t first_position;
  };
  // A row whose hidden state leaves the last layer.
  struct KeptRow {
    std::size_t row;
    float* hidden;
  };
  struct Product {
    const PackedMatrix* weights;
    float* y;
  };
  // Queries of one part against one KV head, over spans [span_begin, span_end).
  struct AttentionTask {
    const Part* part;
    std::size_t first_row;     // in the chunk
    std::size_t rows;
    std::uint64_t first_position;
    std::size_t kv_head;
    std::uint64_t span_begin;
    std::uint64_t span_end;
    float* split = nullptr;    // where the result of a task that is cut by span goes, else null
  };
  // What attention over some spans leaves for `rows` pairs of query row and head.
  struct SpanResult {
    float* max;          // [rows]
    float* sum;          // [rows]
    float* accumulator;  // [rows, head_dim]
  };

  Forward(const LoadedModel& model, std::size_t max_rows);
  Result<void> allocate();
  void lay_out(std::byte* memory, std::size_t rows);
  std::size_t scratch_bytes(std::size_t rows) const;
  // Cuts scratch memory into the pieces below, of `forward` if there is one; returns how many bytes they take.
  static std::size_t cut(const Config& config, std::size_t threads, std::size_t rows, std::byte* memory, Forward* forward);

  Result<void> run_chunks(std::span<const Segment> segments, std::size_t total, const StopToken& stop,
                          const Progress& progress, BesideWork beside);
  Result<void> run_chunk(const StopToken& stop, const BesideWork& beside);
  Result<void> run_layer(std::size_t layer_index, bool last);
  void embed_tokens();
  void fill_rope_tables();
  void add_to_residual(std::size_t row, const float* post_norm) noexcept;
  const float* normalize(std::size_t row, const float* weight) noexcept;
  void rotate_heads(float* x, std::size_t heads, const float* norm, std::size_t layer_index, std::size_t row) noexcept;
  void store_keys_and_values(std::size_t layer_index, std::size_t row) noexcept;
  void drop_rows_not_kept();
  Result<void> attend(std::size_t layer_index);
  Result<bool> split_long_tasks();
  void attend_task(const AttentionTask& task, const KvPlace& place, std::uint64_t window, std::size_t thread) const noexcept;
  void merge_split_tasks();
  std::size_t span_floats(const AttentionTask& task) const;
  // Of the results of one task: two of them, each with its maxima, sums and accumulators.
  static std::size_t partial_floats(const Config& config) {
    return 2 * kQueryTile * config.group() * (config.head_dim + 2);
  }
  SpanResult span_result(float* base, std::size_t rows) const;
  void finish(const AttentionTask& task, const SpanResult& result) const noexcept;

  // y = products of the rows x [cols] that input_row(row) computes and returns. Each is quantised where it was computed, so
  // that a product costs two synchronisations, or one where rows are few. Work is in nanoseconds, roughly.
  template <typename InputRow>
  Result<void> multiply(std::span<const Product> products, std::size_t layer_index, std::size_t work_per_row,
                        InputRow&& input_row);
  template <typename Body>
  void for_rows(std::size_t rows, std::size_t work_per_row, Body&& body);

  const LoadedModel* model_;
  std::size_t max_rows_;
  std::vector<KvPlace> kv_places_;  // [layers]
  Buffer scratch_;                  // for few rows
  std::size_t capacity_ = 0;        // rows that the memory in use is laid out for

  std::vector<Part> parts_;
  std::vector<KeptRow> kept_;
  std::vector<AttentionTask> tasks_;
  std::vector<AttentionTask> whole_tasks_;  // before they were cut by span
  std::size_t rows_ = 0;          // of the current chunk
  bool compacted_ = false;        // the last layer's rows are the kept ones only
  std::vector<std::uint64_t> positions_;  // [rows_]
  std::vector<Token> tokens_;             // [rows_]
  std::vector<std::size_t> part_of_row_;  // [rows_], indices into parts_

  float* x_ = nullptr;            // [rows, embedding] residual stream
  float* normed_ = nullptr;       // [rows, embedding]
  float* q_ = nullptr;            // [rows, query_length]
  float* k_ = nullptr;            // [rows, kv_length]
  float* v_ = nullptr;            // [rows, kv_length]
  float* attended_ = nullptr;     // [rows, query_length]
  float* gate_ = nullptr;         // [rows, feed_forward]
  float* up_ = nullptr;           // [rows, feed_forward]
  float* rope_ = nullptr;         // [2 kinds of layer][rows][cosines, sines][rope_dimensions / 2]
  std::byte* prepared_ = nullptr; // activations of one product, two formats at most
  float* partial_ = nullptr;      // per thread: span results of one task, then its running result
  std::size_t partial_floats_ = 0;
  Buffer split_;                  // results of tasks that are cut by span
};

template <typename Body>
void Forward::for_rows(std::size_t rows, std::size_t work_per_row, Body&& body) {
  if (rows * work_per_row <= kInlineWork) {
    for (std::size_t row = 0; row < rows; ++row) body(row);
    return;
  }
  const std::size_t per_tile = std::max<std::size_t>(1, kInlineWork / 4 / work_per_row);
  model_->pool->workers().run((rows + per_tile - 1) / per_tile, [&](std::size_t tile, std::size_t) noexcept {
    const std::size_t end = std::min(rows, (tile + 1) * per_tile);
    for (std::size_t row = tile * per_tile; row < end; ++row) body(row);
  });
}

}  // namespace rill::model
