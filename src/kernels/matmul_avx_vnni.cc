#if defined(__x86_64__) || defined(_M_X64)
#define RILL_TARGET RILL_AVX2
#define RILL_EXTENSION RILL_VNNI
#include "kernels/matmul-inl.h"

namespace rill::kernels {

const MatmulKernels kMatmulAvxVnni = {RILL_NAMESPACE::prepare_activations, RILL_NAMESPACE::matmul};

}  // namespace rill::kernels
#endif
