#if defined(__x86_64__) || defined(_M_X64)
#define RILL_TARGET RILL_SSE4
#include "kernels/table-inl.h"
#include "kernels/tables.h"

namespace rill::kernels {

const KernelTable& sse4_table() {
  static const KernelTable table = RILL_NAMESPACE::make_table("sse4", kMatmulSse4);
  return table;
}

}  // namespace rill::kernels
#endif
