// A set of byte values.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rill::grammar {

class ByteSet {
 public:
  constexpr ByteSet() = default;
  static constexpr ByteSet range(unsigned first, unsigned last) {
    ByteSet set;
    for (unsigned byte = first; byte <= last; ++byte) set.add(byte);
    return set;
  }
  static constexpr ByteSet all() { return range(0, 255); }

  constexpr void add(unsigned byte) { words_[byte / 64] |= std::uint64_t{1} << byte % 64; }
  constexpr bool contains(unsigned byte) const { return (words_[byte / 64] >> byte % 64 & 1) != 0; }
  constexpr bool empty() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }

  constexpr ByteSet operator|(const ByteSet& other) const {
    return combine(other, [](auto a, auto b) { return a | b; });
  }
  constexpr ByteSet operator&(const ByteSet& other) const {
    return combine(other, [](auto a, auto b) { return a & b; });
  }
  constexpr ByteSet operator~() const {
    return combine(*this, [](auto a, auto) { return ~a; });
  }
  friend constexpr bool operator==(const ByteSet&, const ByteSet&) = default;
  constexpr const std::array<std::uint64_t, 4>& words() const { return words_; }

 private:
  template <typename Combine>
  constexpr ByteSet combine(const ByteSet& other, Combine combine) const {
    ByteSet result;
    for (std::size_t i = 0; i < 4; ++i) result.words_[i] = combine(words_[i], other.words_[i]);
    return result;
  }

  std::array<std::uint64_t, 4> words_{};
};

}  // namespace rill::grammar
