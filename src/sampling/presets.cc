#include "rill/presets.h"

#include "base/error.h"

namespace rill::presets {

SamplingOptions extraction() { return {.temperature = 0.0f}; }
SamplingOptions classification() { return {.temperature = 0.0f}; }
SamplingOptions tool_call() { return {.temperature = 0.1f, .top_p = 0.5f}; }
SamplingOptions code() { return {.temperature = 0.2f, .top_p = 0.8f}; }
SamplingOptions chat() { return {.temperature = 0.7f, .top_p = 0.9f, .min_p = 0.05f}; }
SamplingOptions creative() { return {.dry = {.multiplier = 0.8f}, .temperature = 1.0f, .min_p = 0.05f}; }

FromModel from_model(const ModelSampling& model) {
  FromModel result;
  SamplingOptions& options = result.options;
  const bool mirostat2 = model.mirostat == 2;
  if (mirostat2) options.mirostat.emplace();
  // Sorts a key into used, absent or ignored, and applies it if it is used.
  const auto take = [&result](const char* key, const auto& value, const char* reason_to_ignore, auto apply) {
    if (!value) {
      result.absent.emplace_back(key);
    } else if (reason_to_ignore != nullptr) {
      result.ignored.push_back(format("{}: {}", key, reason_to_ignore));
    } else {
      apply(*value);
      result.used.emplace_back(key);
    }
  };
  const char* const truncation = mirostat2 ? "mirostat sets the truncation" : nullptr;
  const char* const adaptive = mirostat2 ? nullptr : "mirostat is off";

  take("sequence", model.sequence, "the order of a chain is rill's own", [](const std::string&) {});
  take("temp", model.temp, nullptr,
       [&](float value) { (mirostat2 ? options.mirostat->temperature : options.temperature) = value; });
  take("top_k", model.top_k, truncation, [&](std::int32_t value) { options.top_k = value; });
  take("top_p", model.top_p, truncation, [&](float value) { options.top_p = value; });
  take("min_p", model.min_p, truncation, [&](float value) { options.min_p = value; });
  take("xtc_probability", model.xtc_probability, truncation, [&](float value) { options.xtc.probability = value; });
  take("xtc_threshold", model.xtc_threshold, truncation, [&](float value) { options.xtc.threshold = value; });
  take("penalty_repeat", model.penalty_repeat, model.penalty_last_n == 0 ? "penalty_last_n is 0" : nullptr,
       [&](float value) { options.repetition.penalty = value; });
  const bool negative = model.penalty_last_n && *model.penalty_last_n < -1;
  take("penalty_last_n", model.penalty_last_n, negative ? "negative" : nullptr, [&](std::int32_t value) {
    if (value > 0) options.repetition.window = static_cast<std::size_t>(value);  // -1: all; 0: penalty_repeat is off
  });
  take("mirostat", model.mirostat, model.mirostat == 0 || mirostat2 ? nullptr : "only version 2 exists here",
       [](std::int32_t) {});
  take("mirostat_tau", model.mirostat_tau, adaptive, [&](float value) { options.mirostat->tau = value; });
  take("mirostat_eta", model.mirostat_eta, adaptive, [&](float value) { options.mirostat->eta = value; });
  return result;
}

}  // namespace rill::presets
