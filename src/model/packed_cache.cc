#include "model/packed_cache.h"

#include <algorithm>
#include <array>

#include "base/thread_pool.h"

namespace rill::model {
namespace {

constexpr std::size_t kSliceBytes = 1 << 20;  // of packed weights under one checksum

std::size_t slice_count(std::size_t bytes) { return (bytes + kSliceBytes - 1) / kSliceBytes; }

template <typename Byte>
std::span<Byte> slice(std::span<Byte> bytes, std::size_t index) {
  const std::size_t begin = index * kSliceBytes;
  return bytes.subspan(begin, std::min(kSliceBytes, bytes.size() - begin));
}

}  // namespace

Digest weights_digest(const Digest& source, std::span<const std::byte> packed, Workers& workers) noexcept {
  Hasher hasher;
  hasher.add_value(kPackingVersion);
  hasher.add_value(source);
  std::array<std::uint64_t, 64> checksums;
  const std::size_t count = slice_count(packed.size());
  for (std::size_t first = 0; first < count; first += checksums.size()) {
    const auto some = std::span(checksums).first(std::min(checksums.size(), count - first));
    workers.run(some.size(),
                [&](std::size_t i, std::size_t) noexcept { some[i] = checksum(slice(packed, first + i)); });
    hasher.add(std::as_bytes(some));
  }
  return hasher.digest();
}

}  // namespace rill::model
