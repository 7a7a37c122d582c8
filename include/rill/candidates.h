// The tokens that can still be chosen at one position, with their logits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rill/export.h"
#include "rill/token.h"

namespace rill {

class TokenSet;

namespace sampling {
class Softmax;

// For vectors whose new elements are all written before they are read: growing does not clear them.
template <typename T>
struct Unfilled : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = Unfilled<U>;
  };
  template <typename U>
  void construct(U* element) const {
    ::new (static_cast<void*>(element)) U;
  }
};

}  // namespace sampling

// Ids in ascending order, each with a logit. Dense (id == index, no ids stored) while nothing is masked, compact after;
// no result depends on which. A token that is not among the candidates cannot come back. A logit of -inf means
// probability 0. Nothing here computes with floats: a consumer's compiler flags cannot change a token.
// One thread at a time.
class RILL_EXPORT Candidates {
 public:
  Candidates() = default;

  // Every token of the vocabulary; the logits are left for the caller to fill through values().
  void assign_all(std::size_t vocabulary_size);
  // These tokens only, ascending, without repeats and below `vocabulary_size`; logits as above.
  void assign(std::span<const Token> ids, std::size_t vocabulary_size);

  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  bool dense() const { return dense_; }
  std::size_t vocabulary_size() const { return vocabulary_size_; }

  Token id(std::size_t index) const { return dense_ ? static_cast<Token>(index) : ids_[index]; }
  float value(std::size_t index) const { return values_[index]; }
  void set_value(std::size_t index, float value) { values_[index] = value; }
  std::span<float> values() { return values_; }
  std::span<const float> values() const { return values_; }

  // The index of `token`, if it is still a candidate. Costs one step when dense, log(size) when compact.
  std::optional<std::size_t> find(Token token) const {
    if (dense_) {
      if (token < 0 || static_cast<std::size_t>(token) >= size()) return std::nullopt;
      return static_cast<std::size_t>(token);
    }
    const auto found = std::lower_bound(ids_.begin(), ids_.end(), token);
    if (found == ids_.end() || *found != token) return std::nullopt;
    return static_cast<std::size_t>(found - ids_.begin());
  }

  // Removes the candidates whose keep(index) is false. `keep` is asked once for each index, ascending, and may read
  // value(index) and id(index) of that index alone. Invalidates values().
  template <typename Keep>
  void keep_if(Keep keep) {
    const std::size_t count = size();
    if (dense_) ids_.resize(count);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {  // without a branch on keep(): what is kept has no pattern to predict
      const std::size_t step = keep(i) ? 1 : 0;
      const Token token = id(i);
      ids_[kept] = token;
      values_[kept] = values_[i];
      kept += step;
    }
    dense_ = false;
    ids_.resize(kept);
    values_.resize(kept);
  }

  // Keeps the candidates that `allowed` contains. Invalidates values().
  void keep(const TokenSet& allowed);

  // Keeps the candidates at these indices, which are ascending and without repeats. Invalidates values().
  void keep(std::span<const std::size_t> indices);

  // Indices of the `count` best (fewer if there are fewer) in falling order of logit; of equal logits the lower id
  // comes first. Logits of NaN come last.
  std::vector<std::size_t> best(std::size_t count) const;

 private:
  friend class sampling::Softmax;

  std::size_t vocabulary_size_ = 0;
  bool dense_ = true;
  // Kept from step to step, so that a step allocates nothing.
  std::vector<Token, sampling::Unfilled<Token>> ids_;  // empty while dense
  std::vector<float, sampling::Unfilled<float>> values_;
  std::vector<float, sampling::Unfilled<float>> scratch_;
};

}  // namespace rill
