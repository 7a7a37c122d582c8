// Covering arrays: few rows of settings that together hold every combination of the factors that are named together.
#pragma once

#include <cstddef>
#include <vector>

namespace rill::test {

using FactorSet = std::vector<std::size_t>;  // indices of factors, ascending

// Every set of two of `factors` factors.
std::vector<FactorSet> all_pairs(std::size_t factors);

// Rows of one value for each factor, row[f] < sizes[f], such that the factors of each set take all combinations of
// their values. Greedy, after Cohen et al. 1997 (AETG); the same rows for the same question on every machine.
std::vector<std::vector<std::size_t>> covering_array(const std::vector<std::size_t>& sizes,
                                                     const std::vector<FactorSet>& sets);

}  // namespace rill::test
