// Parses the head of one GGUF file.
#pragma once

#include <cstdint>
#include <vector>

#include "gguf/file.h"

namespace rill::gguf {

struct Head {
  std::uint32_t version = 0;
  Metadata metadata;
  std::vector<TensorInfo> tensors;  // offsets absolute
  Digest digest;                    // of the file's bytes up to the end of the tensor table
};

// Everything in the head is checked, the tensors' place in the file as well. Allocates in proportion to the bytes that
// are there, never to a count that the file only announces.
Result<Head> read_head(const ByteSource& source);

}  // namespace rill::gguf
