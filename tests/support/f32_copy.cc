#include "support/f32_copy.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "gguf/file.h"
#include "support/gguf_writer.h"
#include "tensor/dequantize.h"

namespace rill::test {
namespace {

void put_value(ByteWriter& out, const gguf::Value& value) {
  std::visit(
      [&](const auto& data) {
        using T = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<T, std::string>) {
          out.put_string(data);
        } else if constexpr (std::is_same_v<T, FlatStrings>) {
          out.put(static_cast<std::uint32_t>(gguf::ValueType::string)).put(std::uint64_t{data.size()});
          for (std::size_t i = 0; i < data.size(); ++i) out.put_string(data[i]);
        } else if constexpr (std::is_same_v<T, gguf::NumberArray>) {
          out.put(static_cast<std::uint32_t>(data.type))
              .put(std::uint64_t{data.size()})
              .put(std::span<const std::byte>(data.bytes));
        } else if constexpr (!std::is_same_v<T, gguf::NestedArray>) {
          // Integers are held widened; little-endian, their first bytes are the narrow value.
          out.put(std::as_bytes(std::span(&data, 1)).first(gguf::byte_width(value.type)));
        }
      },
      value.data);
}

struct Copy {
  struct Piece {
    gguf::TensorInfo tensor;
    std::uint64_t offset;  // of its first float, in the copy
  };

  gguf::File file;
  std::vector<std::byte> head;
  std::vector<Piece> pieces;
  std::uint64_t size = 0;

  // One read serves one piece, or the head.
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> out) const {
    if (offset < head.size()) {
      const std::size_t count = std::min<std::size_t>(out.size(), head.size() - static_cast<std::size_t>(offset));
      std::memcpy(out.data(), head.data() + offset, count);
      return count;
    }
    auto piece =
        std::upper_bound(pieces.begin(), pieces.end(), offset, [](std::uint64_t at, const Piece& p) { return at < p.offset; });
    --piece;
    const gguf::TensorInfo& tensor = piece->tensor;
    const auto& type = info(tensor.type);
    const std::uint64_t within = offset - piece->offset;
    const std::uint64_t end = std::min(within + out.size(), 4 * tensor.elements());
    if (within >= end) {  // padding between two pieces
      std::memset(out.data(), 0, 1);
      return std::size_t{1};
    }
    const std::uint64_t first_block = within / 4 / type.block_elements;
    const std::uint64_t last_block = (end + 4 * type.block_elements - 1) / (4 * type.block_elements);
    std::vector<std::byte> blocks(static_cast<std::size_t>(last_block - first_block) * type.block_bytes);
    if (auto got = file.read(tensor, first_block * type.block_bytes, blocks); !got) return got.error();
    std::vector<float> values(static_cast<std::size_t>(last_block - first_block) * type.block_elements);
    dequantize(tensor.type, blocks.data(), values.data(), values.size());
    std::memcpy(out.data(), reinterpret_cast<const std::byte*>(values.data()) + (within - 4 * first_block * type.block_elements),
                static_cast<std::size_t>(end - within));
    return static_cast<std::size_t>(end - within);
  }
};

}  // namespace

ByteSourcePtr f32_copy(ByteSourcePtr original) {
  auto copy = std::make_shared<Copy>(Copy{gguf::File::open(std::vector<ByteSourcePtr>{std::move(original)}).value(), {}, {}, 0});
  GgufWriter writer;
  for (const auto& [key, value] : copy->file.metadata().values()) {
    ByteWriter bytes;
    put_value(bytes, value);
    writer.add_raw(key, static_cast<std::uint32_t>(value.type), bytes.bytes());
  }
  std::uint64_t offset = 0;
  for (const gguf::TensorInfo& tensor : copy->file.tensors()) {
    const std::vector<std::uint64_t> dims(tensor.dims.begin(), tensor.dims.begin() + static_cast<std::ptrdiff_t>(tensor.rank));
    writer.add_raw_tensor(tensor.name, static_cast<std::uint32_t>(tensor.rank), dims, info(ElementType::f32).gguf_type, offset);
    copy->pieces.push_back({tensor, offset});
    offset = (offset + 4 * tensor.elements() + 31) / 32 * 32;
  }
  copy->head = writer.finish();
  for (Copy::Piece& piece : copy->pieces) piece.offset += copy->head.size();
  copy->size = copy->head.size() + offset;
  return from_callback(
             copy->size, [copy](std::uint64_t at, std::span<std::byte> out) { return copy->read(at, out); }, "F32 copy")
      .value();
}

}  // namespace rill::test
