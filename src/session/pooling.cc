#include "session/pooling.h"

#include <algorithm>
#include <cmath>

namespace rill::session {

std::vector<float> pool_hidden(std::span<const float> hidden, std::size_t n, Pooling pooling) {
  const std::size_t count = hidden.size() / n;
  std::vector<float> out(n);
  if (pooling == Pooling::mean) {
    std::vector<double> sum(n);
    for (std::size_t i = 0; i < hidden.size(); ++i) sum[i % n] += static_cast<double>(hidden[i]);
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(sum[i] / static_cast<double>(count));
  } else {
    const std::size_t row = pooling == Pooling::cls ? 0 : count - 1;
    std::copy_n(hidden.begin() + static_cast<std::ptrdiff_t>(row * n), n, out.begin());
  }
  return out;
}

void normalize(std::vector<float>& vector) {
  double sum = 0.0;
  for (const float x : vector) sum += static_cast<double>(x) * static_cast<double>(x);
  if (sum == 0.0) return;
  const double length = std::sqrt(sum);
  for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / length);
}

}  // namespace rill::session
