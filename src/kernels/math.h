// Elementary functions in double with the same bits for every compiler and processor (libm promises neither), and the
// tables of rotary position embedding. Plain C++ that no compiler may contract; all functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rill::kernels {

double exp(double x);  // within 1 ulp for normal results; 0 below 2^-1022, infinity above the largest double
double log(double x);  // within 1 ulp; -infinity for 0, NaN below
// x^y for x > 0, within 2 ulp for normal results.
double pow(double x, double y);
struct SineCosine {
  double sine, cosine;
};
// Within 3e-16 of the true values for |x| <= 2^32; NaN beyond, where no position of a model leads.
SineCosine sine_cosine(double x);

// inv_freq[i] = base^(-i / pairs), divided by factors[i] where factors are given (Llama 3's rope_freqs.weight), for i
// in [0, pairs). Source: Su et al. 2021.
void rope_frequencies(double base, std::size_t pairs, const float* factors, double* inv_freq);

// Cosine and sine [pairs] of position * inv_freq[i], rounded to float.
void rope_table(const double* inv_freq, std::size_t pairs, std::uint64_t position, float* cosine, float* sine);

}  // namespace rill::kernels
