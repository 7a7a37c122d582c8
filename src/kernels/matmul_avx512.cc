#if defined(__x86_64__) || defined(_M_X64)
#define RILL_TARGET RILL_AVX512
#include "kernels/matmul-inl.h"

namespace rill::kernels {

const MatmulKernels kMatmulAvx512 = {RILL_NAMESPACE::prepare_activations, RILL_NAMESPACE::matmul};

}  // namespace rill::kernels
#endif
