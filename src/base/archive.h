// Values as bytes, little-endian, and back. One function describes a struct for both directions:
//
//   template <typename Archive>
//   void fields(Archive& archive, ByteRange& range) { archive(range.begin, range.end); }
//
// What is read is outside bytes: a count is never believed beyond the bytes that follow, and a reader that met
// something wrong gives empty values from there on and says so in finish().
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace rill {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in memory");

// The greatest valid value of an enumeration that is archived; to be specialised.
template <typename Enum>
inline constexpr Enum kLastOf;

template <typename T>
concept Number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

// One size on every machine.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, std::size_t>, std::uint64_t, T>;

// Lies in an archive as in memory.
template <typename T>
concept Plain = std::is_same_v<T, std::byte> || (Number<T> && sizeof(T) == sizeof(Stored<T>));

class ArchiveWriter {
 public:
  static constexpr bool kReading = false;

  template <typename... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  // A value that the reader must have, too.
  template <typename T>
  void expect(const T& value) {
    put(value);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void put_bytes(const void* data, std::size_t count) {
    const std::size_t end = bytes_.size();
    bytes_.resize(end + count);
    if (count > 0) std::memcpy(bytes_.data() + end, data, count);
  }

  template <typename T>
  void put(const T& value) {
    if constexpr (Number<T>) {
      const auto stored = static_cast<Stored<T>>(value);
      put_bytes(&stored, sizeof(stored));
    } else if constexpr (std::is_same_v<T, bool>) {
      put(static_cast<std::uint8_t>(value));
    } else if constexpr (std::is_enum_v<T>) {
      put(static_cast<std::underlying_type_t<T>>(value));
    } else if constexpr (std::is_same_v<T, std::chrono::nanoseconds>) {
      put(std::int64_t{value.count()});
    } else {
      fields(*this, const_cast<T&>(value));  // describes both directions, and this one does not write
    }
  }
  void put(const std::string& text) {
    put(text.size());
    put_bytes(text.data(), text.size());
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    put(values.size());
    if constexpr (Plain<T>) {
      put_bytes(values.data(), values.size() * sizeof(T));
    } else {
      for (const T& value : values) put(value);
    }
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }

  std::vector<std::byte> bytes_;
};

class ArchiveReader {
 public:
  static constexpr bool kReading = true;

  explicit ArchiveReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <typename... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  template <typename T>
  void expect(const T& value) {
    ArchiveWriter own;
    own(value);
    const std::vector<std::byte> wanted = own.take();
    const std::span<const std::byte> read = get_bytes(wanted.size());
    if (!failed_ && !std::equal(read.begin(), read.end(), wanted.begin())) fail(ErrorCode::incompatible);
  }
  void fail(ErrorCode code = ErrorCode::malformed) {
    if (failed_) return;
    failed_ = true;
    error_ = code;
    left_ = {};
  }
  bool failed() const { return failed_; }
  std::size_t left() const { return left_.size(); }

  // malformed: something was wrong, or more follows. incompatible: expect() found another value.
  Result<void> finish(const char* what) const {
    if (!failed_ && left_.empty()) return {};
    const bool incompatible = failed_ && error_ == ErrorCode::incompatible;
    return make_error(incompatible ? error_ : ErrorCode::malformed, "{}: {}", what,
                      incompatible ? "saved with other options" : "not what was saved");
  }

 private:
  std::span<const std::byte> get_bytes(std::size_t count) {
    if (count > left_.size()) fail();
    if (failed_) return {};
    const auto bytes = left_.first(count);
    left_ = left_.subspan(count);
    return bytes;
  }

  template <typename T>
  void get(T& value) {
    if constexpr (Number<T>) {
      Stored<T> stored = 0;
      if (const auto bytes = get_bytes(sizeof(stored)); !failed_) std::memcpy(&stored, bytes.data(), sizeof(stored));
      value = static_cast<T>(stored);
      if constexpr (sizeof(T) < sizeof(stored)) {
        if (value != stored) fail();  // a size that this machine does not have
      }
    } else if constexpr (std::is_same_v<T, bool>) {
      value = get_up_to<std::uint8_t>(1) != 0;
    } else if constexpr (std::is_enum_v<T>) {
      using Underlying = std::underlying_type_t<T>;
      value = static_cast<T>(get_up_to<Underlying>(static_cast<Underlying>(kLastOf<T>)));
    } else if constexpr (std::is_same_v<T, std::chrono::nanoseconds>) {
      std::int64_t count = 0;
      get(count);
      value = T(count);
    } else {
      fields(*this, value);
    }
  }
  template <typename T>
  T get_up_to(T most) {
    T value = 0;
    get(value);
    if (value > most) fail();
    return failed_ ? T{0} : value;
  }
  void get(std::string& text) {
    const auto bytes = get_bytes(get_count());
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  template <typename T>
  void get(std::vector<T>& values) {
    const std::size_t count = get_count();
    values.clear();
    if constexpr (Plain<T>) {
      if (count > left_.size() / sizeof(T)) fail();
      const auto bytes = get_bytes(failed_ ? 0 : count * sizeof(T));
      values.resize(bytes.size() / sizeof(T));
      if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    } else {
      for (std::size_t i = 0; i < count && !failed_; ++i) get(values.emplace_back());
    }
  }
  template <typename T>
  void get(std::optional<T>& value) {
    bool present = false;
    get(present);
    value.reset();
    if (present) get(value.emplace());
  }
  // Every element takes a byte at least.
  std::size_t get_count() {
    std::size_t count = 0;
    get(count);
    if (count > left_.size()) fail();
    return failed_ ? 0 : count;
  }

  std::span<const std::byte> left_;
  bool failed_ = false;
  ErrorCode error_ = ErrorCode::malformed;  // of what failed first
};

}  // namespace rill
