#include "rill/byte_source.h"

#include <cstring>
#include <exception>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/os.h"

namespace rill {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(os::File file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  std::uint64_t size() const noexcept override { return file_.size(); }
  std::optional<std::int64_t> version() const noexcept override { return file_.modified(); }
  std::string_view name() const noexcept override { return name_; }

 protected:
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const override {
    return file_.read_some(offset, out);
  }

 private:
  os::File file_;
  std::string name_;
};

class BufferSource final : public ByteSource {
 public:
  BufferSource(std::vector<std::byte> owned, std::string name)
      : owned_(std::move(owned)), bytes_(owned_), name_(std::move(name)) {}
  BufferSource(std::span<const std::byte> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}
  std::uint64_t size() const noexcept override { return bytes_.size(); }
  std::string_view name() const noexcept override { return name_; }

 protected:
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return out.size();
  }

 private:
  std::vector<std::byte> owned_;
  std::span<const std::byte> bytes_;
  std::string name_;
};

class CallbackSource final : public ByteSource {
 public:
  CallbackSource(std::uint64_t size, ReadCallback callback, std::string name)
      : size_(size), callback_(std::move(callback)), name_(std::move(name)) {}
  std::uint64_t size() const noexcept override { return size_; }
  std::string_view name() const noexcept override { return name_; }

 protected:
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const override {
    return callback_(offset, out);
  }

 private:
  std::uint64_t size_;
  ReadCallback callback_;
  std::string name_;
};

template <typename Source, typename... Args>
Result<ByteSourcePtr> make_source(Args&&... args) {
  return guarded(
      [&]() -> Result<ByteSourcePtr> { return ByteSourcePtr(std::make_shared<Source>(std::forward<Args>(args)...)); });
}

// A source may be of the user's own class and throw anything.
Result<std::size_t> call_guarded(const std::function<Result<std::size_t>()>& read) {
  try {
    return read();
  } catch (const std::exception& exception) {
    return make_error(ErrorCode::io, "reading threw: {}", exception.what());
  } catch (...) {
    return make_error(ErrorCode::io, "reading threw something that is no std::exception");
  }
}

}  // namespace

ByteSource::~ByteSource() = default;

Result<void> ByteSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  const std::uint64_t total = size();
  if (offset > total || out.size() > total - offset) {
    return make_error(ErrorCode::file_truncated, "{}: {} bytes at offset {} are needed, but it has only {} bytes",
                      name(), out.size(), offset, total);
  }
  while (!out.empty()) {
    const Result<std::size_t> count = call_guarded([&] { return read_some(offset, out); });
    if (!count) return make_error(count.error().code, "{}: offset {}: {}", name(), offset, count.error().message);
    if (*count > out.size()) {
      return make_error(ErrorCode::io, "{}: offset {}: {} bytes were asked for and {} reported", name(), offset,
                        out.size(), *count);
    }
    if (*count == 0) {
      return make_error(ErrorCode::file_truncated, "{}: it ends at offset {}, but had {} bytes when it was opened",
                        name(), offset, total);
    }
    offset += *count;
    out = out.subspan(*count);
  }
  return {};
}

Result<ByteSourcePtr> open_file(const std::filesystem::path& path) {
  return guarded([&]() -> Result<ByteSourcePtr> {
    RILL_ASSIGN(os::File file, os::File::open(path));
    const std::u8string name = path.u8string();
    return make_source<FileSource>(std::move(file), std::string(name.begin(), name.end()));
  });
}

std::filesystem::path path_from_utf8(std::string_view utf8) {
  return std::filesystem::path(std::u8string(utf8.begin(), utf8.end()));
}

Result<ByteSourcePtr> borrow_buffer(std::span<const std::byte> bytes, std::string name) {
  return make_source<BufferSource>(bytes, std::move(name));
}

Result<ByteSourcePtr> own_buffer(std::vector<std::byte> bytes, std::string name) {
  return make_source<BufferSource>(std::move(bytes), std::move(name));
}

Result<ByteSourcePtr> from_callback(std::uint64_t size, ReadCallback callback, std::string name) {
  if (!callback) return make_error(ErrorCode::invalid_argument, "{}: the read callback is empty", name);
  return make_source<CallbackSource>(size, std::move(callback), std::move(name));
}

}  // namespace rill
