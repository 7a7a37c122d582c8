#if defined(__x86_64__) || defined(_M_X64)
#define RILL_TARGET RILL_AVX512
#include "kernels/table-inl.h"
#include "kernels/tables.h"

namespace rill::kernels {

const KernelTable& avx512_table() {
  static const KernelTable table = RILL_NAMESPACE::make_table("avx512", kMatmulAvx512);
  return table;
}

const KernelTable& avx512_vnni_table() {
  static const KernelTable table = RILL_NAMESPACE::make_table("avx512_vnni", kMatmulAvx512Vnni);
  return table;
}

}  // namespace rill::kernels
#endif
