#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <new>

namespace rill {
namespace {

XXH3_state_t* state_in(std::byte* bytes) noexcept { return std::launder(reinterpret_cast<XXH3_state_t*>(bytes)); }
const XXH3_state_t* state_in(const std::byte* bytes) noexcept {
  return std::launder(reinterpret_cast<const XXH3_state_t*>(bytes));
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

void write_hex(const Digest& digest, std::span<char, kDigestDigits> digits) noexcept {
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::uint64_t half = i < digits.size() / 2 ? digest.high : digest.low;
    digits[i] = "0123456789abcdef"[half >> (60 - 4 * (i % 16)) & 15];
  }
}

Hasher::Hasher() noexcept {
  static_assert(sizeof(XXH3_state_t) <= sizeof(state_) && alignof(XXH3_state_t) <= 64);
  XXH3_128bits_reset(new (state_) XXH3_state_t);
}

void Hasher::add(std::span<const std::byte> bytes) noexcept {
  XXH3_128bits_update(state_in(state_), bytes.data(), bytes.size());
}

Digest Hasher::digest() const noexcept {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_in(state_));
  return {hash.low64, hash.high64};
}

}  // namespace rill
