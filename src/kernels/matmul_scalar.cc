// Plain C++: what the other targets are tested against, and the table of last resort.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/exact_fma.h"
#include "kernels/matmul.h"
#include "tensor/half.h"
#include "tensor/packed_layout.h"

namespace rill::kernels {
namespace {

float round_to_even(float x) { return (x + 12582912.0f) - 12582912.0f; }  // 1.5 * 2^23; for |x| < 2^22

// Fills the scale of a block and calls store(k, q). False if a value is not finite.
template <typename Store>
bool quantize_block(const float* x, float limit, ActivationScale& out, Store store) {
  float amax = 0;
  for (std::size_t k = 0; k < kActivationBlock; ++k) {
    if (!std::isfinite(x[k])) return false;
    amax = std::max(amax, std::fabs(x[k]));
  }
  out = {amax / limit, 0, 0, 0};
  const float divisor = out.scale > 0 ? out.scale : 1.0f;  // the smallest subnormals have scale 0, as zeros do
  for (std::size_t k = 0; k < kActivationBlock; ++k) {
    const int q = static_cast<int>(round_to_even(std::clamp(x[k] / divisor, -limit, limit)));
    store(k, q);
    out.negative_sum -= q;
    if (k < kActivationBlock / 2) out.negative_half_sum -= q;
  }
  out.scaled_sum = out.scale * static_cast<float>(-out.negative_sum);
  return true;
}

bool quantize(const float* x, ActivationBlockQ8& out) {
  return quantize_block(x, 127, out.scale, [&](std::size_t k, int q) { out.values[k] = static_cast<std::int8_t>(q); });
}

bool quantize(const float* x, ActivationBlockQ16& out) {
  return quantize_block(x, 32512, out.scale, [&](std::size_t k, int q) {
    out.low[k] = static_cast<std::int8_t>(q);  // the low byte, read as signed
    out.high[k] = static_cast<std::int8_t>((q - out.low[k]) / 256);
  });
}

template <typename Block>
bool quantize_row(const float* x, std::size_t cols, std::byte* dst) {
  const auto blocks = reinterpret_cast<Block*>(dst);
  for (std::size_t b = 0; b < cols / kActivationBlock; ++b) {
    if (!quantize(x + b * kActivationBlock, blocks[b])) return false;
  }
  return true;
}

bool copy_row(const float* x, std::size_t cols, std::byte* dst) {
  if (!std::all_of(x, x + cols, [](float value) { return std::isfinite(value); })) return false;
  std::memcpy(dst, x, cols * sizeof(float));
  return true;
}

constexpr auto prepare_activations =
    prepare_rows<copy_row, quantize_row<ActivationBlockQ8>, quantize_row<ActivationBlockQ16>>;

int activation(const ActivationBlockQ8& block, std::size_t k) { return block.values[k]; }
int activation(const ActivationBlockQ16& block, std::size_t k) { return block.high[k] * 256 + block.low[k]; }

template <typename Block>
int dot16(const int* weights, const Block& x, std::size_t begin) {
  int sum = 0;
  for (std::size_t k = begin; k < begin + 16; ++k) sum += weights[k] * activation(x, k);
  return sum;
}

template <typename Block>
float add_block(ElementType type, bool has_minimum, const RowBlock& w, const Block& x, float acc) {
  const float d = x.scale.scale;
  const int first = dot16(w.values, x, 0), second = dot16(w.values, x, 16);
  if (type == ElementType::q6_k) {
    acc = exact_fma(static_cast<float>(first), w.scale[0] * d, acc);
    return exact_fma(static_cast<float>(second), w.scale[1] * d, acc);
  }
  acc = exact_fma(static_cast<float>(first + second), w.scale[0] * d, acc);
  return has_minimum ? exact_fma(w.minimum, x.scale.scaled_sum, acc) : acc;
}

// One weight row against all tokens; out[t * stride] is the accumulator of token t.
template <typename Block>
void multiply_row(const PackedMatrix& w, const std::byte* group, std::size_t row, const ActivationView& x, float* out,
                  std::size_t stride) {
  const bool has_minimum = packed_layout(w.type).has_minimum;
  const std::size_t row_bytes = activation_row_bytes(x.format, x.cols);
  for (std::size_t t = 0; t < x.rows; ++t) out[t * stride] = 0;
  for (std::size_t b = 0; b < w.cols / kSubBlockCols; ++b) {
    const RowBlock block = read_row_block(w.type, group, b, row);
    for (std::size_t t = 0; t < x.rows; ++t) {
      const auto& own = reinterpret_cast<const Block*>(x.data + t * row_bytes)[b];
      out[t * stride] = add_block(w.type, has_minimum, block, own, out[t * stride]);
    }
  }
}

void multiply_float_row(const PackedMatrix& w, const std::byte* group, std::size_t row, const ActivationView& x,
                        float* out, std::size_t stride) {
  const std::size_t row_bytes = activation_row_bytes(x.format, x.cols);
  for (std::size_t t = 0; t < x.rows; ++t) out[t * stride] = 0;
  for (std::size_t k = 0; k < w.cols; ++k) {
    float weight;
    if (w.type == ElementType::f32) {
      std::memcpy(&weight, group + (k * kRowsPerGroup + row) * sizeof(weight), sizeof(weight));
    } else {
      std::uint16_t half;
      std::memcpy(&half, group + (k * kRowsPerGroup + row) * sizeof(half), sizeof(half));
      weight = w.type == ElementType::f16 ? f16_to_f32(half) : bf16_to_f32(half);
    }
    for (std::size_t t = 0; t < x.rows; ++t) {
      const float value = reinterpret_cast<const float*>(x.data + t * row_bytes)[k];
      out[t * stride] = exact_fma(weight, value, out[t * stride]);
    }
  }
}

void matmul(const PackedMatrix& w, const ActivationView& x, std::size_t group_begin, std::size_t group_end, float* y,
            std::size_t y_stride) {
  const auto multiply = x.format == ActivationFormat::q8    ? multiply_row<ActivationBlockQ8>
                        : x.format == ActivationFormat::q16 ? multiply_row<ActivationBlockQ16>
                                                            : multiply_float_row;
  for (std::size_t r = group_begin * kRowsPerGroup; r < std::min(group_end * kRowsPerGroup, w.rows); ++r) {
    const std::byte* group = w.data + r / kRowsPerGroup * w.group_bytes;
    multiply(w, group, r % kRowsPerGroup, x, y + r, y_stride);
  }
}

}  // namespace

const MatmulKernels kMatmulScalar = {prepare_activations, matmul};

}  // namespace rill::kernels
