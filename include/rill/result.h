// The library's one error channel: every call that can fail returns a Result, which holds a value or an Error.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "rill/export.h"

namespace rill {

enum class ErrorCode : std::uint8_t {
  invalid_argument,    // an argument or option is out of its range
  not_found,           // a file, key or name does not exist
  io,                  // the operating system or a read callback reported a failure
  file_truncated,      // the file ends before what it announces
  malformed,           // content that breaks its format
  unsupported,         // well-formed, but something rill does not implement
  limit_exceeded,      // a limit on depth, size, count or steps was reached; the message names it
  out_of_memory,       // an allocation failed
  resource_exhausted,  // a budget that is shared (KV pages, queue) has no room
  context_full,        // the context window has no room for the tokens asked for
  busy,                // the object is in use by another thread
  cancelled,           // a stop token was triggered
  non_finite,          // NaN or infinity where a finite number is needed
  degenerate_logits,   // no token can be chosen: all masked, or not a number
  no_hidden_state,     // nothing was fed since the last truncate, so there are no logits
  stale_handle,        // the handle outlived the state it refers to
  window_evicted,      // a sliding window no longer holds what is asked for
  template_refused,    // the chat template raised an exception; the message is the template's own
  incompatible,        // saved state or file belongs to another model, version or setting
  callback_failed,     // the caller's own code (a callback, a processor, a clock) threw; the message is what() it threw
  internal,            // a defect of rill
};

// The code's name as it stands in the enumeration, e.g. "invalid_argument". Thread-safe.
RILL_EXPORT const char* to_string(ErrorCode code) noexcept;

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // one line, control characters spelled; names the file, tensor, offset, field or position
};

// Thrown by Result::value() for callers who prefer exceptions. what() is "code: message".
class RILL_EXPORT ErrorException : public std::runtime_error {
 public:
  explicit ErrorException(Error error);
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

// Holds a T or an Error; the member names are those of std::expected. Not thread-safe by itself. A temporary Result
// hands its value out as a value, not as a reference into itself, so that `for (x : f().value())` does not dangle.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & { return check(), *std::get_if<0>(&state_); }
  const T& value() const& { return check(), *std::get_if<0>(&state_); }
  T value() && { return check(), std::move(*std::get_if<0>(&state_)); }

  // Undefined unless has_value().
  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  // Undefined if has_value().
  const Error& error() const& noexcept { return *std::get_if<1>(&state_); }
  Error&& error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

  template <typename U>
  T value_or(U&& fallback) && {
    return has_value() ? std::move(**this) : static_cast<T>(std::forward<U>(fallback));
  }

 private:
  void check() const {
    if (!has_value()) throw ErrorException(*std::get_if<1>(&state_));
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const {
    if (error_) throw ErrorException(*error_);
  }
  const Error& error() const& noexcept { return *error_; }
  Error&& error() && noexcept { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace rill
