// How what a saved session holds is archived (base/archive.h).
#pragma once

#include <variant>

#include "base/archive.h"
#include "rill/generation.h"
#include "rill/message.h"

namespace rill {

template <>
inline constexpr PenaltyScope kLastOf<PenaltyScope> = PenaltyScope::prompt_and_generated;
template <>
inline constexpr ContextPolicy kLastOf<ContextPolicy> = ContextPolicy::drop_oldest;
template <>
inline constexpr FinishReason kLastOf<FinishReason> = FinishReason::deadline;

template <typename Archive>
void fields(Archive& archive, TokenBias& bias) {
  archive(bias.token, bias.bias);
}
template <typename Archive>
void fields(Archive& archive, RepetitionPenaltyOptions& options) {
  archive(options.penalty, options.scope, options.window);
}
template <typename Archive>
void fields(Archive& archive, AdditivePenaltyOptions& options) {
  archive(options.penalty, options.scope, options.window);
}
template <typename Archive>
void fields(Archive& archive, DryOptions& options) {
  archive(options.multiplier, options.base, options.allowed_length, options.scope, options.window,
          options.sequence_breakers);
}
template <typename Archive>
void fields(Archive& archive, XtcOptions& options) {
  archive(options.probability, options.threshold);
}
template <typename Archive>
void fields(Archive& archive, MirostatOptions& options) {
  archive(options.temperature, options.tau, options.eta);
}
template <typename Archive>
void fields(Archive& archive, SamplingOptions& options) {
  archive(options.banned, options.min_tokens, options.logit_bias, options.repetition, options.frequency,
          options.presence, options.dry, options.top_n_sigma, options.temperature, options.top_k, options.top_p,
          options.min_p, options.typical_p, options.xtc, options.mirostat, options.seed, options.completion_index);
}
template <typename Archive>
void fields(Archive& archive, LogprobOptions& options) {
  archive(options.top_logprobs, options.raw);
}
// Those that are data.
template <typename Archive>
void fields(Archive& archive, GenerateOptions& options) {
  archive(options.max_tokens, options.sampling, options.stop_strings, options.stop_tokens, options.end_tokens,
          options.context_policy, options.keep_tokens, options.drop_tokens, options.logprobs, options.show_special,
          options.close_within_budget, options.forced_tokens);
}

template <typename Archive>
void fields(Archive& archive, Timings& timings) {
  archive(timings.prompt_tokens, timings.reused_tokens, timings.cached_tokens, timings.window_evicted_tokens,
          timings.prefilled_tokens, timings.decode_passes, timings.drafted_tokens, timings.accepted_tokens,
          timings.forced_tokens, timings.tokenize, timings.prefill, timings.decode, timings.drafting, timings.masking,
          timings.head, timings.sampling, timings.ttft, timings.token_times);
}
template <typename Archive>
void fields(Archive& archive, GenerationResult& result) {
  archive(result.finish_reason, result.text, result.tokens, result.end_token, result.stop_string, result.timings);
}

// Nested in each other at most; what is deeper is refused, in both directions.
inline constexpr int kMaxJsonDepth = 100;

inline bool is_deeper(const JsonValue& value, int depth) {
  const auto deeper = [&](const auto& values, auto item) {
    return std::any_of(values.begin(), values.end(), [&](const auto& one) { return is_deeper(item(one), depth - 1); });
  };
  if (const JsonArray* array = value.as_array()) {
    return depth == 0 || deeper(*array, [](const JsonValue& one) -> const JsonValue& { return one; });
  }
  if (const JsonObject* object = value.as_object()) {
    return depth == 0 || deeper(*object, [](const JsonMember& one) -> const JsonValue& { return one.value; });
  }
  return false;
}

// The kind, then the value.
inline void json(ArchiveWriter& archive, const JsonValue& value) {
  if (const bool* truth = value.as_bool()) return archive(std::uint8_t{1}, *truth);
  if (const std::int64_t* integer = value.as_integer()) return archive(std::uint8_t{2}, *integer);
  if (const double* number = value.as_double()) return archive(std::uint8_t{3}, *number);
  if (const std::string* text = value.as_string()) return archive(std::uint8_t{4}, *text);
  if (const JsonArray* array = value.as_array()) {
    archive(std::uint8_t{5}, array->size());
    for (const JsonValue& one : *array) json(archive, one);
  } else if (const JsonObject* object = value.as_object()) {
    archive(std::uint8_t{6}, object->size());
    for (const JsonMember& member : *object) {
      archive(member.name);
      json(archive, member.value);
    }
  } else {
    archive(std::uint8_t{0});
  }
}

inline JsonValue json(ArchiveReader& archive, int depth = kMaxJsonDepth) {
  const auto read = [&]<typename T>(T value) {
    archive(value);
    return JsonValue(std::move(value));
  };
  std::uint8_t kind = 0;
  archive(kind);
  switch (kind) {
    case 0: return {};
    case 1: return read(false);
    case 2: return read(std::int64_t{0});
    case 3: return read(0.0);
    case 4: return read(std::string());
    default: break;
  }
  std::size_t count = 0;
  archive(count);
  if (kind > 6 || depth == 0) archive.fail();
  JsonArray array;
  JsonObject object;
  for (std::size_t i = 0; i < count && !archive.failed(); ++i) {
    if (kind == 6) archive(object.emplace_back().name);
    (kind == 6 ? object.back().value : array.emplace_back()) = json(archive, depth - 1);
  }
  return kind == 6 ? JsonValue(std::move(object)) : JsonValue(std::move(array));
}

template <typename Archive>
void fields(Archive& archive, JsonValue& value) {
  if constexpr (Archive::kReading) {
    value = json(archive);
  } else {
    json(archive, value);
  }
}
template <typename Archive>
void fields(Archive& archive, JsonMember& member) {
  archive(member.name, member.value);
}
template <typename Archive>
void fields(Archive& archive, ToolCall& call) {
  archive(call.id, call.name, call.arguments);
}
template <typename Archive>
void fields(Archive& archive, Message& message) {
  archive(message.role, message.content, message.name, message.tool_calls, message.tool_call_id, message.extra);
}

}  // namespace rill
