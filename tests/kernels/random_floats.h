// Pseudo-random floats with the same bits on every machine and standard library.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace rill::test {

class RandomFloats {
 public:
  explicit RandomFloats(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {  // SplitMix64 (Steele, Lea and Flood 2014)
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  float uniform(float limit) {  // in [-limit, limit)
    return (static_cast<float>(next() >> 40) * 0x1p-23f - 1.0f) * limit;
  }
  float any_bits() { return std::bit_cast<float>(static_cast<std::uint32_t>(next())); }  // infinities and NaN too

  std::vector<float> vector(std::size_t n, float limit) {
    std::vector<float> v(n);
    for (float& x : v) x = uniform(limit);
    return v;
  }

 private:
  std::uint64_t state_;
};

// Equal bits, any NaN equal to any other: payloads and signs of NaN differ between processors.
inline bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b);
}

}  // namespace rill::test
