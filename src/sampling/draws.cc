#include "rill/logits_processor.h"
#include "sampling/philox.h"

namespace rill {

std::uint64_t Draws::next() {
  const std::uint32_t draw_index = (std::uint32_t{stream_} << 16) | drawn_++;
  const auto block = sampling::philox4x32({draw_index, completion_index_, static_cast<std::uint32_t>(position_),
                                           static_cast<std::uint32_t>(position_ >> 32)},
                                          {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
  return (std::uint64_t{block[1]} << 32) | block[0];
}

}  // namespace rill
