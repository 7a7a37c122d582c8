// Sampling options for common tasks, and those that a model file recommends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rill/export.h"
#include "rill/sampling.h"

namespace rill {

// The values of a file's general.sampling.* keys, as they stand there.
struct ModelSampling {
  std::optional<std::string> sequence = std::nullopt;
  std::optional<float> temp = std::nullopt;
  std::optional<std::int32_t> top_k = std::nullopt;
  std::optional<float> top_p = std::nullopt;
  std::optional<float> min_p = std::nullopt;
  std::optional<float> xtc_probability = std::nullopt;
  std::optional<float> xtc_threshold = std::nullopt;
  std::optional<std::int32_t> penalty_last_n = std::nullopt;
  std::optional<float> penalty_repeat = std::nullopt;
  std::optional<std::int32_t> mirostat = std::nullopt;
  std::optional<float> mirostat_tau = std::nullopt;
  std::optional<float> mirostat_eta = std::nullopt;
};

namespace presets {

// One answer that is right: nothing is drawn.
RILL_EXPORT SamplingOptions extraction();      // temperature 0
RILL_EXPORT SamplingOptions classification();  // temperature 0
// Nearly one answer: a narrow nucleus keeps the tail out.
RILL_EXPORT SamplingOptions tool_call();       // temperature 0.1, top_p 0.5
RILL_EXPORT SamplingOptions code();            // temperature 0.2, top_p 0.8
// Many good answers.
RILL_EXPORT SamplingOptions chat();            // temperature 0.7, top_p 0.9, min_p 0.05
RILL_EXPORT SamplingOptions creative();        // temperature 1, min_p 0.05, DRY 0.8

// What became of each key of a model file.
struct FromModel {
  SamplingOptions options = {};           // what the file does not name stays at its default
  std::vector<std::string> used = {};     // keys that set an option, without "general.sampling."
  std::vector<std::string> absent = {};   // keys that the file does not have; all of them if it recommends nothing
  std::vector<std::string> ignored = {};  // "key: reason"
};
// Values out of range are refused by make_chain, as a caller's would be.
RILL_EXPORT FromModel from_model(const ModelSampling& model);

}  // namespace presets
}  // namespace rill
