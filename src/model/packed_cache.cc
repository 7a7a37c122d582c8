#include "model/packed_cache.h"

#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/thread_pool.h"

namespace rill::model {
namespace {

static_assert(std::endian::native == std::endian::little, "the header is read and written as it lies in memory");

constexpr std::uint32_t kLayoutVersion = 1;  // of the cache file itself
constexpr std::size_t kWeightsAlignment = 4096;

struct Header {
  std::array<char, 8> magic = {'r', 'i', 'l', 'l', 'p', 'a', 'c', 'k'};
  std::uint32_t layout = kLayoutVersion;
  std::uint32_t packing = kPackingVersion;
  PackedKey key;
  std::uint64_t table_checksum = 0;  // of the checksums
};
static_assert(sizeof(Header) == 48 && std::has_unique_object_representations_v<Header>);

std::uint64_t weights_offset(std::size_t slices) {
  const std::size_t end = sizeof(Header) + slices * sizeof(std::uint64_t);
  return (end + kWeightsAlignment - 1) / kWeightsAlignment * kWeightsAlignment;
}

Hasher start_digest(const Digest& head) noexcept {
  Hasher hasher;
  hasher.add_value(kPackingVersion);
  hasher.add_value(head);
  return hasher;
}

}  // namespace

Result<PackedCache> PackedCache::open(ByteSourcePtr source, const PackedKey& key) {
  const auto refuse = [&](const char* why) { return make_error(ErrorCode::malformed, "{}: {}", source->name(), why); };
  Header header;
  if (source->size() < sizeof(header)) return refuse("too short for a packed cache");
  RILL_TRY(source->read(0, std::as_writable_bytes(std::span(&header, 1))));
  if (std::memcmp(header.magic.data(), "GGUF", 4) == 0) {
    return make_error(ErrorCode::invalid_argument, "{}: packed_cache names a GGUF file", source->name());
  }
  if (header.magic != Header().magic) return refuse("not a packed cache");
  if (header.layout != kLayoutVersion || header.packing != kPackingVersion) {
    return refuse("packed by another version of rill");
  }
  if (header.key != key) return refuse("packed from another file, or another state of it");

  PackedCache cache;
  cache.checksums_.resize(packed_slices(static_cast<std::size_t>(key.bytes)));
  cache.weights_offset_ = weights_offset(cache.checksums_.size());
  if (source->size() != cache.weights_offset_ + key.bytes) return refuse("cut short, or longer than it was");
  const auto table = std::as_writable_bytes(std::span(cache.checksums_));
  RILL_TRY(source->read(sizeof(header), table));
  if (checksum(table) != header.table_checksum) return refuse("its checksums are damaged");
  cache.source_ = std::move(source);
  return cache;
}

Result<void> PackedCache::read(std::size_t slice, std::span<std::byte> packed) const {
  const std::span<std::byte> out = packed_slice(packed, slice);
  RILL_TRY(source_->read(weights_offset_ + slice * kPackedSliceBytes, out));
  if (checksum(out) == checksums_[slice]) return {};
  return make_error(ErrorCode::malformed, "{}: MiB {} of its weights is damaged", source_->name(), slice);
}

Result<os::NewFile> begin_packed_cache(const std::filesystem::path& path, const PackedKey& key,
                                       std::span<const std::uint64_t> checksums) {
  Header header;
  header.key = key;
  header.table_checksum = checksum(std::as_bytes(checksums));
  std::vector<std::byte> start(static_cast<std::size_t>(weights_offset(checksums.size())));
  std::memcpy(start.data(), &header, sizeof(header));
  std::memcpy(start.data() + sizeof(header), checksums.data(), checksums.size_bytes());
  RILL_ASSIGN(os::NewFile file, os::NewFile::create(path));
  RILL_TRY(file.append(start));
  return file;
}

Digest weights_digest(const Digest& head, std::span<const std::uint64_t> checksums) noexcept {
  Hasher hasher = start_digest(head);
  hasher.add(std::as_bytes(checksums));
  return hasher.digest();
}

Digest weights_digest(const Digest& head, std::span<const std::byte> packed, Workers& workers) noexcept {
  Hasher hasher = start_digest(head);
  std::array<std::uint64_t, 64> checksums;
  const std::size_t count = packed_slices(packed.size());
  for (std::size_t first = 0; first < count; first += checksums.size()) {
    const auto some = std::span(checksums).first(std::min(checksums.size(), count - first));
    workers.run(some.size(),
                [&](std::size_t i, std::size_t) noexcept { some[i] = checksum(packed_slice(packed, first + i)); });
    hasher.add(std::as_bytes(some));
  }
  return hasher.digest();
}

}  // namespace rill::model
