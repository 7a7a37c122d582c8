#include "rill/candidates.h"

#include <bit>
#include <cstdint>
#include <numeric>

namespace rill {
namespace {

// Integers in the order of the floats: -0 equals +0, NaN comes below everything. On bits, so that no flag matters.
std::int32_t order_key(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return INT32_MIN;
  return (bits >> 31) != 0 ? -static_cast<std::int32_t>(magnitude) : static_cast<std::int32_t>(magnitude);
}

}  // namespace

void Candidates::assign_all(std::size_t vocabulary_size) {
  vocabulary_size_ = vocabulary_size;
  dense_ = true;
  ids_.clear();
  values_.resize(vocabulary_size);
}

void Candidates::assign(std::span<const Token> ids, std::size_t vocabulary_size) {
  vocabulary_size_ = vocabulary_size;
  dense_ = false;
  ids_.assign(ids.begin(), ids.end());
  values_.resize(ids.size());
}

void Candidates::keep(std::span<const std::size_t> indices) {
  if (dense_) ids_.resize(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    ids_[i] = id(indices[i]);
    values_[i] = values_[indices[i]];
  }
  dense_ = false;
  ids_.resize(indices.size());
  values_.resize(indices.size());
}

std::vector<std::size_t> Candidates::best(std::size_t count) const {
  struct Ranked {
    std::int32_t key;
    std::size_t index;
  };
  const auto better = [](const Ranked& a, const Ranked& b) {
    return a.key != b.key ? a.key > b.key : a.index < b.index;
  };
  count = std::min(count, size());
  if (count == 0) return {};

  // Collects what can still be among the best; when twice too many are held, the worse half goes and the bar rises.
  // A later candidate that only equals the bar has the higher id and loses.
  std::vector<Ranked> held;
  held.reserve(std::min(2 * count, size()));
  const std::size_t limit = held.capacity();
  const auto cut = [&] {
    std::nth_element(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(count - 1), held.end(), better);
    held.resize(count);
  };
  bool barred = false;
  std::int32_t bar = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const std::int32_t key = order_key(values_[i]);
    if (barred && key <= bar) continue;
    if (held.size() == limit) {
      cut();
      barred = true;
      bar = held.back().key;
      if (key <= bar) continue;
    }
    held.push_back({key, i});
  }
  if (held.size() > count) cut();
  std::sort(held.begin(), held.end(), better);

  std::vector<std::size_t> indices(held.size());
  std::transform(held.begin(), held.end(), indices.begin(), [](const Ranked& ranked) { return ranked.index; });
  return indices;
}

}  // namespace rill
