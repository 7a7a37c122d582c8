#if defined(__aarch64__)
#define RILL_TARGET RILL_NEON
#include "kernels/table-inl.h"
#include "kernels/tables.h"

namespace rill::kernels {

const KernelTable& neon_table() {
  static const KernelTable table = RILL_NAMESPACE::make_table("neon", kMatmulNeon);
  return table;
}

const KernelTable& neon_dotprod_table() {
  static const KernelTable table = RILL_NAMESPACE::make_table("neon_dotprod", kMatmulNeonDotprod);
  return table;
}

const KernelTable& neon_i8mm_table() {
  static const KernelTable table = RILL_NAMESPACE::make_table("neon_i8mm", kMatmulNeonI8mm);
  return table;
}

}  // namespace rill::kernels
#endif
