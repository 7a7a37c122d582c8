// Refusal of option values that are out of range, in one wording.
#pragma once

#include <cmath>

#include "base/error.h"

namespace rill::sampling {

inline Error refused(const char* option, double value, const char* requirement) {
  return make_error(ErrorCode::invalid_argument, "{} = {}: must be {}", option, value, requirement);
}

inline Result<void> check_at_least(const char* option, float value, float lowest, const char* requirement) {
  if (!std::isfinite(value) || value < lowest) return refused(option, value, requirement);
  return {};
}

// lowest <= value <= highest
inline Result<void> check_within(const char* option, float value, float lowest, float highest,
                                 const char* requirement) {
  if (!(value >= lowest && value <= highest)) return refused(option, value, requirement);
  return {};
}

inline Result<void> check_temperature(float value) {
  return check_at_least("temperature", value, 0, "finite and >= 0");
}

inline Result<void> check_top_k(int value) {
  if (value < -1) return refused("top_k", value, "at least 1, or 0 or -1 for off");
  return {};
}

inline Result<void> check_top_p(float value) {
  if (!(value > 0 && value <= 1)) return refused("top_p", value, "above 0 and at most 1");
  return {};
}

inline Result<void> check_min_p(float value) { return check_within("min_p", value, 0, 1, "0 to 1"); }

inline Result<void> check_typical_p(float value) {
  if (!(value > 0 && value <= 1)) return refused("typical_p", value, "above 0 and at most 1");
  return {};
}

inline Result<void> check_top_n_sigma(float value) {
  return check_at_least("top_n_sigma", value, 0, "finite and >= 0");
}

}  // namespace rill::sampling
