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
    rotate_heads(q_ + row * config.query_length(), config.heads, layer.query_norm, layer_index,
                 compacted_ ? kept_[row].row : row);
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

}  // namespace rill::model
