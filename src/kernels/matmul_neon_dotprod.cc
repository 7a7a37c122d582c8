#if defined(__aarch64__)
#define RILL_TARGET RILL_NEON
#define RILL_EXTENSION RILL_DOTPROD
#include "kernels/matmul-inl.h"

namespace rill::kernels {

const MatmulKernels kMatmulNeonDotprod = {RILL_NAMESPACE::prepare_activations, RILL_NAMESPACE::matmul};

}  // namespace rill::kernels
#endif
