// Saved sessions that are changed on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/hash.h"

namespace rill::test {

// Makes the checksum fit what was changed, in a file that is no longer than one checked slice.
inline void sign(std::vector<std::byte>& file) {
  if (file.size() < 8) return;
  const std::uint64_t sum = checksum(std::span(file).first(file.size() - 8));
  std::memcpy(file.data() + file.size() - 8, &sum, sizeof(sum));
}

}  // namespace rill::test
