// Attention of a pass: tasks, cut by span where they are long, and the merging of what spans leave.
#include <algorithm>

#include "base/error.h"
#include "model/forward.h"
#include "model/product_tiles.h"

namespace rill::model {
namespace {

constexpr std::size_t kTasksPerThread = 4;  // at least, where tasks of several spans are cut

}  // namespace

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
