#include "model/weights.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/thread_pool.h"
#include "gguf/file.h"
#include "tensor/dequantize.h"

namespace rill::model {
namespace {

constexpr std::size_t kSliceBytes = 1 << 20;  // read and packed at a time
constexpr std::size_t kSlicesPerThread = 4;   // between two looks at the stop token

class Loader {
 public:
  Loader(const gguf::File& file, const Config& config, std::size_t vocabulary, const LoadControl& control)
      : file_(file), config_(config), vocabulary_(vocabulary), control_(control) {}

  Result<Weights> load();

 private:
  struct PendingMatrix {
    const gguf::TensorInfo* tensor;
    PackedMatrix* matrix;
    std::size_t offset;  // in Weights::bytes
  };
  struct PendingVector {
    const gguf::TensorInfo* tensor;
    const float** place;
  };
  struct Slice {
    const PendingMatrix* pending;
    std::size_t first_row;
    std::size_t rows;
  };

  Result<void> name_tensors();
  Result<void> embedding_and_head();
  Result<void> matrix(const std::string& name, std::size_t rows, std::size_t cols, PackedMatrix& out);
  Result<void> vector(const std::string& name, std::size_t length, const float*& out);
  Result<void> refuse_unknown_tensors() const;
  Result<void> place_tensors();
  Result<const gguf::TensorInfo*> claim(const std::string& name, std::size_t rows, std::size_t cols);
  Result<void> read_vectors();
  Result<void> read_matrices();
  Result<void> pack(const Slice& slice, std::span<std::byte> source) const;
  Result<void> check_rope_factors() const;

