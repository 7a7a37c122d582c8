// A packed cache that was changed: refused, or the very weights that were written. The input is the file itself, or, if
// it begins with a 0, changes to a good one: its new size (4 bytes), then the place (4 bytes) and new value (1) of any
// bytes.
#include "model/packed_cache.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "support/temp_dir.h"

namespace rill::model {
namespace {

using Bytes = std::vector<std::byte>;

struct Good {
  Bytes weights = Bytes(kPackedSliceBytes + 100);
  PackedKey key = {.state = {1, 2}, .bytes = weights.size()};
  Bytes file;

  Good() {
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<std::byte>(i * i >> 8);
    std::vector<std::uint64_t> checksums;
    for (std::size_t i = 0; i < packed_slices(weights.size()); ++i) {
      checksums.push_back(checksum(packed_slice(std::span<const std::byte>(weights), i)));
    }
    const test::TempDir folder;
    os::NewFile written = begin_packed_cache(folder.path() / "cache", key, checksums).value();
    written.append(weights).value();
    written.commit().value();
    std::ifstream stream(folder.path() / "cache", std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    file.assign(std::as_bytes(std::span(text)).begin(), std::as_bytes(std::span(text)).end());
  }
};

Bytes changed(const Bytes& good, const std::uint8_t* orders, std::size_t size) {
  std::uint32_t number = 0;
  std::memcpy(&number, orders, std::min(size, sizeof(number)));
  Bytes file = good;
  file.resize(std::min<std::size_t>(number, 2 * good.size()));
  for (std::size_t at = sizeof(number); at + 5 <= size && !file.empty(); at += 5) {
    std::memcpy(&number, orders + at, sizeof(number));
    file[number % file.size()] = static_cast<std::byte>(orders[at + 4]);
  }
  return file;
}

// True if the cache was accepted.
bool check(const Bytes& file, const Good& good) {
  const Result<PackedCache> cache = PackedCache::open(borrow_buffer(file).value(), good.key);
  if (!cache) return false;
  Bytes weights(good.weights.size());
  bool whole = true;
  for (std::size_t i = 0; i < cache->checksums().size(); ++i) whole = cache->read(i, weights).has_value() && whole;
  if (whole && weights != good.weights) std::abort();
  return whole;
}

}  // namespace
}  // namespace rill::model

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rill::model;
  static const Good good;
  static const bool accepted = check(good.file, good);
  if (!accepted) std::abort();
  if (size > 0 && data[0] == 0) {
    check(changed(good.file, data + 1, size - 1), good);
  } else {
    const auto bytes = std::as_bytes(std::span(data, size));
    check({bytes.begin(), bytes.end()}, good);
  }
  return 0;
}
