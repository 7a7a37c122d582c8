#include "kernels/math.h"

#include "base/math.h"

namespace rill::kernels {

void rope_frequencies(double base, std::size_t pairs, const float* factors, double* inv_freq) {
  for (std::size_t i = 0; i < pairs; ++i) {
    inv_freq[i] = math::pow(base, -(static_cast<double>(i) / static_cast<double>(pairs)));
    if (factors != nullptr) inv_freq[i] /= static_cast<double>(factors[i]);
  }
}

void rope_table(const double* inv_freq, std::size_t pairs, std::uint64_t position, float* cosine, float* sine) {
  for (std::size_t i = 0; i < pairs; ++i) {
    const math::SineCosine value = math::sine_cosine(static_cast<double>(position) * inv_freq[i]);
    cosine[i] = static_cast<float>(value.cosine);
    sine[i] = static_cast<float>(value.sine);
  }
}

}  // namespace rill::kernels
