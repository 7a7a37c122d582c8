// Any bytes as a GGUF file: opened or refused, and what opens can be read in full.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "gguf/file.h"
#include "tensor/dequantize.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rill;
  const ByteSourcePtr source = borrow_buffer(std::as_bytes(std::span(data, size))).value();
  const Result<gguf::File> file = gguf::File::open(std::vector<ByteSourcePtr>{source});
  if (!file) return 0;

  const gguf::Metadata& metadata = file->metadata();
  std::size_t bytes = 0;
  for (const auto& [key, value] : metadata.values()) {
    (void)metadata.get<std::int32_t>(key);
    (void)metadata.get<float>(key);
    (void)metadata.get_array<std::uint32_t>(key);
    if (const auto strings = metadata.get_strings(key)) {
      for (std::size_t i = 0; i < (*strings)->size(); ++i) bytes += (**strings)[i].size();
    }
  }
  if (bytes > size) std::abort();

  for (const gguf::TensorInfo& tensor : file->tensors()) {
    // The reader has promised that the data are there: a failure to read them is a defect.
    std::vector<std::byte> encoded(tensor.bytes);
    if (file->find_tensor(tensor.name) != &tensor || !file->read(tensor, 0, encoded)) std::abort();
    std::vector<float> decoded(tensor.elements());
    dequantize(tensor.type, encoded.data(), decoded.data(), decoded.size());
  }
  return 0;
}
