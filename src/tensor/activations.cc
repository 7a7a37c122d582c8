#include "tensor/activations.h"

namespace rill {

std::size_t activation_row_bytes(ActivationFormat format, std::size_t cols) {
  std::size_t bytes = cols * sizeof(float);
  if (format == ActivationFormat::q8) bytes = cols / kActivationBlock * sizeof(ActivationBlockQ8);
  if (format == ActivationFormat::q16) bytes = cols / kActivationBlock * sizeof(ActivationBlockQ16);
  return (bytes + 63) / 64 * 64;
}

}  // namespace rill
