// Checksums and digests (XXH3, https://github.com/Cyan4973/xxHash). They tell damage and mix-ups, not forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rill {

// One word more, for tables in memory that are filled from outside only as far as their limits let them.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15;
  return hash ^ hash >> 32;
}

// 64 bits of XXH3.
std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  bool operator==(const Digest&) const = default;
};

inline constexpr std::size_t kDigestDigits = 32;
void write_hex(const Digest& digest, std::span<char, kDigestDigits> digits) noexcept;

// 128 bits of XXH3 of all that is added, however it is cut.
class Hasher {
 public:
  Hasher() noexcept;

  void add(std::span<const std::byte> bytes) noexcept;
  template <typename T>
  void add_value(const T& value) noexcept {
    add(std::as_bytes(std::span(&value, 1)));
  }
  Digest digest() const noexcept;

 private:
  alignas(64) std::byte state_[576];  // xxHash's own, which its header would bring to every user of this one
};

}  // namespace rill
