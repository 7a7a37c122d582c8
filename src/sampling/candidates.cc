#include "rill/candidates.h"

#include <cstdint>
#include <cstring>
#include <numeric>

#include "rill/token_set.h"
#include "sampling/order_key.h"

namespace rill {

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

// Inside a string nearly all of a vocabulary is allowed, and most words of the set are full.
void Candidates::keep(const TokenSet& allowed) {
  if (!dense_) return keep_if([&](std::size_t i) { return allowed.contains(ids_[i]); });
  constexpr std::size_t kBits = TokenSet::kWordBits;
  const std::size_t count = size();
  ids_.resize(count);
  std::size_t kept = 0;
  for (std::size_t begin = 0; begin < std::min(count, allowed.vocabulary_size()); begin += kBits) {
    const std::uint64_t word = allowed.words()[begin / kBits];
    if (word == ~std::uint64_t{0} && count - begin >= kBits) {
      std::memmove(&values_[kept], &values_[begin], kBits * sizeof(float));
      std::iota(&ids_[kept], &ids_[kept] + kBits, static_cast<Token>(begin));
      kept += kBits;
    } else if (word != 0) {
      for (std::size_t i = begin; i < std::min(count, begin + kBits); ++i) {
        ids_[kept] = static_cast<Token>(i);
        values_[kept] = values_[i];
        kept += (word >> (i - begin)) & 1;
      }
    }
  }
  dense_ = false;
  ids_.resize(kept);
  values_.resize(kept);
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

  // Collects what can still be among the best; when twice too many are held, the worse half goes and the bar rises to
  // the worst that is left. A later candidate that only equals the bar has the higher id and loses.
  std::vector<Ranked> held;
  const std::size_t limit = std::min(2 * count, size());
  held.reserve(limit);
  std::int64_t bar = INT64_MIN;
  const auto cut = [&] {
    std::nth_element(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(count - 1), held.end(), better);
    held.resize(count);
    bar = held.back().key;
  };
  for (std::size_t start = 0; start < size(); start += sampling::kBlock) {
    const auto block = std::span(values_).subspan(start, std::min(sampling::kBlock, size() - start));
    if (sampling::key_range(block).highest <= bar) continue;
    for (std::size_t i = 0; i < block.size(); ++i) {
      std::int32_t key = sampling::order_key(block[i]);
      if (key > sampling::kInfinityKey) key = INT32_MIN;  // NaN
      if (key <= bar) continue;
      if (held.size() == limit) cut();
      if (key > bar) held.push_back({key, start + i});
    }
  }
  if (held.size() > count) cut();
  std::sort(held.begin(), held.end(), better);

  std::vector<std::size_t> indices(held.size());
  std::transform(held.begin(), held.end(), indices.begin(), [](const Ranked& ranked) { return ranked.index; });
  return indices;
}

}  // namespace rill
