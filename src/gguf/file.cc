#include "gguf/file.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "gguf/reader.h"

namespace rill::gguf {
namespace {

constexpr std::string_view kSplitNumber = "split.no";  // counts from 0
constexpr std::string_view kSplitCount = "split.count";
constexpr std::string_view kSplitTensors = "split.tensors.count";
constexpr std::uint32_t kMaxSplits = 1024;

// A file that is not split is the first of one.
struct Split {
  std::uint32_t number = 0;
  std::uint32_t count = 1;
};

Result<Split> split_of(const Metadata& metadata) {
  Split split;
  RILL_ASSIGN(split.count, metadata.get_or<std::uint32_t>(kSplitCount, 1));
  if (split.count <= 1) return Split();
  RILL_ASSIGN(split.number, metadata.get<std::uint32_t>(kSplitNumber));
  if (split.count > kMaxSplits) {
    return make_error(ErrorCode::limit_exceeded, "{}: {} split files pass the limit of {}", metadata.source_name(),
                      split.count, kMaxSplits);
  }
  return split;
}

// The ending that a file of a split model must have, e.g. "-00001-of-00003.gguf".
std::string split_ending(std::uint32_t number, std::uint32_t count) {
  return format("-{:05}-of-{:05}.gguf", number + 1, count);
}

Result<std::filesystem::path> sibling(const std::filesystem::path& first, std::uint32_t number, std::uint32_t count) {
  const std::u8string text = first.filename().u8string();
  std::string name(text.begin(), text.end());
  const std::string ending = split_ending(0, count);
  if (!name.ends_with(ending)) {
    return make_error(ErrorCode::malformed, "{}: it is the first of {} split files, so its name must end in {}", name,
                      count, ending);
  }
  name.replace(name.size() - ending.size(), ending.size(), split_ending(number, count));
  return first.parent_path() / path_from_utf8(name);
}

}  // namespace

Result<File> File::open(const std::filesystem::path& path) {
  return guarded([&]() -> Result<File> {
    RILL_ASSIGN(ByteSourcePtr first, open_file(path));
    return open(std::move(first), [&](std::uint32_t number, std::uint32_t count) -> Result<ByteSourcePtr> {
      RILL_ASSIGN(const std::filesystem::path next, sibling(path, number, count));
      return open_file(next);
    });
  });
}

Result<File> File::open(const std::vector<ByteSourcePtr>& sources) {
  return guarded([&]() -> Result<File> {
    if (sources.empty() || std::find(sources.begin(), sources.end(), nullptr) != sources.end()) {
      return make_error(ErrorCode::invalid_argument, "a GGUF file needs at least one source, and none that is null");
    }
    RILL_ASSIGN(File file, open(sources[0], [&](std::uint32_t number, std::uint32_t count) -> Result<ByteSourcePtr> {
                  if (number < sources.size()) return sources[number];
                  return make_error(ErrorCode::invalid_argument,
                                    "{}: it is the first of {} split files, but {} sources were given",
                                    sources[0]->name(), count, sources.size());
                }));
    if (sources.size() != file.sources_.size()) {
      return make_error(ErrorCode::invalid_argument, "{}: the model has {} files, but {} sources were given",
                        file.name(), file.sources_.size(), sources.size());
    }
    return file;
  });
}

Result<File> File::open(ByteSourcePtr first, const NextSource& next) {
  File file;
  RILL_ASSIGN(Head head, read_head(*first));
  RILL_ASSIGN(const Split split, split_of(head.metadata));
  if (split.number != 0) {
    return make_error(ErrorCode::invalid_argument, "{}: it is file {} of {} of a split model: open the first",
                      first->name(), split.number + 1, split.count);
  }
  file.version_ = head.version;
  file.metadata_ = std::move(head.metadata);
  file.tensors_ = std::move(head.tensors);
  file.head_digest_ = head.digest;
  file.sources_.push_back(std::move(first));
  for (std::uint32_t i = 1; i < split.count; ++i) {
    RILL_ASSIGN(ByteSourcePtr source, next(i, split.count));
    RILL_TRY(file.append_split(std::move(source), split.count));
  }
  if (split.count > 1) {
    RILL_ASSIGN(const auto total, file.metadata_.get<std::uint64_t>(kSplitTensors));
    if (total != file.tensors_.size()) {
      return make_error(ErrorCode::malformed, "{}: {} is {}, but the {} files hold {} tensors", file.name(),
                        kSplitTensors, total, split.count, file.tensors_.size());
    }
  }
  RILL_TRY(file.index_tensors());
  return file;
}

Result<void> File::append_split(ByteSourcePtr source, std::uint32_t count) {
  RILL_ASSIGN(Head head, read_head(*source));
  RILL_ASSIGN(const Split split, split_of(head.metadata));
  if (split.number != sources_.size() || split.count != count) {
    return make_error(ErrorCode::malformed,
                      "{}: it says that it is file {} of {}, but stands where file {} of {} of the model must be",
                      source->name(), split.number + 1, split.count, sources_.size() + 1, count);
  }
  for (TensorInfo& tensor : head.tensors) {
    tensor.split = sources_.size();
    tensors_.push_back(std::move(tensor));
  }
  Hasher heads;
  heads.add_value(head_digest_);
  heads.add_value(head.digest);
  head_digest_ = heads.digest();
  sources_.push_back(std::move(source));
  return {};
}

Result<void> File::index_tensors() {
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::sort(by_name_.begin(), by_name_.end(), [this](auto a, auto b) { return tensors_[a].name < tensors_[b].name; });
  const auto twice = std::adjacent_find(by_name_.begin(), by_name_.end(),
                                        [this](auto a, auto b) { return tensors_[a].name == tensors_[b].name; });
  if (twice == by_name_.end()) return {};
  return make_error(ErrorCode::malformed, "{}: tensor '{}' occurs twice", name(), tensors_[*twice].name);
}

std::uint64_t File::size() const {
  std::uint64_t total = 0;
  for (const ByteSourcePtr& source : sources_) total += source->size();
  return total;
}

Result<Digest> File::state_digest() const {
  constexpr std::uint64_t kSamples = 32;  // of each file: 0.1 ms
  std::array<std::byte, 4096> sample;
  Hasher state;
  state.add_value(head_digest_);
  for (const ByteSourcePtr& source : sources_) {
    const std::optional<std::int64_t> version = source->version();
    if (!version) {
      return make_error(ErrorCode::invalid_argument, "{}: it has no version that tells whether its content has changed",
                        source->name());
    }
    state.add_value(source->size());
    state.add_value(*version);
    for (std::uint64_t i = 0; i < kSamples && source->size() >= sample.size(); ++i) {
      RILL_TRY(source->read((source->size() - sample.size()) / kSamples * i, sample));
      state.add(sample);
    }
  }
  return state.digest();
}

const TensorInfo* File::find_tensor(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [this](std::size_t i, std::string_view wanted) { return tensors_[i].name < wanted; });
  return found == by_name_.end() || tensors_[*found].name != name ? nullptr : &tensors_[*found];
}

Result<const TensorInfo*> File::require_tensor(std::string_view name) const {
  if (const TensorInfo* tensor = find_tensor(name)) return tensor;
  return make_error(ErrorCode::not_found, "{}: tensor '{}' is missing", this->name(), name);
}

Result<void> File::read(const TensorInfo& tensor, std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > tensor.bytes || out.size() > tensor.bytes - offset) {
    return make_error(ErrorCode::invalid_argument, "{}: tensor '{}': {} bytes at offset {} pass its {} bytes", name(),
                      tensor.name, out.size(), offset, tensor.bytes);
  }
  Result<void> done = sources_[tensor.split]->read(tensor.offset + offset, out);
  if (!done) return make_error(done.error().code, "tensor '{}': {}", tensor.name, done.error().message);
  return {};
}

}  // namespace rill::gguf
