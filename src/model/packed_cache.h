// The packed weights of a model in a file of their own, which the next load reads instead of packing anew; and the
// digest that identifies them.
//
// The file is outside bytes like any other. It serves only if it was packed in this way from this state of the model's
// file, and every MiB is checked while it is read. Layout, little-endian: a header, one 64-bit checksum for each MiB of
// the weights, zeros up to a multiple of 4,096 bytes, the weights. It depends on no SIMD target and no option of the
// load.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/os.h"
#include "rill/byte_source.h"

namespace rill {
class Workers;
}

namespace rill::model {

// Raised whenever the packed weights of a given file change.
inline constexpr std::uint32_t kPackingVersion = 1;

inline constexpr std::size_t kPackedSliceBytes = 1 << 20;  // under one checksum

constexpr std::size_t packed_slices(std::size_t bytes) { return (bytes + kPackedSliceBytes - 1) / kPackedSliceBytes; }

template <typename Byte>
std::span<Byte> packed_slice(std::span<Byte> bytes, std::size_t index) {
  const std::size_t begin = index * kPackedSliceBytes;
  return bytes.subspan(begin, std::min(kPackedSliceBytes, bytes.size() - begin));
}

// What a cache must have been made of.
struct PackedKey {
  Digest state;             // gguf::File::state_digest
  std::uint64_t bytes = 0;  // of the packed weights

  bool operator==(const PackedKey&) const = default;
};

// Immutable, thread-safe.
class PackedCache {
 public:
  // malformed, with the reason, if the file is not a whole cache of `key`. invalid_argument: it is a GGUF file, which
  // was hardly meant to be replaced by a cache.
  static Result<PackedCache> open(ByteSourcePtr source, const PackedKey& key);

  // Reads a slice into its place in `packed`, which has key.bytes bytes; malformed if they are not those that were
  // written.
  Result<void> read(std::size_t slice, std::span<std::byte> packed) const;
  // Of the slices, as the file says: those of the weights once all slices have been read.
  std::span<const std::uint64_t> checksums() const { return checksums_; }

 private:
  ByteSourcePtr source_;
  std::uint64_t weights_offset_ = 0;
  std::vector<std::uint64_t> checksums_;
};

// A cache that lacks nothing but the weights, to be appended, and the commit.
Result<os::NewFile> begin_packed_cache(const std::filesystem::path& path, const PackedKey& key,
                                       std::span<const std::uint64_t> checksums);

// Of the weights packed from a file with the head `head`: from the checksums of the slices, or from the weights
// themselves, on all threads.
Digest weights_digest(const Digest& head, std::span<const std::uint64_t> checksums) noexcept;
Digest weights_digest(const Digest& head, std::span<const std::byte> packed, Workers& workers) noexcept;

}  // namespace rill::model
