// Weights of tiny models: well-formed blocks of every element type with a given spread, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tensor/element_type.h"

namespace rill::test {

// std::mt19937_64 is fixed by the standard; its distributions are not, hence these.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() >> 32) % limit; }
  std::byte byte() { return static_cast<std::byte>(engine_() >> 56); }

 private:
  std::mt19937_64 engine_;
};

// `count` elements, a multiple of the type's block, with mean near 0 and about the given standard deviation. All bits
// of the quantised values, the scales and the minima vary.
std::vector<std::byte> model_weights(ElementType type, std::size_t count, double deviation, Random& random);

}  // namespace rill::test