  const gguf::File& file_;
  const Config& config_;
  const std::size_t vocabulary_;
  const LoadControl& control_;
  Weights weights_;
  std::set<std::string, std::less<>> claimed_;
  std::vector<PendingMatrix> matrices_;
  std::vector<PendingVector> vectors_;
  std::size_t matrix_bytes_ = 0;
};

Result<const gguf::TensorInfo*> Loader::claim(const std::string& name, std::size_t rows, std::size_t cols) {
  RILL_ASSIGN(const gguf::TensorInfo* tensor, file_.require_tensor(name));
  if (tensor->rows() != rows || tensor->cols() != cols) {
    return make_error(ErrorCode::malformed, "{}: tensor {} is [{}, {}], but the hyper-parameters make it [{}, {}]",
                      file_.name(), name, tensor->rows(), tensor->cols(), rows, cols);
  }
  claimed_.insert(name);
  weights_.parameters += tensor->elements();
  return tensor;
}

Result<void> Loader::matrix(const std::string& name, std::size_t rows, std::size_t cols, PackedMatrix& out) {
  RILL_ASSIGN(const gguf::TensorInfo* tensor, claim(name, rows, cols));
  out = {tensor->type, rows, cols, packed_group_bytes(tensor->type, cols), nullptr};
  matrices_.push_back({tensor, &out, matrix_bytes_});
  matrix_bytes_ += out.groups() * out.group_bytes;
  weights_.bytes_by_type[tensor->type] += tensor->bytes;
  return {};
}

Result<void> Loader::vector(const std::string& name, std::size_t length, const float*& out) {
  RILL_ASSIGN(const gguf::TensorInfo* tensor, claim(name, 1, length));
  vectors_.push_back({tensor, &out});
  return {};
}

Result<void> Loader::embedding_and_head() {
  const std::size_t n = config_.embedding_length;
  RILL_ASSIGN(const gguf::TensorInfo* embedding, file_.require_tensor("token_embd.weight"));
  const bool tied = file_.find_tensor("output.weight") == nullptr;
  const gguf::TensorInfo* head = tied ? embedding : file_.find_tensor("output.weight");
  for (const gguf::TensorInfo* tensor : {embedding, head}) {
    if (tensor->rows() < vocabulary_) {
      return make_error(ErrorCode::malformed, "{}: the vocabulary has {} tokens, but {} has {} rows", file_.name(),
                        vocabulary_, tensor->name, tensor->rows());
    }
  }
  RILL_TRY(matrix("token_embd.weight", static_cast<std::size_t>(embedding->rows()), n, weights_.embedding));
  if (!tied) RILL_TRY(matrix("output.weight", static_cast<std::size_t>(head->rows()), n, weights_.head));
  return {};
}

Result<void> Loader::name_tensors() {
  const std::size_t n = config_.embedding_length;
  const std::size_t f = config_.feed_forward_length;
  RILL_TRY(embedding_and_head());
  RILL_TRY(vector("output_norm.weight", n, weights_.output_norm));
  if (file_.find_tensor("rope_freqs.weight") != nullptr) {
    RILL_TRY(vector("rope_freqs.weight", config_.rope_dimensions / 2, weights_.rope_factors));
  }
  weights_.layers.resize(config_.layers);
  for (std::size_t i = 0; i < config_.layers; ++i) {
    Layer& layer = weights_.layers[i];
    const auto name = [&](const char* part) { return format("blk.{}.{}.weight", i, part); };
    RILL_TRY(vector(name("attn_norm"), n, layer.attention_norm));
    RILL_TRY(matrix(name("attn_q"), config_.query_length(), n, layer.query));
    RILL_TRY(matrix(name("attn_k"), config_.kv_length(), n, layer.key));
    RILL_TRY(matrix(name("attn_v"), config_.kv_length(), n, layer.value));
    RILL_TRY(matrix(name("attn_output"), n, config_.query_length(), layer.output));
    RILL_TRY(vector(name("ffn_norm"), n, layer.feed_forward_norm));
    RILL_TRY(matrix(name("ffn_gate"), f, n, layer.gate));
    RILL_TRY(matrix(name("ffn_up"), f, n, layer.up));
    RILL_TRY(matrix(name("ffn_down"), n, f, layer.down));
    if (config_.query_key_norm) {
      RILL_TRY(vector(name("attn_q_norm"), config_.head_dim, layer.query_norm));
      RILL_TRY(vector(name("attn_k_norm"), config_.head_dim, layer.key_norm));
    }
    if (config_.post_norms) {
      RILL_TRY(vector(name("post_attention_norm"), n, layer.post_attention_norm));
      RILL_TRY(vector(name("post_ffw_norm"), n, layer.post_feed_forward_norm));
    }
  }
  return {};
}

Result<void> Loader::refuse_unknown_tensors() const {
  for (const gguf::TensorInfo& tensor : file_.tensors()) {
    if (claimed_.find(tensor.name) == claimed_.end()) {
      return make_error(ErrorCode::unsupported,
                        "{}: tensor {} has no place in a model of {} layers of this architecture", file_.name(),
                        tensor.name, config_.layers);
    }
  }
  return {};
}

// Gives every tensor its place in the packed bytes, in the order in which they were named.
Result<void> Loader::place_tensors() {
  constexpr std::size_t kFloats = Buffer::kAlignment / sizeof(float);
  const auto padded = [](const PendingVector& vector) {
    return (static_cast<std::size_t>(vector.tensor->elements()) + kFloats - 1) / kFloats * kFloats;
  };
  std::size_t floats = 0;
  for (const PendingVector& vector : vectors_) floats += padded(vector);
  RILL_ASSIGN(weights_.bytes, Buffer::allocate(matrix_bytes_ + floats * sizeof(float)));
  for (const PendingMatrix& matrix : matrices_) matrix.matrix->data = weights_.bytes.data() + matrix.offset;
  auto out = reinterpret_cast<float*>(weights_.bytes.data() + matrix_bytes_);
  std::fill_n(out, floats, 0.0f);
  for (const PendingVector& vector : vectors_) {
    *vector.place = out;
    out += padded(vector);
  }
  return {};
}

Result<void> Loader::read_vectors() {
  std::vector<std::byte> bytes;
  for (const auto& [tensor, place] : vectors_) {
    bytes.resize(static_cast<std::size_t>(tensor->bytes));
    RILL_TRY(file_.read(*tensor, 0, bytes));
    dequantize(tensor->type, bytes.data(), const_cast<float*>(*place), static_cast<std::size_t>(tensor->elements()));
  }
  return {};
}

Result<void> Loader::pack(const Slice& slice, std::span<std::byte> source) const {
  const PackedMatrix& matrix = *slice.pending->matrix;
  const std::size_t bytes_per_row = row_bytes(matrix.type, matrix.cols);
  source = source.first(slice.rows * bytes_per_row);
  RILL_TRY(file_.read(*slice.pending->tensor, slice.first_row * bytes_per_row, source));
  std::byte* out = const_cast<std::byte*>(matrix.data) + slice.first_row / kRowsPerGroup * matrix.group_bytes;
  for (std::size_t row = 0; row < slice.rows; row += kRowsPerGroup, out += matrix.group_bytes) {
    const std::size_t rows = std::min(kRowsPerGroup, slice.rows - row);
    pack_group(matrix.type, rows, matrix.cols, source.subspan(row * bytes_per_row, rows * bytes_per_row),
               {out, matrix.group_bytes});
  }
  return {};
}

Result<void> Loader::read_matrices() {
  std::vector<Slice> slices;
  std::size_t largest = 0;
  for (const PendingMatrix& pending : matrices_) {
    const PackedMatrix& matrix = *pending.matrix;
    const std::size_t bytes_per_row = row_bytes(matrix.type, matrix.cols);
    const std::size_t rows = std::max<std::size_t>(1, kSliceBytes / (kRowsPerGroup * bytes_per_row)) * kRowsPerGroup;
    largest = std::max(largest, rows * bytes_per_row);
    for (std::size_t row = 0; row < matrix.rows; row += rows) {
      slices.push_back({&pending, row, std::min(rows, matrix.rows - row)});
    }
  }
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    const auto key = [](const Slice& s) {
      return std::tuple(s.pending->tensor->split, s.pending->tensor->offset, s.first_row);
    };
    return key(a) < key(b);
  });

