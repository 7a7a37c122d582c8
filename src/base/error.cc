#include "base/error.h"

namespace rill {

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::io: return "io";
    case ErrorCode::file_truncated: return "file_truncated";
    case ErrorCode::malformed: return "malformed";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::limit_exceeded: return "limit_exceeded";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::resource_exhausted: return "resource_exhausted";
    case ErrorCode::context_full: return "context_full";
    case ErrorCode::busy: return "busy";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::non_finite: return "non_finite";
    case ErrorCode::degenerate_logits: return "degenerate_logits";
    case ErrorCode::no_hidden_state: return "no_hidden_state";
    case ErrorCode::stale_handle: return "stale_handle";
    case ErrorCode::window_evicted: return "window_evicted";
    case ErrorCode::template_refused: return "template_refused";
    case ErrorCode::incompatible: return "incompatible";
    case ErrorCode::callback_failed: return "callback_failed";
    case ErrorCode::internal: return "internal";
  }
  return "unknown";
}

ErrorException::ErrorException(Error error)
    : std::runtime_error(format("{}: {}", to_string(error.code), error.message)), error_(std::move(error)) {}

}  // namespace rill
