#if defined(__x86_64__) || defined(_M_X64)
#define RILL_TARGET RILL_AVX2
#include "kernels/matmul-inl.h"

namespace rill::kernels {

const MatmulKernels kMatmulAvx2 = {RILL_NAMESPACE::prepare_activations, RILL_NAMESPACE::matmul};

}  // namespace rill::kernels
#endif
