#include "model/forward.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/float_mode.h"
#include "kernels/math.h"
#include "model/product_tiles.h"

namespace rill::model {
namespace {

constexpr std::size_t kQueryTile = 16;          // query rows of one attention task
constexpr std::size_t kInlineWork = 4096;       // nanoseconds or so below which row-wise work is not worth a synchronisation
constexpr std::size_t kTasksPerThread = 4;      // of attention, before they are cut by span

// Of the results of one task: two of them, each with its maxima, sums and accumulators.
std::size_t partial_floats(const Config& config) { return 2 * kQueryTile * config.group() * (config.head_dim + 2); }

}  // namespace

Forward::Forward(const LoadedModel& model, std::size_t max_rows)
    : model_(&model),
      max_rows_(max_rows),
      kv_places_(kv_places(model.config)) {}

Result<Forward> Forward::create(const LoadedModel& model, std::size_t max_rows) {
  Forward forward(model, max_rows);
  RILL_TRY(forward.allocate());
  return forward;
}

Result<void> Forward::allocate() {
  RILL_ASSIGN(scratch_, Buffer::allocate(scratch_bytes(std::min(kOwnRows, max_rows_))));
  positions_.reserve(max_rows_);
  tokens_.reserve(max_rows_);
  part_of_row_.reserve(max_rows_);
  return {};
}

std::size_t Forward::cut(const Config& config, std::size_t threads, std::size_t rows, std::byte* memory,
                         Forward* forward) {
  std::size_t used = 0;
  const auto piece = [&]<typename T>(T* Forward::*place, std::size_t bytes) {
    if (forward != nullptr) forward->*place = reinterpret_cast<T*>(memory + used);
    used += (bytes + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
  };
  const auto floats = [&](float* Forward::*place, std::size_t count) { piece(place, count * sizeof(float)); };
  floats(&Forward::x_, rows * config.embedding_length);
  floats(&Forward::normed_, rows * config.embedding_length);
  floats(&Forward::q_, rows * config.query_length());
  floats(&Forward::k_, rows * config.kv_length());
  floats(&Forward::v_, rows * config.kv_length());
  floats(&Forward::attended_, rows * config.query_length());
  floats(&Forward::gate_, rows * config.feed_forward_length);
  floats(&Forward::up_, rows * config.feed_forward_length);
  floats(&Forward::rope_, 2 * rows * config.rope_dimensions);
  const std::size_t widest = std::max({config.embedding_length, config.query_length(), config.feed_forward_length});
  piece(&Forward::prepared_, rows * (activation_row_bytes(ActivationFormat::f32, widest) +
                                     activation_row_bytes(ActivationFormat::q16, widest)) + Buffer::kAlignment);
  floats(&Forward::partial_, threads * partial_floats(config));
  return used;
}

std::size_t Forward::scratch_bytes(const Config& config, std::size_t threads, std::size_t rows) {
  return cut(config, threads, rows, nullptr, nullptr);
}

std::size_t Forward::scratch_bytes(std::size_t rows) const {
  return scratch_bytes(model_->config, model_->pool->threads(), rows);
}

void Forward::lay_out(std::byte* memory, std::size_t rows) {
  cut(model_->config, model_->pool->threads(), rows, memory, this);
  capacity_ = rows;
  partial_floats_ = partial_floats(model_->config);
}

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

Result<void> Forward::run(std::span<const Segment> segments, const StopToken& stop, const Progress& progress,
                          const BesideWork& beside) {
  std::size_t total = 0;
  for (const Segment& segment : segments) total += segment.tokens.size();
  const std::size_t rows = std::min(total, max_rows_);
  if (rows <= kOwnRows) {
    lay_out(scratch_.data(), std::min(kOwnRows, max_rows_));
    return run_chunks(segments, total, stop, progress, beside);
  }
  RILL_ASSIGN(Buffer borrowed, model_->scratch.take(scratch_bytes(rows)));
  lay_out(borrowed.data(), rows);
  Result<void> result = run_chunks(segments, total, stop, progress, beside);
  model_->scratch.give(std::move(borrowed));
  return result;
}

Result<void> Forward::run_chunks(std::span<const Segment> segments, std::size_t total, const StopToken& stop,
                                 const Progress& progress, BesideWork beside) {
  const ScopedFloatMode float_mode;
  std::size_t done = 0;
  std::size_t segment_index = 0;
  std::size_t offset = 0;
  std::size_t kept_before = 0;  // of the current segment
  while (done < total) {
    parts_.clear();
    kept_.clear();
    tokens_.clear();
    positions_.clear();
    part_of_row_.clear();
    rows_ = 0;
    compacted_ = false;
    while (segment_index < segments.size() && rows_ < max_rows_) {
      const Segment& segment = segments[segment_index];
      const std::size_t rows = std::min(max_rows_ - rows_, segment.tokens.size() - offset);
      part_of_row_.insert(part_of_row_.end(), rows, parts_.size());
      parts_.push_back({&segment, rows_, rows, segment.first_position + offset});
      for (std::size_t i = 0; i < rows; ++i) {
        tokens_.push_back(segment.tokens[offset + i]);
        positions_.push_back(segment.first_position + offset + i);
      }
      while (kept_before < segment.keep.size() && segment.keep[kept_before] < offset + rows) {
        kept_.push_back({rows_ + segment.keep[kept_before] - offset,
                         segment.hidden + kept_before * model_->config.embedding_length});
        ++kept_before;
      }
      RILL_TRY(segment.cache->extend_to(segment.first_position + offset + rows));
      rows_ += rows;
      offset += rows;
      if (offset == segment.tokens.size()) {
        ++segment_index;
        offset = 0;
        kept_before = 0;
      }
    }
    const std::size_t rows = rows_;
    RILL_TRY(run_chunk(stop, std::exchange(beside, {})));
    for (const Part& part : parts_) part.segment->cache->release_passed(part.first_position + part.rows);
    done += rows;
    if (progress) progress(done, total);
  }
  return {};
}

Result<void> Forward::run_chunk(const StopToken& stop, const BesideWork& beside) {
  // Sessions alternate between chunks, not between products.
  const Workers::Turn turn(model_->pool->workers(), rows_, beside);
  const Config& config = model_->config;
  embed_tokens();
  fill_rope_tables();
  for (std::size_t i = 0; i < config.layers; ++i) {
    if (stop.stop_requested()) return make_error(ErrorCode::cancelled, "stopped before layer {}", i);
    RILL_TRY(run_layer(i, i + 1 == config.layers));
    if (rows_ == 0) return {};
  }
  const auto& kernels = *model_->kernels;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const std::size_t row = compacted_ ? i : kept_[i].row;
    add_to_residual(row, model_->weights.layers.back().post_feed_forward_norm);
    kernels.rms_norm(x_ + row * config.embedding_length, model_->weights.output_norm, config.norm_epsilon,
                     config.embedding_length, kept_[i].hidden);
    if (!kernels.all_finite(kept_[i].hidden, config.embedding_length)) {
      return make_error(ErrorCode::non_finite, "the hidden state at position {} is not finite", positions_[kept_[i].row]);
    }
  }
  return {};
}

void Forward::embed_tokens() {
  const Config& config = model_->config;
  const std::size_t n = config.embedding_length;
  for_rows(rows_, n, [&](std::size_t row) noexcept {
    unpack_row(model_->weights.embedding, static_cast<std::size_t>(tokens_[row]), {x_ + row * n, n});
    if (config.embedding_scale != 1.0f) model_->kernels->scale(config.embedding_scale, n, x_ + row * n);
  });
}

void Forward::fill_rope_tables() {
  const std::size_t pairs = model_->config.rope_dimensions / 2;
  const bool sliding = model_->config.sliding_window != 0;
  for_rows(rows_, 16 * pairs, [&](std::size_t row) noexcept {
    float* global = rope_ + row * 2 * pairs;
    kernels::rope_table(model_->inverse_frequencies.data(), pairs, positions_[row], global, global + pairs);
    if (!sliding) return;
    float* local = rope_ + (capacity_ + row) * 2 * pairs;
    kernels::rope_table(model_->inverse_frequencies_sliding.data(), pairs, positions_[row], local, local + pairs);
  });
}

template <typename InputRow>
Result<void> Forward::multiply(std::span<const Product> products, std::size_t layer_index, std::size_t work_per_row,
                               InputRow&& input_row) {
  const auto& kernels = *model_->kernels;
  const std::size_t cols = products.front().weights->cols;

  std::array<ActivationView, 2> views;  // in the formats that the weights want
  std::array<std::byte*, 2> prepared;
  std::size_t formats = 0;
  std::byte* next = prepared_;
  for (const Product& product : products) {
    const ActivationFormat format = model_->activation_format(*product.weights);
    if ((formats > 0 && views[0].format == format) || (formats > 1 && views[1].format == format)) continue;
    prepared[formats] = next;
    views[formats++] = {format, rows_, cols, next};
    next += (rows_ * activation_row_bytes(format, cols) + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
  }
  std::atomic<bool> finite{true};
  for_rows(rows_, work_per_row, [&](std::size_t row) noexcept {
    const float* x = input_row(row);
    for (std::size_t i = 0; i < formats; ++i) {
      std::byte* const to = prepared[i] + row * activation_row_bytes(views[i].format, cols);
      if (!kernels.prepare_activations(views[i].format, x, cols, 1, cols, to)) finite.store(false, std::memory_order_relaxed);
    }
  });
  if (!finite) return make_error(ErrorCode::non_finite, "activations of layer {} are not finite", layer_index);

  std::size_t groups = 0;
  for (const Product& product : products) groups += product.weights->groups();
  const ProductTiles tiles(groups, rows_ * cols * kRowsPerGroup, model_->pool->workers().width());
  model_->pool->workers().run(tiles.count(), [&](std::size_t tile, std::size_t) noexcept {
    std::size_t begin = tiles.begin(tile), end = tiles.begin(tile + 1);
    for (const Product& product : products) {
      const std::size_t own = product.weights->groups();
      if (begin < own) {
        const bool first = views[0].format == model_->activation_format(*product.weights);
        kernels.matmul(*product.weights, views[first ? 0 : 1], begin, std::min(end, own), product.y, product.weights->rows);
      }
      begin -= std::min(begin, own);
      end -= std::min(end, own);
      if (end == 0) break;
    }
  });
  return {};
}

Result<void> Forward::run_layer(std::size_t layer_index, bool last) {
  const Config& config = model_->config;
  const Layer& layer = model_->weights.layers[layer_index];
  const auto& kernels = *model_->kernels;
  const std::size_t n = config.embedding_length;
  const std::size_t f = config.feed_forward_length;

  const auto attention_input = [&](std::size_t row) noexcept {
    if (layer_index > 0) add_to_residual(row, model_->weights.layers[layer_index - 1].post_feed_forward_norm);
    return normalize(row, layer.attention_norm);
  };
  const auto rotate_query = [&](std::size_t row) noexcept {
    rotate_heads(q_ + row * config.query_length(), config.heads, layer.query_norm, layer_index, compacted_ ? kept_[row].row : row);
  };
  // After the last layer only kept rows matter: the others leave their keys and values, and no more.
  const bool prune = last && kept_.size() < rows_;
  if (prune) {
    RILL_TRY(multiply(std::array<Product, 2>{{{&layer.key, k_}, {&layer.value, v_}}}, layer_index, 2 * n, attention_input));
    for_rows(rows_, 4 * config.kv_length(), [&](std::size_t row) noexcept { store_keys_and_values(layer_index, row); });
    drop_rows_not_kept();
    if (rows_ == 0) return {};
    RILL_TRY(multiply(std::array<Product, 1>{{{&layer.query, q_}}}, layer_index, n,
                      [&](std::size_t row) noexcept { return normed_ + row * n; }));
    for_rows(rows_, config.query_length(), rotate_query);
  } else {
    RILL_TRY(multiply(std::array<Product, 3>{{{&layer.query, q_}, {&layer.key, k_}, {&layer.value, v_}}}, layer_index, 2 * n,
                      attention_input));
    for_rows(rows_, config.query_length() + 4 * config.kv_length(), [&](std::size_t row) noexcept {
      store_keys_and_values(layer_index, row);
      rotate_query(row);
    });
  }
  RILL_TRY(attend(layer_index));
  RILL_TRY(multiply(std::array<Product, 1>{{{&layer.output, normed_}}}, layer_index, config.query_length(),
                    [&](std::size_t row) noexcept { return attended_ + row * config.query_length(); }));

  RILL_TRY(multiply(std::array<Product, 2>{{{&layer.gate, gate_}, {&layer.up, up_}}}, layer_index, 2 * n,
                    [&](std::size_t row) noexcept {
                      add_to_residual(row, layer.post_attention_norm);
                      return normalize(row, layer.feed_forward_norm);
                    }));
  const auto activate = config.gelu ? kernels.gelu_mul : kernels.silu_mul;
  return multiply(std::array<Product, 1>{{{&layer.down, normed_}}}, layer_index, 2 * f, [&](std::size_t row) noexcept {
    float* gate = gate_ + row * f;
    activate(gate, up_ + row * f, f, gate);
    return gate;
  });
}

// The row's product of the last projection, normalised where the architecture says so, joins the residual stream.
void Forward::add_to_residual(std::size_t row, const float* post_norm) noexcept {
  const std::size_t n = model_->config.embedding_length;
  float* out = normed_ + row * n;
  if (post_norm != nullptr) model_->kernels->rms_norm(out, post_norm, model_->config.norm_epsilon, n, out);
  model_->kernels->add(out, n, x_ + row * n);
}

const float* Forward::normalize(std::size_t row, const float* weight) noexcept {
  const std::size_t n = model_->config.embedding_length;
  float* out = normed_ + row * n;
  model_->kernels->rms_norm(x_ + row * n, weight, model_->config.norm_epsilon, n, out);
  return out;
}

// Normalises each head if there is a weight for that, and turns all of them to the position of a row of the chunk.
void Forward::rotate_heads(float* x, std::size_t heads, const float* norm, std::size_t layer_index, std::size_t row) noexcept {
  const Config& config = model_->config;
  if (norm != nullptr) {
    for (std::size_t head = 0; head < heads; ++head) {
      float* one = x + head * config.head_dim;
      model_->kernels->rms_norm(one, norm, config.norm_epsilon, config.head_dim, one);
    }
  }
  const std::size_t pairs = config.rope_dimensions / 2;
  const float* cosine = rope_ + ((config.sliding[layer_index] ? capacity_ : 0) + row) * 2 * pairs;
  model_->kernels->rope(x, heads, config.head_dim, cosine, cosine + pairs, pairs, config.rope_neighbours);
}

void Forward::store_keys_and_values(std::size_t layer_index, std::size_t row) noexcept {
  const Config& config = model_->config;
  const std::size_t n = config.kv_length();
  rotate_heads(k_ + row * n, config.kv_heads, model_->weights.layers[layer_index].key_norm, layer_index, row);
  const KvPlace place = kv_places_[layer_index];
  const kv::SequenceCache& cache = *parts_[part_of_row_[row]].segment->cache;
  const KvLayout& layout = cache.pool().groups()[place.group].layout;
  std::byte* const page = cache.page_table(place.group)[positions_[row] / kTokensPerPage];
  model_->kernels->store_kv(layout, k_ + row * n, v_ + row * n, page + place.layer * layout.layer_stride(),
                            positions_[row] % kTokensPerPage);
}

// Moves the rows of the residual stream and of the normed input that are kept to the front.
void Forward::drop_rows_not_kept() {
  const std::size_t n = model_->config.embedding_length;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i].row == i) continue;
    std::memcpy(x_ + i * n, x_ + kept_[i].row * n, n * sizeof(float));
    std::memcpy(normed_ + i * n, normed_ + kept_[i].row * n, n * sizeof(float));
  }
  rows_ = kept_.size();
  compacted_ = true;
}

