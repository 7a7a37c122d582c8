#include "rill/logits.h"

#include <algorithm>

#include "base/error.h"

namespace rill {

LogitsSource::~LogitsSource() = default;

Result<void> DenseLogits::all(std::span<float> out) const {
  if (out.size() != logits_.size()) {
    return make_error(ErrorCode::invalid_argument, "room for {} logits given, there are {}", out.size(),
                      logits_.size());
  }
  std::copy(logits_.begin(), logits_.end(), out.begin());
  return {};
}

Result<void> DenseLogits::rows(std::span<const Token> ids, std::span<float> out) const {
  if (out.size() != ids.size()) {
    return make_error(ErrorCode::invalid_argument, "room for {} logits given, {} asked for", out.size(), ids.size());
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || static_cast<std::size_t>(ids[i]) >= logits_.size()) {
      return make_error(ErrorCode::invalid_argument, "token {} is outside the vocabulary of {}", ids[i],
                        logits_.size());
    }
    out[i] = logits_[static_cast<std::size_t>(ids[i])];
  }
  return {};
}

}  // namespace rill
