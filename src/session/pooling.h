// Hidden states to embedding vectors. In a file of its own, so that it runs inside the caller's ScopedFloatMode.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rill/embedding.h"

namespace rill::session {

// One vector [n] of hidden states [tokens, n]; `pooling` is mean, cls or last.
std::vector<float> pool_hidden(std::span<const float> hidden, std::size_t n, Pooling pooling);

// To Euclidean length 1; a vector of zeros stays.
void normalize(std::vector<float>& vector);

}  // namespace rill::session