Result<void> Forward::attend(std::size_t layer_index) {
  const Config& config = model_->config;
  const std::uint64_t window = config.sliding[layer_index] ? config.sliding_window : 0;
  tasks_.clear();
  const auto add_tasks = [&](const Part& part, std::size_t first_row, std::size_t rows, std::uint64_t first_position) {
    const std::uint64_t lowest = window == 0 || first_position < window ? 0 : first_position - window + 1;
    const std::uint64_t span_begin = lowest / kTokensPerSpan;
    const std::uint64_t span_end = (first_position + rows - 1) / kTokensPerSpan + 1;
    for (std::size_t head = 0; head < config.kv_heads; ++head) {
      tasks_.push_back({&part, first_row, rows, first_position, head, span_begin, span_end});
    }
  };
  if (compacted_) {
    std::size_t part_index = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      while (kept_[i].row >= parts_[part_index].first_row + parts_[part_index].rows) ++part_index;
      add_tasks(parts_[part_index], i, 1, positions_[kept_[i].row]);
    }
  } else {
    for (const Part& part : parts_) {
      for (std::size_t i = 0; i < part.rows; i += kQueryTile) {
        add_tasks(part, part.first_row + i, std::min(kQueryTile, part.rows - i), part.first_position + i);
      }
    }
  }
  RILL_ASSIGN(const bool split, split_long_tasks());
  const KvPlace place = kv_places_[layer_index];
  const NeighbouringTiles order(tasks_.size(), model_->pool->workers().width());
  model_->pool->workers().run(tasks_.size(), [&](std::size_t tile, std::size_t thread) noexcept {
    attend_task(tasks_[order[tile]], place, window, thread);
  });
  if (split) merge_split_tasks();
  return {};
}