  Workers& workers = control_.pool->workers();
  RILL_ASSIGN(Buffer sources, Buffer::allocate(largest * workers.threads()));
  std::mutex mutex;
  std::optional<Error> error;
  const std::size_t batch = kSlicesPerThread * workers.threads();
  for (std::size_t first = 0; first < slices.size(); first += batch) {
    if (control_.stop.stop_requested()) {
      return make_error(ErrorCode::cancelled, "{}: loading was stopped", file_.name());
    }
    workers.run(std::min(batch, slices.size() - first), [&](std::size_t i, std::size_t thread) noexcept {
      const auto packed =
          guarded([&] { return pack(slices[first + i], sources.bytes().subspan(thread * largest, largest)); });
      if (packed) return;
      const std::lock_guard lock(mutex);
      if (!error) error = packed.error();
    });
    if (error) return *std::move(error);
    if (control_.progress && first + batch < slices.size()) {
      control_.progress(static_cast<double>(first + batch) / static_cast<double>(slices.size()));
    }
  }
  return {};
}

Result<void> Loader::check_rope_factors() const {
  for (std::size_t i = 0; weights_.rope_factors != nullptr && i < config_.rope_dimensions / 2; ++i) {
    if (weights_.rope_factors[i] > 0.0f) continue;
    return make_error(ErrorCode::malformed, "{}: rope_freqs.weight holds {}, not a positive factor", file_.name(),
                      weights_.rope_factors[i]);
  }
  return {};
}

Result<Weights> Loader::load() {
  RILL_TRY(name_tensors());
  RILL_TRY(refuse_unknown_tensors());
  RILL_TRY(place_tensors());
  RILL_TRY(read_vectors());
  RILL_TRY(read_matrices());
  RILL_TRY(check_rope_factors());
  if (weights_.head.data == nullptr) weights_.head = weights_.embedding;
  weights_.source = file_.head_digest();
  weights_.head.rows = vocabulary_;  // ids past the vocabulary have no text and are never computed
  return std::move(weights_);
}

}  // namespace

Result<Weights> load_weights(const gguf::File& file, const Config& config, std::size_t vocabulary,
                             const LoadControl& control) {
  return Loader(file, config, vocabulary, control).load();
}

}  // namespace rill::model
