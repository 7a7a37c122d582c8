#include "model/head.h"

#include <algorithm>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "base/thread_pool.h"
#include "model/product_tiles.h"

namespace rill::model {
namespace {

constexpr std::size_t kTilesPerThread = 8;  // of the few rows that a mask leaves

struct PreparedHidden {
  Buffer bytes;
  ActivationView view;
};

Result<PreparedHidden> prepare(const LoadedModel& model, const float* hidden, std::size_t rows) {
  const std::size_t cols = model.config.embedding_length;
  const ActivationFormat format = model.head_activation_format();
  PreparedHidden prepared;
  RILL_ASSIGN(prepared.bytes, Buffer::allocate(rows * activation_row_bytes(format, cols)));
  if (!model.kernels->prepare_activations(format, hidden, cols, rows, cols, prepared.bytes.data())) {
    return make_error(ErrorCode::non_finite, "the hidden state is not finite");
  }
  prepared.view = {format, rows, cols, prepared.bytes.data()};
  return prepared;
}

}  // namespace

Result<void> head_logits(const LoadedModel& model, const float* hidden, std::size_t rows, std::span<float> logits) {
  const ScopedFloatMode float_mode;
  RILL_ASSIGN(const PreparedHidden prepared, prepare(model, hidden, rows));
  const PackedMatrix& head = model.weights.head;
  const ProductTiles tiles(head.groups(), rows * head.cols * kRowsPerGroup, model.pool->workers().width());
  model.pool->workers().run(tiles.count(), [&](std::size_t tile, std::size_t) noexcept {
    model.kernels->matmul(head, prepared.view, tiles.begin(tile), tiles.begin(tile + 1), logits.data(), head.rows);
  });
  return {};
}

Result<void> head_rows(const LoadedModel& model, const float* hidden, std::span<const Token> ids,
                       std::span<float> logits) {
  const ScopedFloatMode float_mode;
  RILL_ASSIGN(const PreparedHidden prepared, prepare(model, hidden, 1));
  const PackedMatrix& head = model.weights.head;

  std::vector<std::size_t> groups;
  for (const Token id : ids) {
    const std::size_t group = static_cast<std::size_t>(id) / kRowsPerGroup;
    if (groups.empty() || groups.back() != group) groups.push_back(group);
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());

  std::vector<float> values(groups.size() * kRowsPerGroup);
  const std::size_t tiles = std::min(groups.size(), kTilesPerThread * model.pool->workers().width());
  model.pool->workers().run(tiles, [&](std::size_t tile, std::size_t) noexcept {
    for (std::size_t i = groups.size() * tile / tiles; i < groups.size() * (tile + 1) / tiles; ++i) {
      PackedMatrix one = head;
      one.data += groups[i] * head.group_bytes;
      one.rows = std::min(kRowsPerGroup, head.rows - groups[i] * kRowsPerGroup);
      model.kernels->matmul(one, prepared.view, 0, 1, values.data() + i * kRowsPerGroup, kRowsPerGroup);
    }
  });
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::size_t id = static_cast<std::size_t>(ids[i]);
    const auto group = std::lower_bound(groups.begin(), groups.end(), id / kRowsPerGroup);
    logits[i] = values[static_cast<std::size_t>(group - groups.begin()) * kRowsPerGroup + id % kRowsPerGroup];
  }
  return {};
}

}  // namespace rill::model