// Tasks that are long beside the others are cut by span, so that all threads have work; the merge gives the same bits.
Result<bool> Forward::split_long_tasks() {
  const std::size_t width = model_->pool->workers().width();
  if (width == 1) return false;
  const auto spans = [](const AttentionTask& task) { return static_cast<std::size_t>(task.span_end - task.span_begin); };
  std::size_t work = 0;
  for (const AttentionTask& task : tasks_) work += task.rows * spans(task);
  const std::size_t longest = work / (width * kTasksPerThread);
  const auto is_long = [&](const AttentionTask& task) { return spans(task) > 1 && task.rows * spans(task) > longest; };
  std::size_t floats = 0;
  for (const AttentionTask& task : tasks_) floats += is_long(task) ? spans(task) * span_floats(task) : 0;
  if (floats == 0) return false;
  if (split_.size() < floats * sizeof(float)) {
    RILL_ASSIGN(split_, Buffer::allocate(2 * floats * sizeof(float)));
  }
  whole_tasks_.swap(tasks_);
  tasks_.clear();
  float* result = reinterpret_cast<float*>(split_.data());
  for (AttentionTask& whole : whole_tasks_) {
    if (!is_long(whole)) {
      tasks_.push_back(whole);
      continue;
    }
    whole.split = result;
    for (std::uint64_t span = whole.span_begin; span < whole.span_end; ++span) {
      AttentionTask piece = whole;
      piece.span_begin = span;
      piece.span_end = span + 1;
      piece.split = result;
      tasks_.push_back(piece);
      result += span_floats(whole);
    }
  }
  return true;
}

