#if defined(__aarch64__)
#define RILL_TARGET RILL_NEON
#include "kernels/matmul-inl.h"

namespace rill::kernels {

const MatmulKernels kMatmulNeon = {RILL_NAMESPACE::prepare_activations, RILL_NAMESPACE::matmul};

}  // namespace rill::kernels
#endif
