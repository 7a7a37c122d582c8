// What this processor, and the operating system on it, can run.
#pragma once

namespace rill::kernels {

// Each member says that all instructions of that kernel target may be executed.
struct CpuFeatures {
  bool sse4 = false;
  bool avx2 = false;  // with FMA, F16C, BMI1 and BMI2
  bool avx_vnni = false;
  bool avx512 = false;  // F, BW, DQ, VL
  bool avx512_vnni = false;
  bool neon = false;
  bool neon_dotprod = false;
  bool neon_i8mm = false;
};

// Asked once. Thread-safe.
const CpuFeatures& cpu_features();

}  // namespace rill::kernels