// Of one task and span.
std::size_t Forward::span_floats(const AttentionTask& task) const {
  return task.rows * model_->config.group() * (model_->config.head_dim + 2);
}

Forward::SpanResult Forward::span_result(float* base, std::size_t rows) const {
  return {base, base + rows, base + 2 * rows};
}

void Forward::attend_task(const AttentionTask& task, const KvPlace& place, std::uint64_t window,
                          std::size_t thread) const noexcept {
  const Config& config = model_->config;
  const auto& kernels = *model_->kernels;
  const std::size_t rows = task.rows * config.group();
  float* scratch = partial_ + thread * partial_floats_;
  const SpanResult running = span_result(task.split != nullptr ? task.split : scratch, rows);
  const SpanResult one = span_result(scratch + partial_floats_ / 2, rows);
  const kv::SequenceCache& cache = *task.part->segment->cache;
  const std::span<std::byte* const> pages = cache.page_table(place.group);
  const KvLayout& layout = cache.pool().groups()[place.group].layout;
  const std::size_t layer_offset = place.layer * layout.layer_stride();

  kernels::SpanAttention span;
  span.q = q_ + task.first_row * config.query_length() + task.kv_head * config.group() * config.head_dim;
  span.q_stride = config.query_length();
  span.query_rows = task.rows;
  span.group = config.group();
  span.first_position = task.first_position;
  span.window = window;
  span.scale = config.attention_scale;
  span.k_offset = layer_offset + layout.k_offset(task.kv_head);
  span.v_offset = layer_offset + layout.v_offset(task.kv_head);
  for (span.span = task.span_begin; span.span < task.span_end; ++span.span) {
    const std::byte* table[2 * kPagesPerSpan] = {};  // this span's and the next one's
    const std::size_t first_page = static_cast<std::size_t>(span.span) * kPagesPerSpan;
    for (std::size_t i = 0; i < std::size(table) && first_page + i < pages.size(); ++i) table[i] = pages[first_page + i];
    span.pages = table;
    span.next_pages = table + kPagesPerSpan;
    const SpanResult& to = span.span == task.span_begin ? running : one;
    span.max = to.max;
    span.sum = to.sum;
    span.accumulator = to.accumulator;
    kernels.attend_span(layout, span);
    if (span.span == task.span_begin) continue;
    kernels.merge_span(rows, config.head_dim, one.max, one.sum, one.accumulator, running.max, running.sum, running.accumulator);
  }
  if (task.split == nullptr) finish(task, running);
}

