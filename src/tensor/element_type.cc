#include "tensor/element_type.h"

#include <array>

namespace rill {
namespace {

// Numbers and block sizes: GGUF specification, enumeration ggml_type.
constexpr std::array<ElementTypeInfo, kElementTypeCount> kInfo = {{
    {"F32", 0, 1, 4},
    {"F16", 1, 1, 2},
    {"BF16", 30, 1, 2},
    {"Q8_0", 8, 32, 34},
    {"Q4_0", 2, 32, 18},
    {"Q4_1", 3, 32, 20},
    {"Q5_0", 6, 32, 22},
    {"Q5_1", 7, 32, 24},
    {"Q4_K", 12, 256, 144},
    {"Q5_K", 13, 256, 176},
    {"Q6_K", 14, 256, 210},
}};

}  // namespace

const ElementTypeInfo& info(ElementType type) { return kInfo[static_cast<std::size_t>(type)]; }

std::optional<ElementType> element_type_from_gguf(std::uint32_t gguf_type) {
  for (std::size_t i = 0; i < kInfo.size(); ++i) {
    if (kInfo[i].gguf_type == gguf_type) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

}  // namespace rill
