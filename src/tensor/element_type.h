// Element types of weight tensors: what a GGUF file may hold and rill can compute with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace rill {

enum class ElementType : std::uint8_t { f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k };

inline constexpr std::size_t kElementTypeCount = 11;

struct ElementTypeInfo {
  const char* name;            // as GGUF tools print it: "F32", "Q4_1", "Q4_K"
  std::uint32_t gguf_type;     // number in the file's tensor table
  std::size_t block_elements;  // consecutive elements of a row that share one block; 1 for float types
  std::size_t block_bytes;
};

const ElementTypeInfo& info(ElementType type);
std::optional<ElementType> element_type_from_gguf(std::uint32_t gguf_type);

inline bool is_quantized(ElementType type) { return type >= ElementType::q8_0; }
// Bytes of `cols` elements, which must be a multiple of the block.
inline std::size_t row_bytes(ElementType type, std::size_t cols) {
  return cols / info(type).block_elements * info(type).block_bytes;
}

}  // namespace rill
