#define RILL_TARGET RILL_SCALAR
#include "kernels/table-inl.h"
#include "kernels/tables.h"

namespace rill::kernels {

const KernelTable& scalar_table() {
  static const KernelTable table = RILL_NAMESPACE::make_table("scalar", kMatmulScalar);
  return table;
}

}  // namespace rill::kernels
