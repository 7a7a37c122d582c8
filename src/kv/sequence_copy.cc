// The content of a SequenceCache as a row of bytes, and back: group by group, page by page, [layer][keys, values][head].
#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "kv/sequence_cache.h"

namespace rill::kv {
namespace {

// A head's keys or values in a page are runs of 16 slots, one for each token.
struct Runs {
  std::size_t count;
  std::size_t slot_bytes;
};

// Calls visit(run of 16 slots, bytes of a slot) for each run of a head.
template <typename Byte, typename Visit>
Result<void> for_each_run(const KvLayout& layout, bool values, Byte* head, Visit visit) {
  const bool quantized = layout.type == KvType::q8_0;
  const std::size_t element_bytes = quantized ? 1 : layout.type == KvType::f16 ? 2 : 4;
  const Runs elements = values ? Runs{1, layout.head_dim * element_bytes} : Runs{layout.head_dim, element_bytes};
  const Runs scales = quantized ? Runs{layout.head_dim / 32, 2} : Runs{0, 0};
  for (const Runs& runs : {elements, scales}) {
    for (std::size_t i = 0; i < runs.count; ++i, head += kTokensPerPage * runs.slot_bytes) {
      RILL_TRY(visit(head, runs.slot_bytes));
    }
  }
  return {};
}

// Hands the first `tokens` slots of a page to `use`: whole heads if it is full.
template <typename Byte, typename Use>
Result<void> copy_page(const LayerGroup& group, Byte* base, std::size_t tokens, const Use& use) {
  const KvLayout& layout = group.layout;
  for (std::size_t i = 0; i < group.layers * 2 * layout.kv_heads; ++i) {
    const bool values = i / layout.kv_heads % 2 != 0;
    const std::size_t layer = i / (2 * layout.kv_heads), kv_head = i % layout.kv_heads;
    Byte* const head = base + layer * layout.layer_stride() + (values ? layout.v_offset(kv_head) : layout.k_offset(kv_head));
    if (tokens == kTokensPerPage) {
      RILL_TRY(use(std::span<Byte>(head, layout.head_bytes())));
      continue;
    }
    RILL_TRY(for_each_run(layout, values, head, [&](Byte* run, std::size_t slot_bytes) {
      return use(std::span<Byte>(run, tokens * slot_bytes));
    }));
  }
  return {};
}

template <typename Byte, typename Use>
Result<void> copy_pages(const LayerGroup& group, std::span<std::byte* const> bases, std::uint64_t first_page,
                        std::uint64_t length, const Use& use) {
  for (std::uint64_t page = first_page; page * kTokensPerPage < length; ++page) {
    const std::uint64_t tokens = std::min<std::uint64_t>(kTokensPerPage, length - page * kTokensPerPage);
    RILL_TRY(copy_page<Byte>(group, bases[page], static_cast<std::size_t>(tokens), use));
  }
  return {};
}

Result<void> check_extent(std::span<const LayerGroup> groups, const SequenceCache::Extent& extent) {
  if (extent.first_held.size() != groups.size()) {
    return make_error(ErrorCode::malformed, "keys and values of {} groups of layers, where there are {}",
                      extent.first_held.size(), groups.size());
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::uint64_t window = groups[i].window, first = extent.first_held[i];
    // The next token, at `length`, sees (length - window, length].
    const bool holds_window = window != 0 && first <= extent.length / kTokensPerPage &&
                              extent.length - first * kTokensPerPage >= window - 1;
    if (first != 0 && !holds_window) {
      return make_error(ErrorCode::malformed, "layer group {} holds {} tokens from page {} on: not what the next sees",
                        i, extent.length, first);
    }
  }
  return {};
}

}  // namespace

SequenceCache::Extent SequenceCache::extent() const {
  Extent extent{length_, {}};
  for (const Table& table : tables_) extent.first_held.push_back(table.first_held);
  return extent;
}

Result<std::uint64_t> SequenceCache::copy_bytes(const Extent& extent) const {
  RILL_TRY(check_extent(pool_->groups(), extent));
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const auto& [layers, window, layout] = pool_->groups()[i];
    const std::uint64_t held = extent.length - extent.first_held[i] * kTokensPerPage;
    const auto more = checked_mul(held, kv_bytes_per_token({layers, layout.kv_heads, layout.head_dim}, layout.type));
    const auto total = more ? checked_add(bytes, *more) : more;
    if (!total) return make_error(ErrorCode::malformed, "keys and values of {} tokens: more than 2^64 bytes", held);
    bytes = *total;
  }
  return bytes;
}

Result<void> SequenceCache::copy_out(const Sink& sink) const {
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const Table& table = tables_[i];
    RILL_TRY(copy_pages<const std::byte>(pool_->groups()[i], table.bases, table.first_held, length_, sink));
  }
  return {};
}

Result<void> SequenceCache::copy_in(const Extent& extent, const Source& source) {
  if (length_ != 0) return make_error(ErrorCode::invalid_argument, "the sequence holds {} tokens already", length_);
  RILL_TRY(check_extent(pool_->groups(), extent));
  Result<void> done = guarded([&]() -> Result<void> {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      Table& table = tables_[i];
      drop_pages_from(table, 0);  // of an append that was not committed
      const auto first = static_cast<std::size_t>(extent.first_held[i]);
      table.pages.resize(first);
      table.bases.resize(first);
      RILL_TRY(add_pages(i, static_cast<std::size_t>((extent.length + kTokensPerPage - 1) / kTokensPerPage)));
      RILL_TRY(copy_pages<std::byte>(pool_->groups()[i], table.bases, first, extent.length, source));
    }
    return {};
  });
  if (!done) {
    abort();
    return done;
  }
  for (std::size_t i = 0; i < tables_.size(); ++i) tables_[i].first_held = static_cast<std::size_t>(extent.first_held[i]);
  length_ = extent.length;
  return {};
}

}  // namespace rill::kv
