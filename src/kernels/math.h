// The tables of rotary position embedding, with the same bits for every compiler and processor. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rill::kernels {

// inv_freq[i] = base^(-i / pairs), divided by factors[i] where factors are given (Llama 3's rope_freqs.weight), for i
// in [0, pairs). Source: Su et al. 2021.
void rope_frequencies(double base, std::size_t pairs, const float* factors, double* inv_freq);

// Cosine and sine [pairs] of position * inv_freq[i], rounded to float.
void rope_table(const double* inv_freq, std::size_t pairs, std::uint64_t position, float* cosine, float* sine);

}  // namespace rill::kernels
