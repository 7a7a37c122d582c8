// Makes the kernel table of the target that this file is compiled for, with the matrix products of `matmul`.
#pragma once

#include "kernels/attention-inl.h"
#include "kernels/kernel_table.h"
#include "kernels/kv-inl.h"
#include "kernels/matmul.h"
#include "kernels/ops-inl.h"
#include "kernels/vector-inl.h"

namespace rill::kernels::RILL_NAMESPACE {

inline KernelTable make_table(const char* name, const MatmulKernels& matmul) {
  return {
      .name = name,
      .numerics_class = RILL_FUSED ? NumericsClass::fma : NumericsClass::sse4,
      .prepare_activations = matmul.prepare_activations,
      .matmul = matmul.matmul,
      .rms_norm = rms_norm,
      .rope = rope,
      .silu_mul = silu_mul,
      .gelu_mul = gelu_mul,
      .add = add,
      .scale = scale,
      .all_finite = all_finite,
      .store_kv = store_kv,
      .attend_span = attend_span,
      .merge_span = merge_span,
      .finish_attention = finish_attention,
  };
}

}  // namespace rill::kernels::RILL_NAMESPACE
