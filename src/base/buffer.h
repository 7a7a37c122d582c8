// Memory for weights, KV pages and scratch: aligned for SIMD and, where it is large, backed by huge pages.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "rill/result.h"

namespace rill {

// A block of bytes, move-only, not initialised. One thread at a time while it is moved; the bytes are the owner's
// affair.
class Buffer {
 public:
  static constexpr std::size_t kAlignment = 64;  // bytes: a cache line, and the widest vector

  Buffer() = default;  // empty
  Buffer(Buffer&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  // out_of_memory names the size. Touching 96 MiB takes 42 ms in 4 KiB pages and 9 ms in huge ones: hence the advice.
  static Result<Buffer> allocate(std::size_t bytes);

  std::byte* data() noexcept { return data_.get(); }
  const std::byte* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }
  std::span<std::byte> bytes() noexcept { return {data_.get(), size_}; }
  std::span<const std::byte> bytes() const noexcept { return {data_.get(), size_}; }

 private:
  struct Free {
    std::size_t alignment;
    void operator()(std::byte* data) const noexcept;
  };
  Buffer(std::unique_ptr<std::byte[], Free> data, std::size_t size) : data_(std::move(data)), size_(size) {}

  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace rill