void Forward::merge_split_tasks() {
  const Config& config = model_->config;
  std::erase_if(whole_tasks_, [](const AttentionTask& task) { return task.split == nullptr; });
  std::size_t floats = 0;
  for (const AttentionTask& whole : whole_tasks_) floats += (whole.span_end - whole.span_begin) * span_floats(whole);
  for_rows(whole_tasks_.size(), floats / 16 / whole_tasks_.size(), [&](std::size_t i) noexcept {
    const AttentionTask& whole = whole_tasks_[i];
    const std::size_t rows = whole.rows * config.group();
    const SpanResult running = span_result(whole.split, rows);
    float* next = whole.split;
    for (std::uint64_t span = whole.span_begin + 1; span < whole.span_end; ++span) {
      next += span_floats(whole);
      const SpanResult one = span_result(next, rows);
      model_->kernels->merge_span(rows, config.head_dim, one.max, one.sum, one.accumulator, running.max, running.sum,
                                  running.accumulator);
    }
    finish(whole, running);
  });
}

void Forward::finish(const AttentionTask& task, const SpanResult& result) const noexcept {
  const Config& config = model_->config;
  const std::size_t group = config.group();
  for (std::size_t i = 0; i < task.rows; ++i) {
    float* out = attended_ + (task.first_row + i) * config.query_length() + task.kv_head * group * config.head_dim;
    model_->kernels->finish_attention(group, config.head_dim, result.sum + i * group,
                                      result.accumulator + i * group * config.head_dim, out);
  }
}

}  // namespace rill::model
