// Exact decoding of weights to float: the definition that every kernel is tested against.
#pragma once

#include <cstddef>

#include "tensor/element_type.h"

namespace rill {

// Decodes `count` consecutive elements, a multiple of the type's block, of which `source` holds the bytes (no alignment
// needed). Each value is rounded once to float per operation, in the order of the format's own definition, so the bits
// are those of the `gguf` Python package.
void dequantize(ElementType type, const std::byte* source, float* out, std::size_t count);

}  // namespace rill
