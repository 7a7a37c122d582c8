// Optional: rill's floats as Eigen sees them, without a copy. This header alone includes Eigen, which the reader's own
// build provides. Sums that Eigen computes depend on the machine; nothing that rill computes goes through here.
#pragma once

#include <Eigen/Core>

#include <cstddef>
#include <span>
#include <vector>

namespace rill {

// [n] as a column vector. The view is valid as long as what `values` refers to.
inline Eigen::Map<const Eigen::VectorXf> as_vector(std::span<const float> values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}
void as_vector(std::vector<float>&&) = delete;  // nothing would be left to look at

using RowMajorMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Consecutive rows of `columns` floats, [values.size() / columns, columns]; floats past the last whole row are left
// out. `columns` > 0. The view is valid as long as what `values` refers to.
inline Eigen::Map<const RowMajorMatrix> as_rows(std::span<const float> values, std::size_t columns) {
  return {values.data(), static_cast<Eigen::Index>(values.size() / columns), static_cast<Eigen::Index>(columns)};
}
void as_rows(std::vector<float>&&, std::size_t) = delete;

}  // namespace rill
