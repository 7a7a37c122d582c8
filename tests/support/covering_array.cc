#include "support/covering_array.h"

#include <algorithm>
#include <optional>
#include <random>

namespace rill::test {
namespace {

constexpr std::size_t kUnset = static_cast<std::size_t>(-1);
using Row = std::vector<std::size_t>;

// The combinations of one set of factors, numbered with the first factor's value as the highest digit.
class Combinations {
 public:
  Combinations(const std::vector<std::size_t>& sizes, const FactorSet& set) : sizes_(sizes), set_(set) {
    std::size_t count = 1;
    for (const std::size_t factor : set_) count *= sizes_[factor];
    covered_.resize(count);
  }

  // Nothing where the row has not set all of the factors, or not set this one.
  std::optional<std::size_t> number(const Row& row, std::size_t factor) const {
    std::size_t number = 0;
    bool has_factor = false;
    for (const std::size_t f : set_) {
      if (row[f] == kUnset) return std::nullopt;
      number = number * sizes_[f] + row[f];
      has_factor |= f == factor;
    }
    return has_factor ? std::optional(number) : std::nullopt;
  }
  bool covered(std::size_t number) const { return covered_[number]; }
  void cover(const Row& row) { covered_[*number(row, set_.front())] = true; }

  // Sets the factors to the first combination that is not covered; false if all are.
  bool start(Row& row) {
    const auto found = std::find(covered_.begin() + static_cast<std::ptrdiff_t>(first_), covered_.end(), false);
    first_ = static_cast<std::size_t>(found - covered_.begin());
    if (first_ == covered_.size()) return false;
    std::size_t rest = first_;
    for (auto f = set_.rbegin(); f != set_.rend(); ++f) {
      row[*f] = rest % sizes_[*f];
      rest /= sizes_[*f];
    }
    return true;
  }

 private:
  const std::vector<std::size_t>& sizes_;
  const FactorSet& set_;
  std::vector<bool> covered_;
  std::size_t first_ = 0;  // all before it are covered
};

}  // namespace

std::vector<FactorSet> all_pairs(std::size_t factors) {
  std::vector<FactorSet> pairs;
  for (std::size_t a = 0; a < factors; ++a) {
    for (std::size_t b = a + 1; b < factors; ++b) pairs.push_back({a, b});
  }
  return pairs;
}

std::vector<std::vector<std::size_t>> covering_array(const std::vector<std::size_t>& sizes,
                                                     const std::vector<FactorSet>& sets) {
  std::vector<Combinations> open;
  for (const FactorSet& set : sets) open.emplace_back(sizes, set);
  std::mt19937 random(1);
  std::vector<Row> rows;
  while (true) {
    Row row(sizes.size(), kUnset);
    if (std::none_of(open.begin(), open.end(), [&](Combinations& c) { return c.start(row); })) return rows;
    for (std::size_t f = 0; f < sizes.size(); ++f) {
      if (row[f] != kUnset) continue;
      // The value that covers most; among equals any, so that factors of the same size do not go in step.
      std::vector<std::size_t> best;
      std::size_t most = 0;
      for (std::size_t value = 0; value < sizes[f]; ++value) {
        row[f] = value;
        std::size_t gained = 0;
        for (const Combinations& c : open) {
          const auto number = c.number(row, f);
          gained += number && !c.covered(*number);
        }
        if (gained > most) best.clear(), most = gained;
        if (gained == most) best.push_back(value);
      }
      row[f] = best[random() % best.size()];
    }
    for (Combinations& c : open) c.cover(row);
    rows.push_back(std::move(row));
  }
}

}  // namespace rill::test
