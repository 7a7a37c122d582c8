// A stream of bytes in slices of 1 MiB, each followed by its checksum: who reads it is never given a byte that is not
// the one that was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "rill/byte_source.h"
#include "rill/result.h"
#include "rill/stop_token.h"

namespace rill {

inline constexpr std::size_t kSliceBytes = std::size_t{1} << 20;

// Of a stream of so many bytes.
constexpr std::uint64_t checked_size(std::uint64_t bytes) {
  return bytes + (bytes + kSliceBytes - 1) / kSliceBytes * sizeof(std::uint64_t);
}

// One thread at a time.
class SliceWriter {
 public:
  using Sink = std::function<Result<void>(std::span<const std::byte>)>;
  explicit SliceWriter(Sink sink, StopToken stop = {});

  // Errors: the sink's; cancelled, asked for before each slice.
  Result<void> write(std::span<const std::byte> bytes);
  Result<void> finish();  // the last call

 private:
  Sink sink_;
  StopToken stop_;
  std::vector<std::byte> slice_;
};

// One thread at a time.
class SliceReader {
 public:
  explicit SliceReader(const ByteSource& source, StopToken stop = {});

  // The next bytes. malformed: a slice is not what was written, or the stream is at its end. Errors of the source;
  // cancelled.
  Result<void> read(std::span<std::byte> out);

 private:
  Result<void> next_slice();

  const ByteSource& source_;
  StopToken stop_;
  std::uint64_t offset_ = 0;  // of the next slice
  std::uint64_t index_ = 0;
  std::vector<std::byte> slice_;
  std::span<const std::byte> left_;  // of it
};

}  // namespace rill
