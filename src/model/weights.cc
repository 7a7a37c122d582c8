#include "model/weights.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/thread_pool.h"
#include "gguf/file.h"
#include "model/packed_cache.h"
#include "tensor/dequantize.h"

namespace rill::model {
namespace {

constexpr std::size_t kSliceBytes = 1 << 20;  // read and packed at a time

// Of a vector among the packed weights.
std::size_t padded_bytes(const gguf::TensorInfo& vector) {
  const std::size_t bytes = static_cast<std::size_t>(vector.elements()) * sizeof(float);
  return (bytes + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
}

class Loader {
 public:
  Loader(const gguf::File& file, const Config& config, std::size_t vocabulary, const LoadControl& control)
      : file_(file),
        config_(config),
        vocabulary_(vocabulary),
        control_(control),
        steps_(control, std::string(file.name())) {}

  Result<Weights> load(const std::filesystem::path& cache);
  Result<WeightBytes> measure();

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

  enum class CacheState {
    none,    // there is to be none, or something else that is not to be replaced
    wanted,  // to be written
    read,    // it gave the weights
  };

  Result<void> name_tensors();
  Result<void> embedding_and_head();
  Result<void> matrix(const std::string& name, std::size_t rows, std::size_t cols, PackedMatrix& out);
  Result<void> vector(const std::string& name, std::size_t length, const float*& out);
  Result<void> refuse_unknown_tensors() const;
  Result<void> place_tensors();
  Result<const gguf::TensorInfo*> claim(const std::string& name, std::size_t rows, std::size_t cols);
  std::size_t vector_bytes() const;
  std::vector<Slice> slices() const;
  static std::size_t largest_bytes(const std::vector<Slice>& slices);
  Result<void> read_vectors();
  Result<void> read_matrices();
  Result<void> pack(const Slice& slice, std::span<std::byte> source) const;
  Result<void> check_rope_factors() const;
  Result<CacheState> read_cache(const std::filesystem::path& path, const PackedKey& key);
  Result<void> write_cache(const std::filesystem::path& path, const PackedKey& key);
  void warn(const Error& error, const char* consequence) const;

  const gguf::File& file_;
  const Config& config_;
  const std::size_t vocabulary_;
  const LoadControl& control_;
  LoadSteps steps_;
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

// Of the vectors, as floats.
std::size_t Loader::vector_bytes() const {
  std::size_t bytes = 0;
  for (const PendingVector& vector : vectors_) bytes += padded_bytes(*vector.tensor);
  return bytes;
}

// Gives every tensor its place in the packed bytes, in the order in which they were named.
Result<void> Loader::place_tensors() {
  RILL_ASSIGN(weights_.bytes, Buffer::allocate(matrix_bytes_ + vector_bytes()));
  for (const PendingMatrix& matrix : matrices_) matrix.matrix->data = weights_.bytes.data() + matrix.offset;
  std::byte* out = weights_.bytes.data() + matrix_bytes_;
  for (const PendingVector& vector : vectors_) {
    *vector.place = reinterpret_cast<const float*>(out);
    out += padded_bytes(*vector.tensor);
  }
  return {};
}

Result<void> Loader::read_vectors() {
  std::ranges::fill(weights_.bytes.bytes().subspan(matrix_bytes_), std::byte{0});  // what lies between them, too
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

// In the order in which they lie in the files.
std::vector<Loader::Slice> Loader::slices() const {
  std::vector<Slice> slices;
  for (const PendingMatrix& pending : matrices_) {
    const PackedMatrix& matrix = *pending.matrix;
    const std::size_t group_bytes = kRowsPerGroup * row_bytes(matrix.type, matrix.cols);
    const std::size_t rows = std::max<std::size_t>(1, kSliceBytes / group_bytes) * kRowsPerGroup;
    for (std::size_t row = 0; row < matrix.rows; row += rows) {
      slices.push_back({&pending, row, std::min(rows, matrix.rows - row)});
    }
  }
  const auto place = [](const Slice& s) {
    return std::tuple(s.pending->tensor->split, s.pending->tensor->offset, s.first_row);
  };
  std::sort(slices.begin(), slices.end(), [&](const Slice& a, const Slice& b) { return place(a) < place(b); });
  return slices;
}

// Bytes that a thread reads at a time.
std::size_t Loader::largest_bytes(const std::vector<Slice>& slices) {
  std::size_t largest = 0;
  for (const Slice& slice : slices) {
    const PackedMatrix& matrix = *slice.pending->matrix;
    largest = std::max(largest, slice.rows * row_bytes(matrix.type, matrix.cols));
  }
  return largest;
}

Result<void> Loader::read_matrices() {
  const std::vector<Slice> slices = this->slices();
  const std::size_t largest = largest_bytes(slices);
  RILL_ASSIGN(Buffer sources, Buffer::allocate(largest * steps_.threads()));
  steps_.expect(slices.size());
  return steps_.run(slices.size(), [&](std::size_t i, std::size_t thread) {
    return pack(slices[i], sources.bytes().subspan(thread * largest, largest));
  });
}

Result<void> Loader::check_rope_factors() const {
  for (std::size_t i = 0; weights_.rope_factors != nullptr && i < config_.rope_dimensions / 2; ++i) {
    if (weights_.rope_factors[i] > 0.0f) continue;
    return make_error(ErrorCode::malformed, "{}: rope_freqs.weight holds {}, not a positive factor", file_.name(),
                      weights_.rope_factors[i]);
  }
  return {};
}

void Loader::warn(const Error& error, const char* consequence) const {
  if (control_.log) control_.log(LogLevel::warning, format("{}; {}", error.message, consequence));
}

Result<Loader::CacheState> Loader::read_cache(const std::filesystem::path& path, const PackedKey& key) {
  constexpr const char* kConsequence = "the packed cache is made anew";
  Result<ByteSourcePtr> source = open_file(path);
  if (!source && source.error().code == ErrorCode::not_found) return CacheState::wanted;
  if (!source) return warn(source.error(), "it is no packed cache and left as it is"), CacheState::none;
  const Result<PackedCache> cache = PackedCache::open(*std::move(source), key);
  if (!cache && cache.error().code == ErrorCode::invalid_argument) return cache.error();
  if (!cache) return warn(cache.error(), kConsequence), CacheState::wanted;

  // A step is a huge page, so that no two threads wait for the same one to be cleared.
  constexpr std::size_t kSlicesPerStep = os::kHugePageBytes / kPackedSliceBytes;
  const std::size_t count = cache->checksums().size();
  const std::size_t steps = (count + kSlicesPerStep - 1) / kSlicesPerStep;
  std::vector<Result<void>> read(count);
  steps_.expect(steps);
  RILL_TRY(steps_.run(steps, [&](std::size_t step, std::size_t) -> Result<void> {
    for (std::size_t i = step * kSlicesPerStep; i < std::min((step + 1) * kSlicesPerStep, count); ++i) {
      read[i] = cache->read(i, weights_.bytes.bytes());
    }
    return {};
  }));
  for (const Result<void>& slice : read) {
    if (!slice) return warn(slice.error(), kConsequence), CacheState::wanted;
  }
  weights_.digest = weights_digest(weights_.head_digest, cache->checksums());
  return CacheState::read;
}

Result<void> Loader::write_cache(const std::filesystem::path& path, const PackedKey& key) {
  const std::span<const std::byte> packed = weights_.bytes.bytes();
  std::vector<std::uint64_t> checksums(packed_slices(packed.size()));
  control_.pool->workers().run(
      checksums.size(), [&](std::size_t i, std::size_t) noexcept { checksums[i] = checksum(packed_slice(packed, i)); });
  weights_.digest = weights_digest(weights_.head_digest, checksums);
  Result<os::NewFile> file = begin_packed_cache(path, key, checksums);
  Result<void> written = file ? Result<void>() : file.error();
  for (std::size_t i = 0; i < checksums.size(); ++i) {
    if (written) written = file->append(packed_slice(packed, i));
    RILL_TRY(steps_.advance(1));
  }
  if (written) written = file->commit();
  if (!written) warn(written.error(), "the model is loaded without a packed cache");
  return {};
}

Result<WeightBytes> Loader::measure() {
  RILL_TRY(name_tensors());
  RILL_TRY(refuse_unknown_tensors());
  return WeightBytes{matrix_bytes_ + vector_bytes(), largest_bytes(slices())};
}

Result<Weights> Loader::load(const std::filesystem::path& cache) {
  RILL_TRY(name_tensors());
  RILL_TRY(refuse_unknown_tensors());
  RILL_TRY(place_tensors());
  weights_.head_digest = file_.head_digest();
  PackedKey key;
  CacheState state = CacheState::none;
  if (!cache.empty()) {
    RILL_ASSIGN(key.state, file_.state_digest());
    key.bytes = weights_.bytes.size();
    RILL_ASSIGN(state, read_cache(cache, key));
  }
  if (state != CacheState::read) {
    if (state == CacheState::wanted) steps_.expect(packed_slices(weights_.bytes.size()));
    RILL_TRY(read_vectors());
    RILL_TRY(read_matrices());
  }
  RILL_TRY(check_rope_factors());
  if (state == CacheState::wanted) RILL_TRY(write_cache(cache, key));
  if (weights_.head.data == nullptr) weights_.head = weights_.embedding;
  weights_.head.rows = vocabulary_;  // ids past the vocabulary have no text and are never computed
  return std::move(weights_);
}

}  // namespace

Result<WeightBytes> measure_weights(const gguf::File& file, const Config& config, std::size_t vocabulary) {
  return Loader(file, config, vocabulary, {}).measure();
}

Result<Weights> load_weights(const gguf::File& file, const Config& config, std::size_t vocabulary,
                             const std::filesystem::path& cache, const LoadControl& control) {
  return Loader(file, config, vocabulary, control).load(cache);
}

}  // namespace rill::model
