#if defined(__x86_64__) || defined(_M_X64)
#define RILL_TARGET RILL_AVX2
#include "kernels/table-inl.h"
#include "kernels/tables.h"

namespace rill::kernels {

const KernelTable& avx2_table() {
  static const KernelTable table = RILL_NAMESPACE::make_table("avx2", kMatmulAvx2);
  return table;
}

const KernelTable& avx_vnni_table() {
  static const KernelTable table = RILL_NAMESPACE::make_table("avx_vnni", kMatmulAvxVnni);
  return table;
}

}  // namespace rill::kernels
#endif
