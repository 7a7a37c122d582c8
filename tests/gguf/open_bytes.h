// Opens GGUF files that tests build in memory.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "gguf/file.h"

namespace rill::gguf {

inline Result<File> open_bytes(std::vector<std::byte> bytes) {
  return File::open(std::vector<ByteSourcePtr>{own_buffer(std::move(bytes), "test.gguf").value()});
}

// The error of opening `bytes`, or one that no test expects, if they open.
inline Error open_error(std::vector<std::byte> bytes) {
  Result<File> file = open_bytes(std::move(bytes));
  return file ? Error{ErrorCode::internal, "the file was opened"} : file.error();
}

}  // namespace rill::gguf
