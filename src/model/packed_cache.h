// What identifies the packed weights of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/hash.h"

namespace rill {
class Workers;
}

namespace rill::model {

// Raised whenever the packed weights of a given file change.
inline constexpr std::uint32_t kPackingVersion = 1;

// Of the weights packed from a file with the head `source`, from a checksum of each MiB; on all threads.
Digest weights_digest(const Digest& source, std::span<const std::byte> packed, Workers& workers) noexcept;

}  // namespace rill::model
