// A GGUF model file: metadata and tensor table, every field checked; the tensors' bytes are read on request.
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3, little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "gguf/metadata.h"
#include "rill/byte_source.h"
#include "tensor/element_type.h"

namespace rill::gguf {

inline constexpr std::size_t kMaxDims = 4;

struct TensorInfo {
  std::string name;
  ElementType type = ElementType::f32;
  std::size_t rank = 0;  // 1 to kMaxDims
  std::array<std::uint64_t, kMaxDims> dims = {1, 1, 1, 1};  // innermost first: [rows, cols] has dims {cols, rows}
  std::uint64_t offset = 0;                                 // of the data in its source
  std::uint64_t bytes = 0;
  std::size_t split = 0;  // which of the sources holds the data

  std::uint64_t cols() const { return dims[0]; }
  std::uint64_t rows() const { return dims[1] * dims[2] * dims[3]; }
  std::uint64_t elements() const { return cols() * rows(); }
};

// Thread-safe once open. What is in a tensor table is true of the files: dimensions are not zero and their product fits
// 63 bits, rows are whole blocks, and the data lie inside the file, aligned and apart from each other.
class File {
 public:
  // Opens the file and, where it is the first of a split model (-00001-of-0000N.gguf), the others beside it.
  static Result<File> open(const std::filesystem::path& path);
  // One source, or all files of a split model in order.
  static Result<File> open(const std::vector<ByteSourcePtr>& sources);

  const Metadata& metadata() const { return metadata_; }  // of the first file
  std::uint32_t version() const { return version_; }
  std::string_view name() const { return sources_.front()->name(); }
  std::uint64_t size() const;  // bytes of all files
  // Of the heads of all files: whatever they say, without the tensors' bytes.
  const Digest& head_digest() const { return head_digest_; }
  // Another one after a change of a file, as far as sizes, versions, heads and samples of the tensors' bytes tell (a
  // file that was replaced may have kept its time). invalid_argument: a source has no version.
  Result<Digest> state_digest() const;

  std::span<const TensorInfo> tensors() const { return tensors_; }        // as the files order them
  const TensorInfo* find_tensor(std::string_view name) const;             // null if there is none
  Result<const TensorInfo*> require_tensor(std::string_view name) const;  // not_found names the file and the tensor

  // Reads out.size() bytes of the tensor's data from `offset` within it. The error names the tensor.
  Result<void> read(const TensorInfo& tensor, std::uint64_t offset, std::span<std::byte> out) const;

 private:
  // Opens file `number` (from 0) of `count`.
  using NextSource = std::function<Result<ByteSourcePtr>(std::uint32_t number, std::uint32_t count)>;

  File() = default;
  static Result<File> open(ByteSourcePtr first, const NextSource& next);
  Result<void> append_split(ByteSourcePtr source, std::uint32_t count);
  Result<void> index_tensors();

  std::vector<ByteSourcePtr> sources_;
  Metadata metadata_;
  std::uint32_t version_ = 0;
  std::vector<TensorInfo> tensors_;
  std::vector<std::size_t> by_name_;  // indices into tensors_, ordered by name
  Digest head_digest_;
};

}  // namespace rill::gguf
