// The tables that the per-target sources make; only those that the build holds are defined (RILL_HAVE_...).
#pragma once

#include "kernels/kernel_table.h"

namespace rill::kernels {

const KernelTable& scalar_table();
const KernelTable& sse4_table();
const KernelTable& avx2_table();
const KernelTable& avx_vnni_table();
const KernelTable& avx512_table();
const KernelTable& avx512_vnni_table();
const KernelTable& neon_table();
const KernelTable& neon_dotprod_table();
const KernelTable& neon_i8mm_table();

}  // namespace rill::kernels
