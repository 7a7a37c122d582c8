#include "base/buffer.h"

#include <cstdint>
#include <new>

#include "base/error.h"
#include "base/os.h"

namespace rill {

void Buffer::Free::operator()(std::byte* data) const noexcept { ::operator delete (data, std::align_val_t{alignment}); }

Result<Buffer> Buffer::allocate(std::size_t bytes) {
  if (bytes == 0) return Buffer();
  // Some libraries round a size up to the alignment without a check: SIZE_MAX would become 0.
  if (bytes > PTRDIFF_MAX) return make_error(ErrorCode::out_of_memory, "{} bytes could not be allocated", bytes);
  // Below a few huge pages, alignment to one would waste more than it saves.
  const bool huge = bytes >= 2 * os::kHugePageBytes;
  const std::size_t alignment = huge ? os::kHugePageBytes : kAlignment;
  void* data = ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  if (data == nullptr) return make_error(ErrorCode::out_of_memory, "{} bytes could not be allocated", bytes);
  if (huge) os::advise_huge_pages(data, bytes);
  return Buffer(std::unique_ptr<std::byte[], Free>(static_cast<std::byte*>(data), Free{alignment}), bytes);
}

}  // namespace rill
